// The forms of the API page: show the response below the form. Without this file a form opens the response as a page.
"use strict";

for (const form of document.querySelectorAll("form[data-path]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = new FormData(form);
    let path = form.dataset.path;
    if (path.includes("{id}")) path = path.replace("{id}", encodeURIComponent(values.get("id")));
    const query = new URLSearchParams([...values].filter(([name, value]) => value !== "" && !(path !== form.dataset.path && (name === "id" || name === "path"))));
    const address = query.size ? `${path}?${query}` : path;
    const shown = form.parentElement.querySelector(".response");
    shown.hidden = false;
    shown.textContent = "…";
    try {
      const response = await fetch(address);
      shown.textContent = `GET ${address}\n${response.status}\n${JSON.stringify(await response.json(), null, 2).slice(0, 20000)}`;
    } catch (error) {
      shown.textContent = `GET ${address}\n${error}`;
    }
  });
}
