"use strict";
const { rows, questions } = JSON.parse(document.getElementById("items").textContent);
const names = Object.keys(questions);
let store = "", answers = {}, judge = "";

function line(parent, who, text) {
  if (!text) return;
  const shown = document.createElement("p");
  const label = document.createElement("span");
  label.className = "who";
  label.textContent = who + ": ";
  shown.append(label, text);
  if (who === "item") shown.className = "item";
  parent.append(shown);
}

function ask(parent, item, question) {
  const set = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.textContent = questions[question].ask;
  set.append(legend);
  for (const answer of ["yes", "no"]) {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    radio.type = "radio";
    radio.name = item + " " + question;
    radio.value = answer;
    radio.addEventListener("change", () => give(item, question, answer));
    label.append(radio, " " + answer);
    set.append(label);
  }
  parent.append(set);
}

function give(item, question, answer) {
  if (answer) answers[item + " " + question] = answer;
  else delete answers[item + " " + question];
  try { localStorage.setItem(store, JSON.stringify(answers)); } catch { /* then saving is all there is */ }
  show();
}

function show() {
  for (const radio of document.querySelectorAll("#shown input")) radio.checked = answers[radio.name] === radio.value;
  for (const item of articles()) item.classList.toggle("done", names.every((name) => answers[item.id + " " + name]));
  const wanted = rows.length * names.length;
  document.getElementById("done").textContent = Object.keys(answers).length + " of " + wanted + " answers";
}

const articles = () => [...document.querySelectorAll("article")];
const current = () => document.activeElement && document.activeElement.closest("article");

function move(step, accept = () => true) {
  const all = articles(), place = all.indexOf(current());
  for (let index = 1; index <= all.length; index++) {
    const found = all[(place + step * index + 2 * all.length) % all.length];
    if (accept(found)) return found.focus();
  }
}

const nextUnanswered = () => move(1, (item) => !item.classList.contains("done"));

function cell(text) {
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

document.getElementById("judge").addEventListener("submit", (event) => {
  event.preventDefault();
  judge = document.getElementById("name").value.trim();
  if (!judge) return;
  store = "dstress " + (rows.length ? rows[0][0] : "") + " " + judge;
  try { answers = JSON.parse(localStorage.getItem(store)) || {}; } catch { /* a browser may refuse storage to files */ }
  document.getElementById("judge").hidden = true;
  document.getElementById("judging").hidden = false;
  show();
  nextUnanswered();
});

document.getElementById("next").addEventListener("click", nextUnanswered);
document.getElementById("clear").addEventListener("click", () => {
  if (!confirm("Clear all of your answers?")) return;
  answers = {};
  try { localStorage.removeItem(store); } catch { /* nothing was kept */ }
  show();
});

document.getElementById("save").addEventListener("click", () => {
  const lines = [["item", "user", ...names]];
  for (const row of rows) lines.push([row[0], row[3], ...names.map((name) => answers[row[0] + " " + name] || "")]);
  const text = lines.map((cells) => cells.map(cell).join(",")).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv" }));
  link.download = "judged-" + judge.replace(/[^\p{L}\p{N}]+/gu, "-") + ".csv";
  link.click();
});

document.addEventListener("keydown", (event) => {
  if (!store || event.ctrlKey || event.metaKey || event.altKey) return;
  const item = current(), place = "1234".indexOf(event.key);
  if (item && place >= 0) give(item.id, names[place >> 1], place % 2 ? "no" : "yes");
  else if (item && event.key === "x") for (const name of names) give(item.id, name, "");
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "u") nextUnanswered();
  else return;
  event.preventDefault();
});

for (const name of names) {
  const term = document.createElement("dt"), text = document.createElement("dd");
  term.textContent = questions[name].ask;
  text.textContent = questions[name].about;
  document.getElementById("about").append(term, text);
}
for (const [item, history, system, user, goal] of rows) {
  const shown = document.createElement("article");
  shown.id = item;
  shown.tabIndex = -1;
  line(shown, "item", item);
  line(shown, "before", history);
  line(shown, "system", system);
  line(shown, "user", user);
  line(shown, "goal", goal);
  for (const question of names) ask(shown, item, question);
  document.getElementById("shown").append(shown);
}
