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
    timer = setTimeout(() => refreshPreview().catch(() => {}), 120);
  });
  refreshPreview().catch(() => {});
}
for (const key of document.querySelectorAll(".palette button")) key.addEventListener("click", () => insert(key.dataset.latex));

for (const why of document.querySelectorAll("details.why[data-src]")) {
  why.addEventListener("toggle", async () => {
    if (!why.open || why.dataset.loaded) return;
    why.dataset.loaded = "yes";
    const response = await fetch(why.dataset.src);
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const explanation = page.querySelector(".explanation");
    if (explanation) why.querySelector(".explanation").replaceChildren(...explanation.childNodes);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && box && !/^(input|textarea|select)$/i.test(document.activeElement.tagName)) {
    event.preventDefault();
    box.focus();
    box.select();
  }
});
