// Plots: what the mark nearest to the pointer is, and downloads. A downloaded plot has its light colours.
(() => {
  const NEAR = 14, SCALE = 2, MARGIN = 30;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);

  tip.hidden = true;
  let marks = [];

  // A thin line is hard to hit, so the nearest mark is meant. The browser's own hint would come later and cover this one.
  function enter(svg) {
    marks = [...svg.querySelectorAll("title")].map(title => ({ title, owner: title.parentNode, box: title.parentNode.getBoundingClientRect() }));
    for (const { title } of marks) title.remove();
  }

  function leave() {
    for (const { owner, title } of marks) owner.prepend(title);
    marks = [];
    tip.hidden = true;
  }

  const away = ({ left, right, top, bottom }, x, y) => Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));

  function point(event) {
    if (!marks.length) enter(event.currentTarget);
    const distances = marks.map(({ box }) => away(box, event.clientX, event.clientY)), least = Math.min(NEAR, ...distances);
    const nearest = marks[distances.lastIndexOf(least)];  // a point lies on its line, and comes after it
    tip.hidden = !nearest;
    if (!nearest) return;
    tip.textContent = nearest.title.textContent;
    const { width, height } = tip.getBoundingClientRect(), { left, right, top, bottom } = nearest.box;
    tip.style.left = `${Math.max(8, Math.min((left + right - width) / 2, document.documentElement.clientWidth - width - 8))}px`;
    tip.style.top = `${top - height - 8 > 8 ? top - height - 8 : bottom + 8}px`;
  }

  for (const svg of document.querySelectorAll("figure svg")) {
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerleave", leave);
  }
  addEventListener("scroll", leave, { passive: true });

  // Downloads ---------------------------------------------------------------------------------------------------------

  // Where there is no Arial, labels are wider than measured.
  function drawing(figure) {
    const svg = figure.querySelector(".wide svg").cloneNode(true), box = svg.viewBox.baseVal, ground = svg.querySelector("rect");
    Object.assign(box, { x: -MARGIN, width: box.width + 2 * MARGIN });
    const size = { width: box.width, height: box.height };
    for (const [name, value] of Object.entries(size)) for (const element of [svg, ground]) element.setAttribute(name, value);
    ground.setAttribute("x", -MARGIN);
    const text = new XMLSerializer().serializeToString(svg);
    return { ...size, text: text.replace(/var\(--[\w-]+, (#\w+)\)/g, "$1").replace(/<\/?a\b[^>]*>/g, "") };
  }

  function save(name, address) {
    const link = document.createElement("a");
    Object.assign(link, { download: name, href: address });
    link.click();
  }

  const addressOf = text => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;

  function savePng(name, { width, height, text }) {
    const image = new Image(), canvas = document.createElement("canvas");
    image.addEventListener("load", () => {
      Object.assign(canvas, { width: SCALE * width, height: SCALE * height });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      save(name, canvas.toDataURL());
    });
    image.src = addressOf(text);
  }

  for (const line of document.querySelectorAll("p[data-plot]")) {
    const add = (kind, act) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(kind, line.querySelector(".unseen").cloneNode(true));
      button.addEventListener("click", () => act(`${line.dataset.plot}.${kind.toLowerCase()}`, drawing(line.closest("figure"))));
      line.insertBefore(button, line.lastChild);
    };
    add("SVG", (name, drawn) => save(name, addressOf(drawn.text)));
    add("PNG", savePng);
  }
})();
