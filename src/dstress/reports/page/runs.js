// Where two runs differ: unpacked when one gets there; all text goes in as text, never as markup.
// The packet's layout is described in differences.py.
(() => {
  const STEP = 8, byId = id => document.getElementById(id);
  const form = byId("pair"), list = byId("turns"), status = byId("status"), more = byId("more-turns");
  if (!form) return;
  let data = null, chosen = [], listed = 0;

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  async function unpack() {
    const element = byId("packet");
    const bytes = Uint8Array.from(atob(element.textContent), letter => letter.charCodeAt(0));
    element.remove();
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  const pairs = flat => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);

  function open(packet) {
    packet.turns = packet.turns.map(([variant, dialogue, turn, system, user, gold, wrong]) => ({
      variant: packet.variants[variant], dialogue, turn, system, user, gold: new Map(pairs(gold)),
      wrong: new Map(pairs(wrong).map(([name, said]) => [packet.systems[name], new Map(pairs(said))])),
    }));
    return packet;
  }

  const asked = name => form.elements[name].value;

  function fill(name, options, wanted) {
    const select = form.elements[name];
    select.replaceChildren(...options.map(([value, text]) => make("option", { value: value || undefined }, text)));
    [...select.options].forEach((option, i) => { option.value = options[i][0]; });
    if (options.some(([value]) => value === wanted)) select.value = wanted;
  }

  // A mistake stays in the state: the turn that brings it says more than those that carry it on.
  function newFirst(turns, wrong) {
    const seen = new Set(), isNew = new Map();
    for (const turn of turns) {
      const keys = [...turn.wrong.get(wrong)].map(([slot, value]) => JSON.stringify([turn.variant, turn.dialogue, slot, value]));
      isNew.set(turn, keys.some(key => !seen.has(key)));
      for (const key of keys) seen.add(key);
    }
    return [...turns.filter(turn => isNew.get(turn)), ...turns.filter(turn => !isNew.get(turn))];
  }

  function choose() {
    const [right, wrong, stressor] = ["right", "wrong", "stressor"].map(asked);
    const pair = data.turns.filter(turn => !turn.wrong.has(right) && turn.wrong.has(wrong));
    const where = pair.filter(turn => !stressor || turn.variant === stressor);
    const counts = new Map();
    for (const turn of where) for (const slot of turn.wrong.get(wrong).keys()) counts.set(slot, (counts.get(slot) ?? 0) + 1);
    const slots = [...counts].sort((a, b) => b[1] - a[1]).map(([slot, n]) => [data.slots[slot], `${data.slots[slot]} (${n})`]);
    fill("slot", [["", "every slot"], ...slots], asked("slot"));
    const slot = data.slots.indexOf(asked("slot"));
    chosen = newFirst(where.filter(turn => slot < 0 || turn.wrong.get(wrong).has(slot)), wrong);
    listed = 0;
    list.replaceChildren();
    const said = `${chosen.length.toLocaleString("en")} ${chosen.length === 1 ? "turn" : "turns"} that ${right} has right and ${wrong} wrong`;
    status.textContent = right === wrong ? "Choose two different runs." : said;
    show();
    const query = new URLSearchParams({ right, wrong });
    for (const name of ["stressor", "slot"]) if (asked(name)) query.set(name, asked(name));
    history.replaceState(null, "", `#differ?${query}`);
  }

  function show() {
    const wrong = asked("wrong"), right = asked("right");
    for (const turn of chosen.slice(listed, listed + STEP)) {
      const rows = [...turn.wrong.get(wrong)].map(([slot, value]) => {
        const gold = turn.gold.get(slot) ?? "(nothing)";
        return make("tr", {}, make("th", { scope: "row", dir: "auto" }, data.slots[slot]),
          make("td", { class: "fine", dir: "auto" }, gold), make("td", { class: "bad", dir: "auto" }, value || "(nothing)"));
      });
      const head = ["slot", `gold, and ${right}`, wrong].map(name => make("th", { scope: "col" }, name));
      list.append(make("li", {},
        make("div", { class: "meta" }, make("span", { dir: "auto" }, `${turn.dialogue}, turn ${turn.turn}`), make("span", { dir: "auto" }, turn.variant)),
        ...(turn.system ? [make("p", { class: "system" }, turn.system)] : []), make("p", {}, turn.user),
        make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))));
    }
    listed = Math.min(chosen.length, listed + STEP);
    more.hidden = listed >= chosen.length;
  }

  async function start() {
    const fresh = !data;
    if (fresh) {
      if (!byId("packet")) return;
      try {
        data = open(await unpack());
      } catch (error) {
        status.textContent = `This browser cannot unpack the turns: ${error.message}`;
        return;
      }
    }
    const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
    if (fresh || query.has("right")) {
      const names = data.systems.map(name => [name, name]);
      fill("right", names, query.get("right") ?? data.systems[0]);
      fill("wrong", names, query.get("wrong") ?? data.systems[1]);
      fill("stressor", [["", "everywhere"], ...data.variants.map(name => [name, name])], query.get("stressor") ?? "");
      fill("slot", [["", "every slot"], ...data.slots.map(name => [name, name])], query.get("slot") ?? "");
      form.hidden = false;
      choose();
    }
  }

  form.addEventListener("change", choose);
  more.addEventListener("click", show);
  window.addEventListener("hashchange", () => { if (location.hash.startsWith("#differ?")) start(); });
  const watcher = new IntersectionObserver(entries => {
    if (entries.some(entry => entry.isIntersecting)) { watcher.disconnect(); start(); }
  });
  watcher.observe(byId("differ"));
})();
