"use strict";
// Says as a person types whether the values are still there, and what else is wrong; the server decides.
for (const form of document.querySelectorAll("form[data-check]")) {
  const touched = new Set();
  let waiting = 0, asked = 0;

  function show(field, problem) {
    const told = document.getElementById(field.id.replace("field", "told"));
    told.textContent = problem || "good";
    told.classList.toggle("bad", Boolean(problem));
    told.classList.toggle("good", !problem);
    field.setAttribute("aria-invalid", String(Boolean(problem)));
  }

  async function check() {
    const turn = ++asked;
    const body = new URLSearchParams(new FormData(form));
    let answer;
    try {
      answer = await fetch(form.dataset.check, { method: "POST", body, headers: { Accept: "application/json" } });
    } catch {
      return; // no connection: handing in will tell
    }
    if (!answer.ok || turn !== asked) return;
    const { problems } = await answer.json();
    for (const field of touched) show(field, problems[field.name.slice("text ".length)] || "");
  }

  form.addEventListener("input", (event) => {
    touched.add(event.target);
    clearTimeout(waiting);
    waiting = setTimeout(check, 250);
  });
}
