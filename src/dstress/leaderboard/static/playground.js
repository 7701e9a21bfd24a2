"use strict";
// Asks for the answers as a person types, and puts each in its place; the server makes all of the page.
(() => {
  const root = document.getElementById("playground");
  if (!root) return;
  const form = document.getElementById("pg-edit");
  const cards = document.getElementById("pg-cards");
  let waiting = 0, asked = 0, current = null;

  // Only what differs from the default, so that the address stays short enough to share.
  function query() {
    const given = new URLSearchParams();
    for (const field of form.elements) {
      if (!field.name || (field.type === "checkbox" && !field.checked)) continue;
      if (field.dataset.default === undefined || field.value.trim() !== field.dataset.default) given.append(field.name, field.value);
    }
    return given;
  }

  async function ask() {
    const turn = ++asked, wanted = query();
    current?.abort();
    current = new AbortController();
    root.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`${form.getAttribute("action")}?${wanted}`, { signal: current.signal });
      if (turn !== asked) return;
      if (!answer.ok) throw new Error(answer.status === 429 ? "Too many tries; wait a minute." : "The server did not answer.");
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
      history.replaceState(null, "", `${form.getAttribute("action")}?${wanted}${location.hash}`);
    } catch (error) {
      if (error.name === "AbortError") return;
      const problem = document.createElement("p");
      problem.className = "pg-problem";
      problem.textContent = error.message;
      document.getElementById("pg-said").replaceChildren(problem);
    } finally {
      if (turn === asked) root.removeAttribute("aria-busy");
    }
  }

  function show(page) {
    const said = page.getElementById("pg-said");
    if (said) document.getElementById("pg-said").replaceChildren(...said.childNodes);
    const old = new Map([...cards.children].map((card) => [card.dataset.name, card]));
    const fresh = [...page.querySelectorAll(".pg-card")];
    if (!fresh.length) return;  // the request has a mistake, which is shown; the last answers stay
    const own = form.elements.spec?.value.trim();
    for (const card of fresh) {
      const there = old.get(card.dataset.name);
      if (there) there.querySelector(".pg-made").replaceWith(card.querySelector(".pg-made"));
      else cards.prepend(card);
      old.delete(card.dataset.name);
    }
    for (const card of old.values()) if (card.dataset.name !== own) card.remove();
    index();
    ready();
  }

  function index() {
    const links = [...cards.children].map((card, i) => {
      card.id = `pg-${i + 1}`;
      const link = document.createElement("a");
      link.href = `#${card.id}`;
      link.textContent = card.dataset.name;
      const item = document.createElement("li");
      item.append(link);
      return item;
    });
    root.querySelector(".pg-index").replaceChildren(...links);
  }

  function ready() {
    for (const button of cards.querySelectorAll("[data-copies]")) button.hidden = false;
    clearTimeout(waiting);
    if (cards.querySelector("[data-waits]")) waiting = setTimeout(ask, 700);
  }

  async function copy(button) {
    const text = button.closest(".pg-card").querySelector(".pg-made").dataset[button.dataset.copies];
    const name = button.dataset.label ??= button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    setTimeout(() => { button.textContent = name; }, 1500);
  }

  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 250);
  };
  document.addEventListener("input", (event) => { if (event.target.form === form) later(); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  cards.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copies]");
    if (button) copy(button);
    if (event.target.closest("[data-waits] a")) {
      event.preventDefault();
      ask();
    }
  });
  ready();
})();
