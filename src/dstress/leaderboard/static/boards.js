"use strict";
// Forms of switches send themselves; a field filters rows as a person types; plots come when the page is there; pages that wait ask until there is news.
for (const form of document.querySelectorAll("form[data-sends-itself]")) {
  form.addEventListener("change", () => form.requestSubmit());
}
for (const field of document.querySelectorAll("[data-filters]")) {
  const rows = document.querySelectorAll(`#${field.dataset.filters} [data-name]`);
  field.addEventListener("input", () => {
    const words = field.value.trim().toLowerCase();
    let fitting = 0;
    for (const row of rows) {
      row.hidden = !row.dataset.name.includes(words);
      fitting += !row.hidden;
    }
    document.getElementById("nothing").hidden = fitting > 0;
  });
}
for (const place of document.querySelectorAll("[data-loads]")) {
  const load = async () => {
    const answer = await fetch(place.dataset.loads);
    const text = answer.ok ? await answer.text() : "";
    const plots = new DOMParser().parseFromString(text, "text/html").getElementById("plots");
    if (plots) place.replaceChildren(...plots.childNodes);
    if (place.querySelector("[data-again]")) window.setTimeout(load, 4000); // a worker is drawing them
  };
  load();
}
for (const waiting of document.querySelectorAll("[data-waits-for]")) {
  let pause = 700;
  const ask = async () => {
    try {
      const answer = await fetch(waiting.dataset.waitsFor, { headers: { Accept: "application/json" } });
      if (answer.ok && (await answer.json()).state !== "waiting") return window.location.reload();
    } catch {
      // The server may be starting anew: ask again.
    }
    pause = Math.min(pause * 1.3, 5000);
    window.setTimeout(ask, pause);
  };
  window.setTimeout(ask, pause);
}
