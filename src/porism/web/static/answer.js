// Show a generated answer while it is written. Without this file the page has the whole answer.
"use strict";

const section = document.querySelector("#answer[data-stream]");

// The server has escaped everything. What it sends is parsed outside the page, where nothing in it can run.
function nodes(html) {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  return [...parsed.body.childNodes].map((node) => document.importNode(node, true));
}

function writeAnswer() {
  const state = Object.assign(document.createElement("p"), { className: "quiet", textContent: "A language model writes an answer from the best passages …" });
  state.setAttribute("role", "status");
  const sheet = Object.assign(document.createElement("div"), { className: "answer generated writing" });
  const sentences = document.createElement("span");
  sentences.setAttribute("aria-live", "polite");
  const unfinished = Object.assign(document.createElement("span"), { className: "unfinished" });
  unfinished.setAttribute("aria-hidden", "true"); // screen readers get whole sentences
  sheet.append(sentences, unfinished);
  sheet.hidden = true;
  section.prepend(state, sheet);
  const events = new EventSource(section.dataset.stream);
  const show = (change) => (event) => {
    sheet.hidden = false;
    change(JSON.parse(event.data));
  };
  events.addEventListener("unfinished", show((data) => (unfinished.textContent = data.text)));
  events.addEventListener("sentence", show((data) => {
    unfinished.textContent = "";
    sentences.append(...nodes(data.html));
  }));
  events.addEventListener("done", (event) => {
    events.close();
    section.replaceChildren(...nodes(JSON.parse(event.data).html));
  });
  events.addEventListener("error", () => {
    events.close(); // it would connect again, and ask for a second answer
    sheet.remove();
    state.textContent = "No answer could be written. This is the best passage.";
  });
}

if (section) writeAnswer();
