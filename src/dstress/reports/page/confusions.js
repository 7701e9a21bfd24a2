// What is taken for what: the pairs of the chosen slot, on the original and under each stressor.
(() => {
  const source = document.getElementById("confused");
  if (!source) return;
  const NOTHING = "(nothing)";
  const bySlot = JSON.parse(source.textContent);
  const { packets, pair } = JSON.parse(document.getElementById("meta").textContent);
  const form = document.getElementById("pick"), table = document.getElementById("confusions");
  const add = (parent, tag, text, attributes = {}) => {
    const element = parent.appendChild(document.createElement(tag));
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };

  function draw(slot) {
    table.replaceChildren();
    const head = add(add(table, "thead", ""), "tr", "");
    for (const name of ["gold", "answer"]) add(head, "th", name, { scope: "col" });
    for (const packet of packets) add(head, "th", packet.name, { scope: "col", class: "number", title: packet.variant });
    const body = add(table, "tbody", "");
    for (const [gold, answer, counts] of bySlot[slot]) {
      const row = add(body, "tr", "");
      add(row, "th", gold || NOTHING, { scope: "row", dir: "auto" });
      add(row, "td", answer || NOTHING, { dir: "auto" });
      counts.forEach((times, i) => {
        const cell = add(row, "td", times ? "" : "–", { class: times ? "number" : "number quiet" });
        const error = `${gold || NOTHING}${pair}${answer || NOTHING}`;
        const asked = new URLSearchParams({ stressor: packets[i].variant, slot, error });
        if (times) add(cell, "a", times.toLocaleString("en"), { class: "turns", href: `#explore?${asked}` });
      });
    }
  }

  for (const slot of Object.keys(bySlot)) add(form.elements.picked, "option", slot, { value: slot });
  form.addEventListener("change", () => draw(form.elements.picked.value));
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  draw(form.elements.picked.value);
})();
