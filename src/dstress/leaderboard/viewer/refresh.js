"use strict";
// Rows of unfinished runs are fetched again; ticks and the search stay as they are.
const EVERY = 3000;

async function refresh() {
  const waiting = [...document.querySelectorAll("tr[data-unfinished]")];
  if (!waiting.length) return;
  try {
    const answer = await fetch(location.href);
    const rows = new DOMParser().parseFromString(await answer.text(), "text/html").querySelectorAll("tr[data-run]");
    const fresh = new Map([...rows].map(row => [row.dataset.run, row]));
    for (const row of waiting) if (fresh.has(row.dataset.run)) row.replaceWith(fresh.get(row.dataset.run));
  } catch {
    // The viewer was stopped: what is shown stays, and it is asked again.
  }
  setTimeout(refresh, EVERY);
}

setTimeout(refresh, EVERY);
