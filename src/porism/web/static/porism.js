// What scripts add to the search pages: a live preview, the formula palette, explanations on demand, and the "/" key.
// Everything else works without this file. It uses the same /v1/ API as any other client.
"use strict";

const box = document.querySelector("#q");
const preview = document.querySelector("#preview");

function element(name, className, text) {
  const created = document.createElement(name);
  if (className) created.className = className;
  if (text) created.textContent = text;
  return created;
}

// Parse the server's MathML outside the page, where nothing in it can run, and take only the formula.
function formulaElement(mathml) {
  const parsed = new DOMParser().parseFromString(mathml, "text/html");
  const math = parsed.querySelector("math");
  return math && document.importNode(math, true);
}

function problemElement(part, problem) {
  const line = element("span", "problem");
  const start = Math.min(problem.start, part.source.length);
  const end = Math.max(start + 1, Math.min(problem.end, part.source.length));
  line.append(part.source.slice(0, start), element("u", "", part.source.slice(start, end) || " "), part.source.slice(end));
  line.append(element("br"), problem.message);
  return line;
}

function showPreview(parts) {
  preview.replaceChildren();
  for (const part of parts.filter((p) => p.kind === "formula")) {
    const shown = element("span", "formula");
    const math = part.page_mathml && formulaElement(part.page_mathml);
    shown.append(math || part.source);
    preview.append(shown);
    for (const problem of part.problems) preview.append(problemElement(part, problem));
  }
}

let latestRequest = 0;
async function refreshPreview() {
  const request = ++latestRequest;
  if (!box.value.trim()) return preview.replaceChildren();
  const response = await fetch("/v1/preview?" + new URLSearchParams({ q: box.value.slice(0, 4000) }));
  if (response.ok && request === latestRequest) showPreview((await response.json()).data.parts);
}

// Completions of titles, tags and formulas; the browser shows its own list, so that nothing on the page moves.
const completions = element("datalist");
completions.id = "completions";
async function refreshCompletions() {
  const typed = box.value;
  if (typed.trim().length < 2 || typed.length > 300) return completions.replaceChildren();
  const response = await fetch("/v1/complete?" + new URLSearchParams({ q: typed }));
  if (!response.ok || typed !== box.value) return;
  const found = (await response.json()).data.completions;
  completions.replaceChildren(...found.map((one) => Object.assign(element("option"), { value: one.text })));
}

// Insert LaTeX at the cursor, with dollar signs if the cursor is outside a formula.
function insert(latex) {
  const [start, end] = [box.selectionStart, box.selectionEnd];
  const inside = (box.value.slice(0, start).match(/\$/g) || []).length % 2 === 1;
  const text = inside ? latex : `$${latex}$`;
  box.setRangeText(text, start, end, "end");
  const hole = text.indexOf("{}");
  const cursor = start + (hole < 0 ? text.length - (inside ? 0 : 1) : hole + 1);
  box.setSelectionRange(cursor, cursor);
  box.focus();
  refreshPreview();
}

if (box && preview) {
  let timer;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      refreshPreview().catch(() => {});
      refreshCompletions().catch(() => {});
    }, 120);
  });
  refreshPreview().catch(() => {});
  box.after(completions);
  box.setAttribute("list", "completions");
}
for (const button of document.querySelectorAll("[data-editor]")) {
  button.hidden = false;
  button.addEventListener("click", async () => (await import("/static/editor-panel.js")).toggle(button));
}
for (const key of document.querySelectorAll(".palette button")) key.addEventListener("click", () => insert(key.dataset.latex));

// Explanations and similar questions are pages of their own; a script loads them into the place where they are opened.
for (const part of document.querySelectorAll("details.loads[data-src]")) {
  part.addEventListener("toggle", async () => {
    if (!part.open || part.dataset.loaded) return;
    part.dataset.loaded = "yes";
    const response = await fetch(part.dataset.src);
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const loaded = page.querySelector(".loaded");
    if (loaded) part.querySelector(".loaded").replaceWith(loaded);
  });
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  const label = button.textContent;
  button.textContent = "copied";
  setTimeout(() => (button.textContent = label), 1500);
}

for (const link of document.querySelectorAll("[data-copy-link]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    copy(link.href, link).catch(() => (location.href = link.href));
  });
}

// Each formula is a link to similar formulas. A small button beside it copies its LaTeX while it is pointed at or focused.
const copyButton = element("button", "copy-latex", "copy LaTeX");
copyButton.type = "button";
let hideTimer;
function offerCopy(link) {
  clearTimeout(hideTimer);
  if (copyButton.previousElementSibling === link) return;
  copyButton.dataset.latex = link.dataset.latex;
  link.after(copyButton);
}
function hideCopy() {
  clearTimeout(hideTimer);
  hideTimer = setTimeout(() => copyButton.matches(":hover, :focus") || copyButton.remove(), 600);
}
copyButton.addEventListener("click", () => copy(copyButton.dataset.latex, copyButton).catch(() => {}));
copyButton.addEventListener("focusout", hideCopy);
copyButton.addEventListener("mouseleave", hideCopy);
for (const link of document.querySelectorAll(".math-link[data-latex]")) {
  link.addEventListener("mouseenter", () => offerCopy(link));
  link.addEventListener("focus", () => offerCopy(link));
  link.addEventListener("mouseleave", hideCopy);
  link.addEventListener("blur", hideCopy);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && box && !/^(input|textarea|select)$/i.test(document.activeElement.tagName)) {
    event.preventDefault();
    box.focus();
    box.select();
  }
});
