"use strict";
const rows = JSON.parse(document.getElementById("items").textContent);
const questions = { human_like: "Is the user's utterance human-like?", correct: "Does it express exactly the goal?" };
const store = "dstress " + (rows.length ? rows[0][0] : "");
let answers = {};
try { answers = JSON.parse(localStorage.getItem(store)) || {}; } catch { /* a browser may refuse storage to files */ }

function line(parent, who, text) {
  if (!text) return;
  const shown = document.createElement("p");
  const label = document.createElement("span");
  label.className = "who";
  label.textContent = who + ": ";
  shown.append(label, text);
  parent.append(shown);
}

function ask(parent, item, question) {
  const set = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.textContent = questions[question];
  set.append(legend);
  for (const answer of ["yes", "no"]) {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    radio.type = "radio";
    radio.name = item + " " + question;
    radio.checked = answers[radio.name] === answer;
    radio.addEventListener("change", () => {
      answers[radio.name] = answer;
      try { localStorage.setItem(store, JSON.stringify(answers)); } catch { /* then saving is all there is */ }
      count();
    });
    label.append(radio, " " + answer);
    set.append(label);
  }
  parent.append(set);
}

function count() {
  const wanted = rows.length * Object.keys(questions).length;
  document.getElementById("done").textContent = Object.keys(answers).length + " of " + wanted + " answers";
}

function cell(text) {
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

document.getElementById("save").addEventListener("click", () => {
  const names = Object.keys(questions);
  const lines = [["item", "user", ...names]];
  for (const row of rows) lines.push([row[0], row[3], ...names.map((name) => answers[row[0] + " " + name] || "")]);
  const text = lines.map((cells) => cells.map(cell).join(",")).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv" }));
  link.download = "judged.csv";
  link.click();
});

for (const [item, history, system, user, goal] of rows) {
  const shown = document.createElement("article");
  line(shown, "item", item);
  line(shown, "before", history);
  line(shown, "system", system);
  line(shown, "user", user);
  line(shown, "goal", goal);
  for (const question of Object.keys(questions)) ask(shown, item, question);
  document.querySelector("main").append(shown);
}
count();
