"use strict";
// What cannot be undone asks first.
for (const form of document.querySelectorAll("form[data-asks]")) {
  form.addEventListener("submit", (event) => {
    if (!window.confirm(form.dataset.asks)) event.preventDefault();
  });
}
