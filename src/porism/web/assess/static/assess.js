// Judging works without this script. With it, every click is saved at once, and keys do what clicks do.
"use strict";

const form = document.getElementById("judging");
const saved = document.getElementById("saved");
const cards = [...form.querySelectorAll(".card")];
let current = Math.max(0, cards.findIndex((card) => !card.querySelector("input[name^=grade_]:checked")));
let waiting = 0;

function showStatus(text, isWaiting) {
  saved.textContent = text;
  saved.classList.toggle("waiting", isWaiting);
}

// A click keeps its request key when it is sent again, so the server stores it once however often it arrives.
async function store(name, value) {
  const body = new FormData();
  body.set("csrf", form.elements.csrf.value);
  body.set("request_key", "click-" + crypto.randomUUID());
  body.set(name, value);
  waiting += 1;
  for (let pause = 500; ; pause = Math.min(pause * 2, 15000)) {
    let problem = "Not saved yet, trying again …";
    try {
      const response = await fetch(form.dataset.click, { method: "POST", body, redirect: "manual" });
      if (response.status === 204) break;
      if (response.type === "opaqueredirect") problem = "You are logged out. Log in again in another tab; this page keeps trying.";
      else if (response.status < 500) { showStatus("Not saved: use the Save button", true); waiting -= 1; return; }
    } catch { /* no network: try again */ }
    showStatus(problem, true);
    await new Promise((done) => setTimeout(done, pause));
  }
  waiting -= 1;
  if (waiting === 0) showStatus("Saved", false);
}

// After a mouse click, the arrow keys should mean back and next again, not another grade.
form.addEventListener("click", (event) => {
  if (event.detail > 0 && event.target.type === "radio") event.target.blur();
});

let typing;
form.addEventListener("change", (event) => {
  if (event.target.name && event.target.type === "radio") store(event.target.name, event.target.value);
});
form.addEventListener("input", (event) => {
  if (event.target.tagName !== "TEXTAREA") return;
  clearTimeout(typing);
  typing = setTimeout(() => store(event.target.name, event.target.value), 800);
});

function focusCard(index) {
  current = Math.min(cards.length - 1, Math.max(0, index));
  cards.forEach((card, i) => card.classList.toggle("current", cards.length > 1 && i === current));
  if (cards.length > 1) cards[current].scrollIntoView({ block: "nearest" });
}

function rate(key) {
  const radio = cards[current].querySelector(`input[name^=grade_][value="${key}"], input[name^=grade_][data-key="${key}"]`);
  if (!radio || radio.disabled || radio.closest("fieldset").disabled) return false;
  radio.click();
  if (Number(radio.value) > 3) cards[current].querySelector("textarea").focus();
  else if (current < cards.length - 1) focusCard(current + 1);
  return true;
}

const KEYS = {
  Enter: () => document.getElementById("next").click(),
  ArrowRight: () => document.getElementById("next").click(),
  ArrowLeft: () => document.getElementById("back")?.click(),
  c: () => cards[current].querySelector("textarea")?.focus(),
  t: () => cards[current].querySelector("a.thread")?.click(),
  j: () => focusCard(current + 1),
  k: () => focusCard(current - 1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inText = event.target.matches("textarea, input:not([type=radio]), select");
  if (event.key === "Escape" && inText) { event.target.blur(); return; }
  if (inText || (event.key === "Enter" && event.target.matches("a, button, summary"))) return;
  if (event.key.startsWith("Arrow") && event.target.matches("input[type=radio]")) return;
  if (KEYS[event.key]) { event.preventDefault(); KEYS[event.key](); return; }
  if (rate(event.key.toLowerCase())) event.preventDefault();
});

focusCard(current);
