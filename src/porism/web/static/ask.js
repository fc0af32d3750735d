// The box "Has this been asked before?": refresh the list while a person types. Without this file the button does it.
"use strict";

const form = document.querySelector("#ask-form");
const list = document.querySelector("#asked");
let timer;
let running = false; // one request at a time: what is typed meanwhile is sent when it has come back
let waiting = false;

async function refresh() {
  if (running) {
    waiting = true;
    return;
  }
  running = true;
  waiting = false;
  try {
    const response = await fetch("/ask-box?" + new URLSearchParams(new FormData(form)));
    const page = response.ok && new DOMParser().parseFromString(await response.text(), "text/html");
    const found = page && page.querySelector("#asked");
    if (found && !waiting) list.replaceChildren(...found.childNodes);
  } catch {
    // No answer: the next key asks again.
  } finally {
    running = false;
    if (waiting) refresh();
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(refresh, 20);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  refresh();
});
