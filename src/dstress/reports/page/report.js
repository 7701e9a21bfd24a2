"use strict";
// Tables that sort, and the section one is in.
(() => {
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const value = cell.dataset.value ?? cell.textContent.trim();
    const number = Number.parseFloat(value.replace("\u2212", "-").replaceAll(",", ""));
    return Number.isNaN(number) ? value.toLowerCase() : number;
  };
  const compare = (a, b) => {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].map(row => [keyOf(row, column), row]);
        rows.sort((a, b) => (rising ? 1 : -1) * compare(a[0], b[0]));
        table.tBodies[0].append(...rows.map(pair => pair[1]));
      });
    });
  }

  const links = new Map([...document.querySelectorAll("nav a")].map(link => [link.hash.slice(1), link]));
  const seen = new Map();
  const watcher = new IntersectionObserver(entries => {
    for (const entry of entries) seen.set(entry.target.id, entry.isIntersecting);
    const current = [...links.keys()].find(id => seen.get(id));
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-15% 0px -60% 0px" });
  for (const id of links.keys()) watcher.observe(document.getElementById(id));

  // Paper cannot unfold a finding.
  addEventListener("beforeprint", () => document.querySelectorAll(".findings details").forEach(one => { one.open = true; }));
})();
