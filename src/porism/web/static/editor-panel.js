// The visual formula editor beside the search box; loaded when it is opened for the first time. Both show the same formula.
const box = document.querySelector("#q");
const panel = document.querySelector("#editor");
let frame = null;
let range = [0, 0]; // where the edited formula is in the box, without its dollar signs

// Return the formula around the cursor, or an empty one at the cursor.
function formulaAtCursor() {
  const at = box.selectionStart;
  for (const found of box.value.matchAll(/\$([^$]*)\$/g)) {
    if (found.index <= at && at <= found.index + found[0].length) return [found.index + 1, found.index + 1 + found[1].length];
  }
  const only = box.value.trim();
  if (only && !only.includes("$") && /[\\^_=]/.test(only) && !/\s[a-z]{3,}/.test(only)) {
    box.value = `$${only}$`;
    return [1, 1 + only.length];
  }
  const before = box.value.slice(0, at);
  const space = before && !before.endsWith(" ") ? " " : "";
  box.setRangeText(`${space}$$`, at, at);
  return [at + space.length + 1, at + space.length + 1];
}

const send = (focus) => frame.contentWindow.postMessage({ porism: "page", latex: box.value.slice(...range), focus }, location.origin);

function close() {
  panel.hidden = true;
  document.querySelector("[data-editor]").setAttribute("aria-expanded", "false");
  if (range[0] === range[1]) box.setRangeText("", Math.max(range[0] - 1, 0), range[1] + 1);
  box.focus();
}

addEventListener("message", (event) => {
  if (event.origin !== location.origin || event.source !== frame?.contentWindow || event.data?.porism !== "editor") return;
  const { latex, ready, done, height } = event.data;
  if (ready) send(true);
  if (height) frame.height = Math.round(Math.min(height, 480));
  if (done === "close") close();
  if (done === "search") box.form.requestSubmit();
  if (latex !== undefined) {
    box.setRangeText(latex, ...range);
    range = [range[0], range[0] + latex.length];
    box.dispatchEvent(new Event("input"));
  }
});

box.addEventListener("input", (event) => {
  if (!event.isTrusted || !frame || panel.hidden) return;
  range = formulaAtCursor();
  send(false);
});

export function toggle(button) {
  if (!panel.hidden) return close();
  panel.hidden = false;
  button.setAttribute("aria-expanded", "true");
  range = formulaAtCursor();
  if (frame) return send(true);
  frame = document.createElement("iframe");
  frame.src = "/editor";
  frame.title = "Formula editor";
  frame.height = 90;
  panel.append(frame);
}
