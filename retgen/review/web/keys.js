// Keys for the buttons of a page; without this file the buttons do the same.
"use strict";
(() => {
  const kept = "retgen.review.keys";
  const toggle = document.getElementById("keys");
  let on = true;
  let sent = false;
  try { on = localStorage.getItem(kept) !== "off"; } catch { /* nothing is kept, keys are on */ }

  const show = () => {
    toggle.hidden = false;
    toggle.textContent = on ? "Keys are on" : "Keys are off";
    toggle.setAttribute("aria-pressed", String(on));
    document.documentElement.classList.toggle("without-keys", !on);
  };
  if (toggle) {
    toggle.addEventListener("click", () => {
      on = !on;
      try { localStorage.setItem(kept, on ? "on" : "off"); } catch { /* holds for this page */ }
      show();
    });
    show();
  }

  const writes = (element) => element && element.matches("input, textarea, select, [contenteditable]");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (event.key === "Escape" && writes(document.activeElement)) {
      document.activeElement.blur();
      return;
    }
    if (!on || sent || event.repeat || writes(document.activeElement)) return;
    const key = CSS.escape(event.key.toLowerCase());
    const button = document.querySelector(`button[data-key="${key}"]:not(:disabled)`);
    const field = document.querySelector(`[data-focus-key="${key}"]`);
    if (!button && !field) return;
    event.preventDefault();
    if (button) button.click(); else field.focus();
  });

  // a form is sent once; a page that comes back by the back button may send it again
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-once]")) return;
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => { sent = false; });
})();
