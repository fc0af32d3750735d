// "Has this been asked before?" on another site. One tag is enough:
//   <script src="https://search.example/static/widget.js" data-title="#title" data-body="#body" async></script>
// It watches the two fields and shows similar questions in a sandboxed frame behind them, or inside data-target.
// Colours: set --porism-accent, --porism-background, --porism-surface, --porism-text, --porism-muted, --porism-border,
// --porism-highlight; the height is --porism-height. The server must allow the site: porism serve --cors https://site.example
"use strict";

(() => {
  const tag = document.currentScript;
  const server = new URL(tag.src).origin;
  const names = ["accent", "background", "surface", "text", "muted", "border", "highlight"];

  function start() {
    const title = document.querySelector(tag.dataset.title || "input[name=title]");
    const body = document.querySelector(tag.dataset.body || "textarea[name=body]");
    const fields = [title, body].filter(Boolean);
    if (!fields.length) return console.warn("porism: no field to watch; set data-title and data-body to selectors");
    const target = document.querySelector(tag.dataset.target || "no-target") || fields.at(-1).insertAdjacentElement("afterend", document.createElement("div"));
    target.classList.add("porism-asked");
    let frame = null;
    let timer;

    function show() {
      const style = getComputedStyle(target);
      const query = new URLSearchParams({ title: (title?.value || "").slice(0, 500), body: (body?.value || "").slice(0, 4000) });
      for (const name of names) {
        const value = style.getPropertyValue(`--porism-${name}`).trim();
        if (value) query.set(name, value);
      }
      const next = document.createElement("iframe");
      next.setAttribute("sandbox", "allow-popups allow-popups-to-escape-sandbox");
      next.title = "Similar questions";
      next.style.cssText = `border: 0; width: 100%; height: ${style.getPropertyValue("--porism-height").trim() || "20rem"}; color-scheme: auto;`;
      // The new list replaces the old one when it is there, so that nothing flickers.
      if (frame) next.style.display = "none";
      const old = frame;
      frame = next;
      next.addEventListener("load", () => {
        next.style.display = "";
        old?.remove();
      });
      next.src = `${server}/ask-box/frame?${query}`;
      target.append(next);
    }

    for (const field of fields) {
      field.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(show, 300);
      });
    }
    show();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
