"""How fast pages appear in Chromium, on loopback: first content, questions of the ask box, and shifts of the layout
while typing.

    python -m bench page_speed

PORISM_BENCH_INDEX names an index; without it the slice is built and indexed first. Every page is loaded once before it
is measured, and so is every query: figures are those of a warm server and a warm browser. A query that was never asked
is measured too (`new`).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from bench._data import SHARED
from bench.web import build, wait

if TYPE_CHECKING:
    from playwright.sync_api import Page

LOADS = 15
QUERIES = (
    "sqrt(2) irrational",
    "sum of 1/n^2 = pi^2/6",
    "mathematical induction",
    "eigenvalues of A^T A",
    "lim x->0 sin(x)/x",
)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
# Note every shift of the layout, and when the list of the ask box changed after the last key.
WATCH = """
window.shifts = 0; window.typed = 0; window.answered = [];
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifts += one.value; })
  .observe({ type: "layout-shift", buffered: true });
addEventListener("input", () => { window.typed = performance.now(); }, true);
addEventListener("DOMContentLoaded", () => {
  const list = document.querySelector("#asked");
  if (list) new MutationObserver(() => window.answered.push(performance.now() - window.typed)).observe(list, { childList: true });
});
"""
FIRST_CONTENT = """() => new Promise((done) => {
  const look = () => {
    const [found] = performance.getEntriesByName("first-contentful-paint");
    if (found) done(found.startTime); else setTimeout(look, 20);
  };
  look();
})"""


def titles() -> list[str]:
    """Return titles that people gave their questions: those of the topics of 2021."""
    from porism.corpus.topics.files import read_topics
    from porism.text.read import read_official

    topics = read_topics(SHARED / "data/slice/topics/task1-2021.xml")
    return [read_official(topic.title).plain() for topic in topics][:LOADS]


def row(name: str, values: list[float], limit: float) -> None:
    """Print the median and the largest of some times."""
    ordered = sorted(values)
    middle, most = statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]
    print(f"{name:44s} {middle:8.0f} {most:8.0f} {ordered[-1]:8.0f} {limit:10.0f}", flush=True)


def first_content(page: Page, url: str, paths: list[str]) -> list[float]:
    """Return when the first content of each page appeared, in milliseconds."""
    found = []
    for path in paths:
        page.goto(url + path)
        found.append(float(page.evaluate(FIRST_CONTENT)))
    return found


def asked(page: Page, url: str, texts: list[str]) -> list[float]:
    """Type titles into the ask box; return how long after the last key the questions appeared, in milliseconds."""
    page.goto(f"{url}/ask-box")
    found = []
    for text in texts:
        page.fill("#ask-form [name=title]", "")
        page.wait_for_timeout(400)
        page.evaluate("() => { window.answered = []; }")
        page.fill("#ask-form [name=title]", text)
        page.wait_for_timeout(1000)
        times = page.evaluate("() => window.answered")
        found.append(float(times[-1]) if times else 1000.0)
    return found


def shifts(page: Page, url: str, path: str, field: str) -> float:
    """Return the sum of all shifts of the layout while a query is typed key by key."""
    page.goto(url + path)
    page.wait_for_timeout(300)
    page.evaluate("() => { window.shifts = 0; }")
    page.type(field, QUERIES[0], delay=60)
    page.wait_for_timeout(600)
    return float(page.evaluate("() => window.shifts"))


def measure(page: Page, url: str) -> None:
    """Print a row for each figure."""
    print(f"{'milliseconds':44s} {'median':>8s} {'p95':>8s} {'max':>8s} {'wanted <':>10s}")
    searches = [f"/search?q={quote(query)}" for query in QUERIES]
    fresh = [f"/search?q={quote(title)}" for title in titles()]
    page.goto(url + searches[0])
    thread = page.locator('.hit a[href^="/threads/"]').first.get_attribute("href") or "/"
    for name, paths in {
        "first content: start": ["/"] * LOADS,
        "first content: results (repeated query)": searches * 4,
        "first content: results (new query)": fresh,
        "first content: thread": [thread.split("#")[0]] * LOADS,
        "first content: ask box": ["/ask-box"] * LOADS,
    }.items():
        times = first_content(page, url, paths)
        row(name, times[len(times) // 3 :] if "new" not in name else times, 200)
    row("ask box: questions after the last key (new)", asked(page, url, [f"{text} please" for text in titles()]), 150)
    for name, path, field in (
        ("search box", "/", "input[name=q]"),
        ("search box above results", searches[0], "input[name=q]"),
        ("ask box", "/ask-box", "#ask-form [name=title]"),
    ):
        print(f"{'layout shift while typing: ' + name:44s} {shifts(page, url, path, field):8.4f}")


def main() -> None:
    """Serve the index, open Chromium, print the figures and the load of the machine."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("chromium is not installed (Debian's package chromium); nothing was measured")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name:
        index = Path(os.environ["PORISM_BENCH_INDEX"]) if "PORISM_BENCH_INDEX" in os.environ else build(Path(name))
        url = "http://127.0.0.1:8198"
        command = [sys.executable, "-m", "porism.cli", "serve", str(index), "--port", "8198", "--workers", "1"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server, sync_playwright() as playwright:
            wait(url)
            browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.add_init_script(WATCH)
            print(f"load of the machine before: {os.getloadavg()[0]:.1f}")
            measure(page, url)
            browser.close()
            server.terminate()
