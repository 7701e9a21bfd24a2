// The example explorer. Packets are unpacked when they are needed; all text goes in as text, never as markup.
// The packets' layout is described in explorer.py.
(() => {
  const [MISSED, EXTRA, WRONG, REWORDED] = [1, 2, 3, 4];
  const ALL = "", PAGE = 40, EARLIER = 2;
  const byId = id => document.getElementById(id);
  const meta = JSON.parse(byId("meta").textContent);
  // A stressed corpus has no answers: what its stressor did to a turn takes the place of what became of the answer.
  const OUTCOMES = meta.corpus ? {
    both: "text and label", words: "text", left: "left alone", label: "label only",
    same: "nothing to change",
  } : {
    broke: "right → wrong", failed: "no prediction", fixed: "wrong → right", wrong: "wrong on both", right: "right on both",
  };
  const TELLING = Object.keys(OUTCOMES);
  const ERRORS = {
    missed: [MISSED, "missed"], extra: [EXTRA, "spurious"], wrong: [WRONG, "wrong value"],
    new: [null, "new: right on the original"], fixed: [null, "fixed: wrong on the original"],
  };
  const NOTHING = "(nothing)", ANY_SLOT = "-*";
  const ORDERS = {
    telling: "most informative", corpus: "as in the corpus", errors: "most errors first", edits: "most edits first",
  };
  const UNIT = meta.corpus ? "turns" : "examples";
  if (meta.corpus) delete ORDERS.errors;

  const form = byId("filters"), list = byId("list"), status = byId("status"), more = byId("more"), shown = byId("example");
  const tools = byId("tools"), copy = byId("copy");
  const names = new Map(meta.packets.map(packet => [packet.variant, packet.name]));
  const packets = new Map([...document.querySelectorAll("script.packet")].map((element, i) => [meta.packets[i].variant, element]));
  const unpacked = new Map();
  let base = null, examples = [], chosen = [], listed = 0, current = null, asked = 0;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null) element.setAttribute(name, value);
    }
    element.append(...children.filter(child => child !== null && child !== ""));
    return element;
  }

  // Unpacking ---------------------------------------------------------------------------------------------------------

  async function unpack(variant) {
    const element = packets.get(variant);
    const bytes = Uint8Array.from(atob(element.textContent), letter => letter.charCodeAt(0));
    element.remove();
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function load(variant) {
    if (!unpacked.has(variant)) {
      const made = variant === meta.original ? unpack(variant).then(openBase) : unpack(variant).then(data => open(variant, data));
      unpacked.set(variant, made);
    }
    return unpacked.get(variant);
  }

  function openBase(data) {
    base = data;
    const found = [];
    data.dialogues.forEach(([, turns], d) => turns.forEach((turn, t) => {
      const example = { variant: meta.original, d, t, entry: null, errors: turn[3] ?? [], failed: turn[4] ?? "", slots: data.slots };
      if (!meta.corpus && !isRight(example)) found.push(finished(example, example.failed ? "failed" : "wrong"));
    }));
    return found;
  }

  async function open(variant, data) {
    await load(meta.original);
    const entries = new Map(), asOnOriginal = [];
    if (!data.left_out) {
      const there = new Set(data.turns.map(([d, t]) => `${d}/${t}`));
      base.dialogues.forEach(([, turns], d) => turns.forEach((turn, t) => {
        const wrong = !isRight({ errors: turn[3] ?? [], failed: turn[4] ?? "" });
        if ((wrong || meta.corpus) && !there.has(`${d}/${t}`)) asOnOriginal.push([d, t, [], [], [], null, [], 0, turn[4] ?? ""]);
      }));
    }
    return [...data.turns, ...asOnOriginal].map(entry => {
      const [d, t] = entry, before = base.dialogues[d][1][t];
      const same = entry[5] === null;
      const example = {
        variant, d, t, entry, entries, slots: data.slots, schema: data.schema ?? [], failed: entry[8] ?? "",
        errors: (same ? before[3] : entry[5]) ?? [],
      };
      entries.set(`${d}/${t}`, entry);
      if (meta.corpus) return finished(example, changeOf(entry));
      const was = isRight({ errors: before[3] ?? [], failed: before[4] ?? "" }), is = isRight(example);
      return finished(example, example.failed ? "failed" : was === is ? (is ? "right" : "wrong") : is ? "fixed" : "broke");
    });
  }

  function changeOf(entry) {
    const label = Boolean(entry[4]?.length);
    if (entry[2]?.length || entry[3]?.length) return label ? "both" : "words";
    return entry[10] ? "left" : label ? "label" : "same";
  }

  const reasonsOf = example => (example.entry?.[10] ?? "").split("; ").filter(Boolean);

  function finished(example, outcome) {
    example.outcome = outcome;
    example.wrong = meta.corpus ? slotsAt(example) : wrongSlots(example.errors, example.slots);
    example.edits = (example.entry?.[2]?.length ?? 0) / 3 + (example.entry?.[3]?.length ?? 0) / 3;
    return example;
  }

  // The slots that a turn of a corpus is about: those that its label sets, and those that the stressor changes in it.
  function slotsAt(example) {
    const slotsOf = flat => (flat ?? []).filter((_, i) => i % 2 === 0);
    const earlier = new Set(slotsOf(example.entries.get(`${example.d}/${example.t - 1}`)?.[4]));
    const changed = slotsOf(example.entry[4]).filter(slot => !earlier.has(slot));
    const slots = new Set([...slotsOf(base.dialogues[example.d][1][example.t][2]), ...changed]);
    return [...slots].map(slot => base.slots[slot] ?? example.slots[slot]);
  }

  // Under the original's names, so that one filter serves all stressors.
  function wrongSlots(errors, own) {
    const found = [];
    eachError(errors ?? [], (slot, kind) => { if (kind !== REWORDED) found.push(base.slots[slot] ?? own[slot]); });
    return found;
  }

  // Whether a slot is wrong that was not wrong in the turn before: an error stays in the state, and is listed again.
  function isFresh(example) {
    const t = example.t - 1, before = t < 0 ? null : example.entries?.get(`${example.d}/${t}`);
    const errors = t < 0 ? [] : (before && before[5] !== null ? before[5] : base.dialogues[example.d][1][t][3]) ?? [];
    const old = new Set(wrongSlots(errors, example.slots));
    return example.wrong.some(slot => !old.has(slot));
  }

  function isRight(side) {
    let right = !side.failed;
    eachError(side.errors, (slot, kind) => { right &&= kind === REWORDED; });
    return right;
  }

  function eachError(errors, visit) {
    for (let i = 0; i < errors.length; i += 3) visit(errors[i], errors[i + 1], errors[i + 2]);
  }

  // Texts and states --------------------------------------------------------------------------------------------------

  // Edits count characters, not UTF-16 units.
  function pieces(text, edits) {
    const letters = Array.from(text), found = [];
    let at = 0;
    for (let i = 0; i < (edits?.length ?? 0); i += 3) {
      const [start, length, after] = [edits[i], edits[i + 1], edits[i + 2]];
      found.push(["same", letters.slice(at, start).join("")], ["gone", letters.slice(start, start + length).join("")], ["new", after]);
      at = start + length;
    }
    found.push(["same", letters.slice(at).join("")]);
    return found.filter(piece => piece[1]);
  }

  const marked = (text, edits) => pieces(text, edits).map(([kind, part]) =>
    kind === "same" ? document.createTextNode(part) : make(kind === "gone" ? "del" : "ins", {}, part));
  const edited = (text, edits) => pieces(text, edits).filter(piece => piece[0] !== "gone").map(piece => piece[1]).join("");

  function goldAt(d, t) {
    const state = new Map();
    for (const turn of base.dialogues[d][1].slice(0, t + 1)) change(state, turn[2]);
    return state;
  }

  function change(state, flat) {
    for (let i = 0; i < (flat?.length ?? 0); i += 2) {
      if (flat[i + 1] === null) state.delete(flat[i]);
      else state.set(flat[i], flat[i + 1]);
    }
    return state;
  }

  const textOf = example => {
    if (example.text === undefined) {
      const [id, turns] = base.dialogues[example.d], turn = turns[example.t], entry = example.entry;
      const said = [];
      eachError(example.errors, (slot, kind, value) => said.push(value));
      const gold = [...change(goldAt(example.d, example.t), entry?.[4]).values()];
      example.text = [id, turn[0], turn[1], entry ? edited(turn[0], entry[3]) : "", entry ? edited(turn[1], entry[2]) : "",
        ...gold, ...said, ...(entry?.[6] ?? []), example.failed, entry?.[10] ?? ""].join("\n").toLowerCase();
    }
    return example.text;
  };

  // Filters -----------------------------------------------------------------------------------------------------------

  function fill(select, options, value) {
    select.replaceChildren(...options.map(([key, label]) => make("option", { value: key }, label)));
    select.value = value;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
  }

  const fullName = variant => names.get(variant) === variant ? variant : `${names.get(variant)} · ${variant}`;
  const searched = text => text.toLowerCase().split(/\s+/).filter(Boolean);
  const wishes = () => Object.fromEntries(new FormData(form));

  function setUp(given) {
    const counted = meta.packets.filter(packet => !meta.corpus || packet.variant !== meta.original).map(packet => [packet.variant, `${fullName(packet.variant)} (${packet.examples.toLocaleString("en")})`]);
    fill(form.elements.stressor, [[ALL, "all"], ...counted], given.stressor ?? meta.first);
    fill(form.elements.outcome, [[ALL, "any"], ...Object.entries(OUTCOMES)], given.outcome ?? ALL);
    if (meta.corpus) {
      fill(form.elements.reason, [[ALL, "any"], ...(given.reason ? [[given.reason, given.reason]] : [])], given.reason ?? ALL);
    } else {
      const errors = Object.entries(ERRORS).map(([key, [, label]]) => [key, label]);
      if (given.error && !ERRORS[given.error]) errors.push([given.error, given.error]);
      fill(form.elements.error, [[ALL, "any"], ...errors], given.error ?? ALL);
    }
    fill(form.elements.order, Object.entries(ORDERS), given.order ?? "telling");
    fill(form.elements.slot, [[ALL, "any"], ...(given.slot ? [[given.slot, given.slot]] : [])], given.slot ?? ALL);
    form.elements.q.value = given.q ?? "";
    form.hidden = false;
  }

  async function gather() {
    const mine = ++asked, wanted = form.elements.stressor.value;
    const variants = wanted === ALL ? meta.packets.map(packet => packet.variant) : [wanted];
    const found = [];
    for (const variant of variants) {
      status.textContent = `unpacking ${variant} …`;
      await load(meta.original);
      found.push(await load(variant));
      if (mine !== asked) return false;
    }
    examples = found.flat();
    const slots = [...new Set(examples.flatMap(example => example.wrong))].sort();
    const services = [...new Set(slots.filter(name => name.includes("-")).map(serviceOf))].map(name => name + ANY_SLOT);
    const slot = form.elements.slot.value, all = [...(services.length > 1 ? services : []), ...slots];
    if (slot && !all.includes(slot)) all.unshift(slot);
    const label = name => name.endsWith(ANY_SLOT) ? `${name.slice(0, -ANY_SLOT.length)}: any slot` : name;
    fill(form.elements.slot, [[ALL, "any"], ...all.map(name => [name, label(name)])], slot);
    if (meta.corpus) {
      const reason = form.elements.reason.value, counts = new Map(reason ? [[reason, 0]] : []);
      for (const name of examples.flatMap(reasonsOf)) counts.set(name, (counts.get(name) ?? 0) + 1);
      const common = [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => [name, `${name} (${count.toLocaleString("en")})`]);
      fill(form.elements.reason, [[ALL, "any"], ...common], reason);
    }
    return true;
  }

  const serviceOf = slot => slot.split("-", 1)[0];

  // Whether an error of the wished kind is in the wished slot. `new` and `fixed` look at the original's answer too; any
  // other wish is a pair of a gold value and an answer.
  function hasError(example, error, slot) {
    const prefix = slot.endsWith(ANY_SLOT) ? slot.slice(0, -1) : null;
    const isMeant = name => !slot || name === slot || (prefix !== null && name.startsWith(prefix));
    if (meta.corpus) return example.wrong.some(isMeant);
    const turn = base.dialogues[example.d][1][example.t];
    const before = new Set(example.entry ? wrongSlots(turn[3], base.slots) : []);
    if (error === "fixed") return [...before].some(name => isMeant(name) && !example.wrong.includes(name));
    let gold = null, found = false;
    eachError(example.errors, (number, kind, value) => {
      const name = base.slots[number] ?? example.slots[number];
      if (found || kind === REWORDED || !isMeant(name)) return;
      if (!error) found = true;
      else if (error === "new") found = !before.has(name);
      else if (ERRORS[error]) found = kind === ERRORS[error][0];
      else {
        gold ??= change(goldAt(example.d, example.t), example.entry?.[4]);
        found = error === `${gold.get(number) || NOTHING}${meta.pair}${value || NOTHING}`;
      }
    });
    return found;
  }

  function choose() {
    const { outcome, error, slot, reason, order, q } = wishes();
    const words = searched(q);
    chosen = examples.filter(example =>
      (!outcome || example.outcome === outcome)
      && ((!error && !slot) || hasError(example, error, slot))
      && (!reason || reasonsOf(example).includes(reason))
      && words.every(word => textOf(example).includes(word)));
    const keys = {
      telling: example => 2 * TELLING.indexOf(example.outcome) + !(meta.corpus ? example.entry[2]?.length : isFresh(example)), errors: example => -example.wrong.length,
      edits: example => -example.edits, corpus: () => 0,
    };
    const key = keys[order];
    chosen = chosen.map((example, i) => [key(example), example.d, example.t, i, example])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3]).map(row => row[4]);
    const many = chosen.length.toLocaleString("en"), all = examples.length.toLocaleString("en");
    status.textContent = chosen.length === examples.length ? `${all} ${UNIT}` : `${many} of ${all} ${UNIT}`;
    listed = 0;
    list.replaceChildren();
    listMore();
    byId("explorer").hidden = tools.hidden = false;
  }

  function listMore() {
    const next = chosen.slice(listed, listed + PAGE);
    list.append(...next.map((example, i) => listItem(example, listed + i)));
    listed += next.length;
    more.hidden = listed >= chosen.length;
    if (!chosen.length) list.append(make("li", { class: "hint", style: "padding:0 1rem 1rem" }, meta.corpus ? "No turn is like this." : "No example is like this."));
    highlight();
  }

  // What was searched for, wherever it stands in the list or the example.
  function highlight() {
    if (!CSS.highlights) return;
    const hits = new Highlight(), words = searched(form.elements.q.value);
    for (const root of words.length ? [list, shown] : []) {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const node = walker.currentNode, text = node.data.toLowerCase();
        for (const word of words) {
          for (let at = text.indexOf(word); at >= 0 && at + word.length <= node.length; at = text.indexOf(word, at + word.length)) {
            const range = new Range();
            range.setStart(node, at);
            range.setEnd(node, at + word.length);
            hits.add(range);
          }
        }
      }
    }
    CSS.highlights.set("hit", hits);
  }

  function listItem(example, position) {
    const [id, turns] = base.dialogues[example.d];
    const onlySystem = meta.corpus && !example.entry[2]?.length && example.entry[3]?.length;
    const [text, edits] = onlySystem ? [turns[example.t][0], example.entry[3]] : [turns[example.t][1], example.entry?.[2]];
    const said = make("div", { class: "said", dir: "auto" }, onlySystem ? make("small", {}, "system: ") : "", ...marked(text, edits));
    const wrong = meta.corpus ? "" : example.failed || example.wrong.join(", ");
    const below = meta.corpus ? reasonsOf(example).join("; ") || labelChanges(example) : "";
    const variant = form.elements.stressor.value === ALL ? `${names.get(example.variant)} · ` : "";
    return make("li", {}, make("button", { type: "button", "data-position": position, onclick: () => show(example, true) },
      make("div", { class: "meta" }, make("span", { class: "id", dir: "auto" }, `${variant}${id} · ${example.t + 1}`),
        make("span", { class: `outcome ${example.outcome}` }, outcomeOf(example))),
      said, wrong ? make("div", { class: "wrong-slots", dir: "auto" }, wrong) : null,
      below ? make("div", { class: "hint", dir: "auto" }, below) : null));
  }

  function labelChanges(example) {
    const before = goldAt(example.d, example.t), flat = example.entry[4] ?? [], parts = [];
    for (let i = 0; i < flat.length; i += 2) {
      const name = base.slots[flat[i]] ?? example.slots[flat[i]];
      if (example.wrong.includes(name)) parts.push(`${name}: ${before.get(flat[i]) ?? NOTHING}${meta.pair}${flat[i + 1] ?? NOTHING}`);
    }
    return parts.join(", ");
  }

  const outcomeOf = example => example.variant === meta.original && example.outcome === "wrong" ? "wrong" : OUTCOMES[example.outcome];

  // One example -------------------------------------------------------------------------------------------------------

  function show(example, byHand) {
    const held = document.activeElement, key = shown.contains(held) ? held.dataset.key ?? "" : null;
    const inList = list.contains(held);
    current = example;
    for (const button of list.querySelectorAll("[aria-current]")) button.removeAttribute("aria-current");
    const position = chosen.indexOf(example);
    while (position >= listed && listed < chosen.length) listMore();
    const button = list.querySelector(`[data-position="${position}"]`);
    if (button) {
      button.setAttribute("aria-current", "true");
      const box = list.parentElement, top = button.offsetTop - box.offsetTop;
      if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 60) box.scrollTop = top - 60;
    }
    const parts = [talkOf(example, false), statesOf(example, false)];
    shown.replaceChildren(headOf(example, position), ...failureOf(example),
      ...(meta.corpus ? [make("div", { class: "beside" }, ...parts)] : parts), schemaOf(example));
    highlight();
    // What held the focus is gone: it goes to what stands in the same place now.
    if (key !== null) (shown.querySelector(`[data-key="${key}"]:not(:disabled)`) ?? shown).focus({ preventScroll: true });
    else if (inList && button) button.focus({ preventScroll: true });
    if (byHand) {
      remember();
      if (matchMedia("(max-width: 60rem)").matches) shown.scrollIntoView({ block: "start" });
    }
  }

  function headOf(example, position) {
    const id = base.dialogues[example.d][0];
    const step = (by, label, name) => make("button",
      { type: "button", "aria-label": name, title: name, "data-key": name, disabled: !chosen[position + by] || position < 0, onclick: () => show(chosen[position + by], true) }, label);
    const tags = example.entry?.[6] ?? [];
    return make("header", {},
      make("h3", { dir: "auto" }, `${id}, turn ${example.t + 1}`),
      make("span", { class: `outcome ${example.outcome}` }, outcomeOf(example)),
      make("span", { class: "tags", dir: "auto" }, [fullName(example.variant), ...tags].join(" · ")),
      make("span", { class: "steps" }, make("a", { class: "copy", href: linkTo(example), title: meta.corpus ? "a link to this turn" : "a link to this example" }, "link"),
        step(-1, "←", meta.corpus ? "the previous turn" : "the example before"),
        step(1, "→", meta.corpus ? "the next turn" : "the next example")));
  }

  function failureOf(example) {
    if (meta.corpus) {
      const reasons = reasonsOf(example).map(reason => `Left alone: ${reason}.`);
      if (example.outcome === "same") reasons.push("Left alone: the stressor found nothing to change here.");
      return reasons.map(reason => make("p", { class: "left-alone", dir: "auto" }, reason));
    }
    const before = base.dialogues[example.d][1][example.t][4];
    const found = [];
    if (example.failed) found.push(make("p", { class: "failure", dir: "auto" }, `No prediction: ${example.failed}`));
    if (example.entry && before) found.push(make("p", { class: "failure", dir: "auto" }, `No prediction on the original: ${before}`));
    return found;
  }

  function talkOf(example, whole) {
    const turns = base.dialogues[example.d][1], first = whole ? 0 : Math.max(0, example.t - EARLIER);
    const box = make("div", { class: "talk", tabindex: -1 });
    if (first) {
      box.append(make("button", { type: "button", onclick: () => replace(box, talkOf(example, true)) },
        first === 1 ? "show the turn before" : `show ${first} turns before`));
    }
    for (let t = first; t <= example.t; t++) {
      const focus = t === example.t;
      const [system, user] = wordsOf(example, turns[t], t, focus);
      if (turns[t][0]) box.append(make("p", { class: focus ? "system now" : "system", dir: "auto" }, make("span", { class: "who" }, "system"), ...system));
      box.append(make("p", { class: focus ? "user focus" : "user", dir: "auto" }, make("span", { class: "who" }, "user"), ...user));
    }
    return box;
  }

  function replace(old, element) {
    old.replaceWith(element);
    element.focus({ preventScroll: true });
  }

  // Earlier turns are shown as the tracker saw them: under a stressor of single turns, as they were.
  function wordsOf(example, turn, t, focus) {
    const entry = focus ? example.entry : example.entries?.get(`${example.d}/${t}`);
    const history = entry?.[7] ?? 0;
    if (!entry || (!focus && history === 1)) return [[turn[0]], [turn[1]]];
    if (!focus && Array.isArray(history)) return [[history[0]], [history[1]]];
    return [marked(turn[0], entry[3]), marked(turn[1], entry[2])];
  }

  function statesOf(example, whole) {
    const turn = base.dialogues[example.d][1][example.t], entry = example.entry;
    const before = goldAt(example.d, example.t), after = change(new Map(before), entry?.[4]);
    if (meta.corpus) return labelOf(example, before, after, whole);
    const errors = [entry ? sideOf(turn[3]) : null, sideOf(example.errors)];
    const slots = [...new Set([...before.keys(), ...after.keys(), ...(errors[0]?.keys() ?? []), ...errors[1].keys()])];
    const telling = slot => errors.some(side => side?.has(slot)) || before.get(slot) !== after.get(slot);
    const rows = slots.filter(slot => whole || telling(slot));
    const hidden = slots.length - rows.length;
    const failed = [turn[4] ?? "", example.failed];
    const heads = entry ? ["slot", "gold", "answer, original", `answer, ${names.get(example.variant)}`] : ["slot", "gold", "answer"];
    const table = make("table", { class: "states" },
      make("thead", {}, make("tr", {}, ...heads.map(head => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map(slot => make("tr", {},
        make("th", { scope: "row", dir: "auto" }, example.slots[slot]),
        goldCell(before.get(slot), after.get(slot)),
        entry ? answerCell(before.get(slot), errors[0].get(slot), failed[0]) : "",
        answerCell(after.get(slot), errors[1].get(slot), failed[1])))));
    const scrolled = { class: "scroll", tabindex: 0, role: "region", "aria-label": "Gold and predictions" };
    const box = make("div", { tabindex: -1 }, rows.length ? make("div", scrolled, table) : "");
    if (hidden) {
      const all = rows.length ? `show the ${hidden} slots that are right` : `all ${hidden} slots are right: show them`;
      box.append(make("p", {}, make("button", { type: "button", onclick: () => replace(box, statesOf(example, true)) }, hidden === 1 ? "show the slot that is right" : all)));
    } else if (!slots.length) {
      box.append(make("p", { class: "hint" }, "The gold state and the predicted state are both empty."));
    }
    const said = entry ? [["original", turn[5]], [names.get(example.variant), entry[9]]] : [["", turn[5]]];
    for (const [where, words] of said) {
      if (words) box.append(make("p", { class: "said", dir: "auto" }, where ? `It answers, ${where}: ${words}` : `It answers: ${words}`));
    }
    return box;
  }

  // The label of a corpus's turn: what the turn sets and what the stressor changes, then the rest.
  function labelOf(example, before, after, whole) {
    const slots = [...new Set([...before.keys(), ...after.keys()])];
    const rows = slots.filter(slot =>
      whole || before.get(slot) !== after.get(slot) || example.wrong.includes(base.slots[slot] ?? example.slots[slot]));
    const table = make("table", { class: "states" },
      make("thead", {}, make("tr", {}, ...["slot", "label"].map(head => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map(slot => make("tr", {},
        make("th", { scope: "row", dir: "auto" }, example.slots[slot]), goldCell(before.get(slot), after.get(slot))))));
    const box = make("div", { tabindex: -1 },
      rows.length ? make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The label" }, table) : "");
    const hidden = slots.length - rows.length, some = `${hidden} earlier ${hidden === 1 ? "slot" : "slots"}`;
    if (!slots.length) box.append(make("p", { class: "hint" }, "The label is empty."));
    else if (!rows.length) box.append(make("p", { class: "hint" }, "The turn sets no slot."));
    if (hidden) box.append(make("p", {}, make("button", { type: "button", onclick: () => replace(box, statesOf(example, true)) }, `show ${some}`)));
    return box;
  }

  // What a stressor of schemas did to the services that this dialogue's labels speak of.
  function schemaOf(example) {
    const last = base.dialogues[example.d][1].length - 1;
    const services = new Set([...goldAt(example.d, last).keys()].map(slot => serviceOf(base.slots[slot])));
    const changed = (example.schema ?? []).filter(([before]) => services.has(serviceOf(before)));
    if (!changed.length) return "";
    const cell = (before, after) => make("td", { dir: "auto" },
      ...(before === after ? [after] : [make("del", {}, before), " ", make("ins", {}, after)]));
    const rows = changed.map(([before, text, after, newText]) => make("tr", {}, cell(before, after), cell(text, newText)));
    const count = changed.length === 1 ? "1 slot" : `${changed.length} slots`;
    return make("details", { class: "schema", open: true },
      make("summary", {}, `${count} of this dialogue's services with other names or descriptions`),
      make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The schema" }, make("table", { class: "states" },
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "slot"), make("th", { scope: "col" }, "description"))),
        make("tbody", {}, ...rows))));
  }

  function sideOf(errors) {
    const found = new Map();
    eachError(errors ?? [], (slot, kind, said) => found.set(slot, [kind, said]));
    return found;
  }

  function goldCell(before, after) {
    if (before === after) return make("td", { dir: "auto" }, after ?? "–");
    const parts = [before === undefined ? "" : make("del", {}, before), " ", after === undefined ? "" : make("ins", {}, after)];
    return make("td", { dir: "auto" }, ...parts);
  }

  function answerCell(gold, error, failed) {
    if (failed) return make("td", { class: "bad" }, "no answer");
    if (!error) return make("td", { class: "fine", dir: "auto" }, gold === undefined ? "–" : `${gold.split(" | ")[0]} ✓`);
    const [kind, said] = error;
    if (kind === REWORDED) return make("td", { class: "fine", dir: "auto" }, `${said} ✓`);
    if (kind === MISSED) return make("td", { class: "bad" }, "– ", make("small", {}, "missed"));
    return make("td", { class: "bad", dir: "auto" }, said, make("small", {}, kind === EXTRA ? "spurious" : "wrong"));
  }

  // The address -------------------------------------------------------------------------------------------------------

  function linkTo(example) {
    const wished = Object.entries(wishes()).filter(([name, value]) =>
      value && (name !== "order" || value !== "telling") && (name !== "stressor" || value));
    const asked = new URLSearchParams(wished);
    if (form.elements.stressor.value === ALL) asked.set("stressor", ALL);
    if (example) asked.set("at", `${example.variant}/${base.dialogues[example.d][0]}/${example.t + 1}`);
    return `#explore?${asked}`;
  }

  function remember() {
    history.replaceState(null, "", linkTo(current));
  }

  function asking() {
    const [place, query] = location.hash.split(/\?(.*)/s);
    return place === "#explore" && query !== undefined ? Object.fromEntries(new URLSearchParams(query)) : null;
  }

  async function start(given) {
    if (!("DecompressionStream" in window)) {
      status.textContent = "This browser cannot unpack the examples; one from 2023 or later can. All else on this page is complete.";
      return;
    }
    setUp(given);
    if (!await gather()) return;
    choose();
    const wanted = given.at && examples.find(example => `${example.variant}/${base.dialogues[example.d][0]}/${example.t + 1}` === given.at);
    if (given.at && !wanted) status.textContent += `; ${given.at} is not among them`;
    const first = wanted || chosen[0];
    if (first) show(first, false);
    else shown.replaceChildren();
  }

  async function follow() {
    const given = asking();
    if (!given) return;
    begun = true;
    await start(given);
    byId("explore").scrollIntoView({ behavior: "instant" });
    shown.focus({ preventScroll: true });
  }

  // Keys, and what can be taken along ---------------------------------------------------------------------------------

  function step(event) {
    const at = event.target, inList = at.closest(".list") !== null;
    const onPage = at === document.body && isOnScreen(shown);
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || at.closest(".scroll, form")) return;
    if (!onPage && !byId("explorer").contains(at)) return;
    const by = { ArrowRight: 1, ArrowLeft: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
    const next = by && chosen[chosen.indexOf(current) + by];
    if (!next) return;
    event.preventDefault();
    show(next, true);
  }

  function isOnScreen(element) {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }

  async function copyLink() {
    const address = location.href.split("#")[0] + linkTo(current);
    try {
      await navigator.clipboard.writeText(address);
    } catch {
      // Older ways, for browsers that give a page from a disk no clipboard.
      const box = document.body.appendChild(make("textarea", { "aria-hidden": "true" }));
      box.value = address;
      box.select();
      document.execCommand("copy");
      box.remove();
      copy.focus({ preventScroll: true });
    }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy link"; }, 1500);
  }

  function save() {
    const quoted = cell => /[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
    const rows = chosen.map(example => {
      const [id, turns] = base.dialogues[example.d], [system, user] = turns[example.t], entry = example.entry;
      const gold = [...change(goldAt(example.d, example.t), entry?.[4])].map(([slot, value]) => `${example.slots[slot]}=${value}`);
      return [example.variant, id, String(example.t + 1), outcomeOf(example), example.wrong.join("; "), system, user,
        edited(user, entry?.[2]), gold.join("; "), meta.corpus ? reasonsOf(example).join("; ") : example.failed];
    });
    const heads = meta.corpus
      ? ["stressor", "dialogue", "turn", "change", "slots", "system", "user", "user, stressed", "label", "left alone because"]
      : ["stressor", "dialogue", "turn", "outcome", "wrong slots", "system", "user", "user, stressed", "gold", "failed"];
    const text = [heads, ...rows].map(row => row.map(quoted).join(",") + "\n").join("");
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    make("a", { href: address, download: `${UNIT}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  let begun = false, typing = 0;
  const onWish = async again => {
    if (again && !await gather()) return;
    choose();
    current = chosen[0] ?? null;
    if (current) show(current, false);
    else shown.replaceChildren();
    remember();
  };
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("change", event => { if (event.target.name !== "q") onWish(event.target.name === "stressor"); });
  form.addEventListener("input", event => {
    if (event.target.name !== "q") return;
    clearTimeout(typing);
    typing = setTimeout(() => onWish(false), 200);
  });
  more.addEventListener("click", () => {
    const first = listed;
    listMore();
    list.querySelector(`[data-position="${first}"]`)?.focus();
  });
  byId("clear").addEventListener("click", () => { setUp({}); onWish(true); });
  copy.addEventListener("click", copyLink);
  byId("save").addEventListener("click", save);
  addEventListener("keydown", step);
  addEventListener("hashchange", follow);
  addEventListener("click", event => {  // a link to where one is already changes no address
    const link = event.target.closest?.('a[href^="#explore?"]');
    if (link && link.getAttribute("href") === location.hash) follow();
  });

  const arriving = new IntersectionObserver(entries => {
    if (begun || !entries.some(entry => entry.isIntersecting)) return;
    begun = true;
    arriving.disconnect();
    start({});
  }, { rootMargin: "400px" });
  arriving.observe(byId("explore"));
  follow();
})();
