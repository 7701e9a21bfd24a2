"use strict";
// Keys for a judge: 1 and 2 answer the first question, 3 and 4 the second and so on; x clears, j and k step, u jumps.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=radio]), textarea")) return; // what a judge says to a system
  const choices = document.querySelectorAll("#answers input[type=radio]");
  const links = { j: "forward", k: "back", u: "unanswered" };
  const place = Number(event.key) - 1;
  const target = document.getElementById(links[event.key]);
  if (choices[place]) choices[place].checked = true;
  else if (target) target.click();
  else if (event.key === "x") document.getElementById("clear")?.requestSubmit();
  else if (event.key === "Enter" && !event.target.closest("a, button")) document.getElementById("answers")?.requestSubmit();
  else return;
  event.preventDefault();
});
// A system may take a while to answer: what is said is sent once.
for (const form of document.querySelectorAll("form[data-waits]")) {
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    button.disabled = true;
    button.textContent = "Waiting for the answer";
  });
}
