// What the search page adds when scripts may run: a live preview, a palette, reasons on demand, and the "/" key.
// Everything else works without this file. It speaks to the same /v1/ interface as any other client.
"use strict";

const box = document.querySelector("#q");
const preview = document.querySelector("#preview");

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

// MathML from the server is parsed apart from the page, where nothing in it can run, and only its formula is taken over.
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

function show(parts) {
  preview.replaceChildren();
  for (const part of parts.filter((p) => p.kind === "formula")) {
    const shown = element("span", "formula");
    const math = part.mathml && formulaElement(part.mathml);
    shown.append(math || part.source);
    preview.append(shown);
    for (const problem of part.problems) preview.append(problemElement(part, problem));
  }
}

let asked = 0;
async function refresh() {
  const number = ++asked;
  if (!box.value.trim()) return preview.replaceChildren();
  const answer = await fetch("/v1/preview?" + new URLSearchParams({ q: box.value.slice(0, 4000) }));
  if (answer.ok && number === asked) show((await answer.json()).data.parts);
}

function insert(latex) {
  const [start, end] = [box.selectionStart, box.selectionEnd];
  const inside = (box.value.slice(0, start).match(/\$/g) || []).length % 2 === 1;
  const text = inside ? latex : `$${latex}$`;
  box.setRangeText(text, start, end, "end");
  const hole = text.indexOf("{}");
  const at = start + (hole < 0 ? text.length - (inside ? 0 : 1) : hole + 1);
  box.setSelectionRange(at, at);
  box.focus();
  refresh();
}

if (box && preview) {
  let timer;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => refresh().catch(() => {}), 120);
  });
  refresh().catch(() => {});
}
for (const key of document.querySelectorAll(".palette button")) key.addEventListener("click", () => insert(key.dataset.latex));

for (const why of document.querySelectorAll("details.why[data-src]")) {
  why.addEventListener("toggle", async () => {
    if (!why.open || why.dataset.loaded) return;
    why.dataset.loaded = "yes";
    const holder = why.querySelector(".reasons");
    const answer = await fetch(why.dataset.src);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const tree = page.querySelector(".reasons");
    if (tree) holder.replaceChildren(...tree.childNodes);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && box && !/^(input|textarea|select)$/i.test(document.activeElement.tagName)) {
    event.preventDefault();
    box.focus();
    box.select();
  }
});
