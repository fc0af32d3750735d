// The visual formula editor, inside its frame. The page around it sends a formula, and gets it back whenever it changes.
import { MathfieldElement } from "/static/editor/mathlive.min.mjs";

MathfieldElement.fontsDirectory = "/static/editor/fonts";
MathfieldElement.soundsDirectory = null;
MathfieldElement.plonkSound = null;
const field = new MathfieldElement();
field.setAttribute("aria-label", "Formula");

const report = (message) => parent.postMessage({ porism: "editor", ...message }, location.origin);

field.addEventListener("mount", () => {
  field.menuItems = [];
  field.mathVirtualKeyboardPolicy = "sandboxed"; // the keyboard for touch screens appears in this frame
  const keyboard = window.mathVirtualKeyboard;
  keyboard.addEventListener("geometrychange", () => report({ height: 90 + keyboard.boundingRect.height }));
  if (matchMedia("(pointer: coarse)").matches) field.addEventListener("focusin", () => keyboard.show());
  report({ ready: true });
});
field.addEventListener("input", () => report({ latex: field.value }));
field.addEventListener("keydown", (event) => {
  if (event.key === "Escape") report({ done: "close" });
  if (event.key === "Enter") report({ done: "search" });
}, { capture: true });
addEventListener("message", (event) => {
  if (event.origin !== location.origin || event.data?.porism !== "page") return;
  if (event.data.latex !== field.value) field.setValue(event.data.latex, { silenceNotifications: true });
  if (event.data.focus) field.focus();
});
document.querySelector("#field").append(field);
