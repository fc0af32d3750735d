// The box "Has this been asked?": refresh the list while a person types. Without this file the button does it.
"use strict";

const form = document.querySelector("#ask-form");
const list = document.querySelector("#asked");
let timer;
let latest = 0;

async function refresh() {
  const request = ++latest;
  const response = await fetch("/ask-box?" + new URLSearchParams(new FormData(form)));
  if (!response.ok || request !== latest) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const found = page.querySelector("#asked");
  if (found && request === latest) list.replaceChildren(...found.childNodes);
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => refresh().catch(() => {}), 150);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  refresh().catch(() => {});
});
