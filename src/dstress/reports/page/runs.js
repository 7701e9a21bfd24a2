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

  // Every turn with what its label is and what each system says; `turns` are those that differ, by stressor.
  function open(packet) {
    const { systems, variants } = packet;
    packet.turns = [];
    for (const [dialogue, byVariant] of packet.dialogues) {
      for (const [variant, content] of byVariant) {
        const state = new Map(), whole = [];
        for (const [system, user, gold, wrong, differs] of content) {
          for (const [slot, value] of pairs(gold)) value === null ? state.delete(slot) : state.set(slot, value);
          const turn = {
            variant: variants[variant], dialogue, turn: whole.length + 1, system, user, whole, gold: new Map(state), news: pairs(gold),
            wrong: new Map(pairs(wrong).map(([name, said]) => [systems[name], new Map(pairs(said))])),
          };
          whole.push(turn);
          if (differs) packet.turns.push(turn);
        }
      }
    }
    packet.turns.sort((a, b) => variants.indexOf(a.variant) - variants.indexOf(b.variant));
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
        make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
        wholeOf(turn, right, wrong)));
    }
    listed = Math.min(chosen.length, listed + STEP);
    more.hidden = listed >= chosen.length;
  }

  // The whole dialogue with both systems beside each other, made when somebody unfolds it.
  function wholeOf(turn, ...systems) {
    const details = make("details", {}, make("summary", {}, "Both systems through the whole dialogue"));
    details.addEventListener("toggle", () => {
      const rows = turn.whole.map(each => make("tr", each === turn ? { class: "here" } : {},
        make("th", { scope: "row" }, ...(each.system ? [make("p", { class: "system" }, each.system)] : []), make("p", {}, each.user),
          ...each.news.map(([slot, value]) => make("small", { dir: "auto" }, `${data.slots[slot]} = ${value ?? "(none)"}`))),
        ...systems.map(name => answerOf(each, name))));
      const head = ["turn, and what the label adds", ...systems].map(name => make("th", { scope: "col" }, name));
      details.append(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${turn.dialogue} under ${turn.variant}, turn ${turn.turn}` },
        make("table", { class: "dialogue" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))));
    }, { once: true });
    return details;
  }

  // What a system has wrong in a turn; an error that it had in the turn before is carried over.
  function answerOf(turn, name) {
    const wrong = turn.wrong.get(name), before = turn.whole[turn.turn - 2]?.wrong.get(name);
    if (!wrong) return make("td", { class: "fine" }, "✓");
    const lines = [...wrong].map(([slot, value]) => make("p", { class: before?.get(slot) === value ? "carried" : "bad", dir: "auto" },
      `${data.slots[slot]}: ${value || "(none)"}`, make("small", {}, ` gold ${turn.gold.get(slot) ?? "(none)"}`)));
    return make("td", {}, ...lines);
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
  const follow = async () => {
    if (!location.hash.startsWith("#differ?")) return;
    await start();
    byId("differ").scrollIntoView({ behavior: "instant" });
  };
  window.addEventListener("hashchange", follow);
  follow();
  const watcher = new IntersectionObserver(entries => {
    if (entries.some(entry => entry.isIntersecting)) { watcher.disconnect(); start(); }
  });
  watcher.observe(byId("differ"));
})();
