"""The search pages in a real browser."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from chromium import Chromium, free_port, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("search-browser")]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the server of the demo, with the sample's judged runs as an experiment."""
    folder = tmp_path_factory.mktemp("experiment")
    (folder / "runs").mkdir()
    (folder / "qrels.txt").write_bytes((ROOT / "sample/qrels/task1.txt").read_bytes())
    for run in (ROOT / "sample/runs").glob("*task1*.tsv"):
        (folder / "runs" / run.name).write_bytes(run.read_bytes())
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "porism.cli",
        "serve",
        str(demo / "index"),
        "--port",
        str(port),
        "--experiment",
        str(folder),
        "--cors",
        "*",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    wait_for(url + "/v1/health", process)
    yield url
    process.terminate()
    process.wait(10)


@pytest.fixture
def page(browser: Chromium) -> Iterator[Page]:
    """Open a page; check afterwards that no script failed and no request left the machine."""
    context = browser.context()
    made = context.new_page()
    outside: list[str] = []
    errors: list[str] = []
    made.on("request", lambda request: outside.append(request.url) if "127.0.0.1" not in request.url else None)
    made.on("pageerror", lambda error: errors.append(str(error)))
    yield made
    assert not outside
    assert not errors
    context.close()


def search(page: Page, site: str, query: str, tab: str = "answers") -> None:
    page.goto(f"{site}/search?q={quote(query)}&tab={tab}")


def test_search_from_the_start_page(page: Page, site: str) -> None:
    page.goto(site)
    page.fill("#q", "proof that $\\sqrt{2}$ is irrational")
    page.wait_for_selector("#preview math msqrt")
    page.press("#q", "Enter")
    page.wait_for_selector(".hit")
    assert "irrational" in page.inner_text(".hits").lower()
    assert page.locator(".hit mark").count() > 0
    assert page.locator(".hit math").count() > 0
    assert page.locator(".hit math .highlight").count() > 0
    assert "ms" in page.inner_text("[role=status]")


def test_renamed_variables_are_highlighted_and_bound(page: Page, site: str) -> None:
    search(page, site, "$a^2+b^2=c^2$", "formulas")
    page.wait_for_selector(".formula-hit")
    # The browser shows single letters in mathematical italics.
    texts = [unicodedata.normalize("NFKC", one) for one in page.locator(".formula-hit .big").all_inner_texts()[:8]]
    assert any("".join(text.split()) == "x2+y2=z2" for text in texts), texts
    renamed = page.locator(".formula-hit", has=page.locator(".bindings")).first
    assert " to " in renamed.locator(".bindings").inner_text()
    assert renamed.locator(".highlight").count() > 0


def test_a_wildcard_is_bound(page: Page, site: str) -> None:
    search(page, site, "$?x^2+?y^2=?z^2$", "formulas")
    page.wait_for_selector(".formula-hit .bindings")
    assert page.locator(".formula-hit").count() > 1


def test_a_broken_formula_is_reported_and_the_words_still_match(page: Page, site: str) -> None:
    page.goto(site)
    page.fill("#q", "quadratic formula $\\frac{a}{$")
    page.wait_for_selector("#preview .problem u")
    page.press("#q", "Enter")
    page.wait_for_selector(".hit")
    assert page.locator(".notes li").count() > 0


def test_a_filter_restricts_the_hits(page: Page, site: str) -> None:
    search(page, site, "sum of squares")
    everything = page.inner_text("[role=status]")
    page.fill(".filters [name=tags]", "number-theory")
    page.click(".filters button")
    page.wait_for_selector(".hit")
    assert "tags=number-theory" in page.url
    assert page.inner_text("[role=status]") != everything
    for details in page.locator(".hit > .details").all_inner_texts():
        assert "number-theory" in details


def test_the_parts_of_an_explanation_add_up(page: Page, site: str) -> None:
    search(page, site, "Pythagorean theorem")
    page.locator(".hit summary").first.click()
    page.wait_for_selector(".hit .explanation .reasons svg")
    assert "same words: " in page.inner_text(".hit .explanation .reasons")
    page.locator(".hit .explanation .numbers summary").first.click()
    numbers = page.locator(".hit .explanation .numbers").first
    values = [float(one) for one in numbers.locator("> ul > li > ul > li > .value").all_inner_texts()]
    total = float(numbers.locator("> ul > li > .value").inner_text())
    assert values
    assert sum(values) == pytest.approx(total, abs=0.01)


def test_a_formula_links_to_similar_formulas(page: Page, site: str) -> None:
    search(page, site, "Pythagorean theorem $a^2+b^2=c^2$")
    first = page.url
    page.locator(".snippet .math-link").first.click()
    page.wait_for_selector(".formula-hit")
    assert "tab=formulas" in page.url
    page.go_back(wait_until="commit")
    page.wait_for_selector(".hit h2")
    assert page.url == first


def test_thread_page(page: Page, site: str) -> None:
    search(page, site, "$\\sqrt{2}$ irrational")
    page.locator(".hit h2 a").first.click()
    page.wait_for_selector(".post")
    assert "/threads/" in page.url
    assert page.locator(".post math").count() > 0
    assert page.locator("h1").count() == 1
    assert page.locator("main mark").count() > 0
    assert page.locator(".post math .highlight").count() > 0
    assert page.locator(".author").count() > 0
    page.locator(".loads summary").last.click()
    page.wait_for_selector(".loads .uses a")
    page.click(".back a")
    page.wait_for_selector(".hit")
    assert page.input_value("#q") == "$\\sqrt{2}$ irrational"


def test_answers_of_a_thread_are_one_hit(page: Page, site: str) -> None:
    search(page, site, "irrational")
    threads = [link.split("#")[0] for link in page.locator(".hit h2 a").evaluate_all("links => links.map(a => a.href)")]
    assert len(threads) == len(set(threads))
    more = page.locator(".hit .more").first
    assert "more answer" in more.locator("summary").inner_text()
    more.locator("summary").click()
    assert more.locator("li .snippet").first.is_visible()


def test_hits_are_sorted_by_votes(page: Page, site: str) -> None:
    search(page, site, "sum of squares")
    page.click(".sort a:text('votes')")
    page.wait_for_selector(".sort a[aria-current]:text('votes')")
    votes = [int(one.split()[0]) for one in page.locator(".hit > .details span:text('vote')").all_inner_texts()]
    assert len(votes) > 5
    assert votes == sorted(votes, reverse=True)


def test_what_was_also_searched_is_one_line_and_can_be_switched_off(page: Page, site: str) -> None:
    search(page, site, "Pythagorean theorem")
    assert page.locator(".also").count() == 1
    assert page.locator(".also math").count() >= 1
    page.click(".also a")
    page.wait_for_selector(".also:text('only what you typed')")
    assert "expand=false" in page.url


def test_a_formula_offers_its_latex(browser: Chromium, site: str) -> None:
    context = browser.context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    search(page, site, "$\\sqrt{2}$ irrational")
    page.locator(".snippet .math-link").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".copy-latex:text('copied')")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator(".math-link").first.get_attribute(
        "data-latex"
    )
    context.close()


def test_the_api_page_tries_a_call(page: Page, site: str) -> None:
    page.goto(site)
    page.click("nav a:text('API')")
    page.click("#v1-health button")
    page.wait_for_selector('#v1-health .response:text(\'"status": "ok"\')')
    page.click("#v1-threads-id button")
    page.wait_for_selector("#v1-threads-id .response:text('question')")
    assert '"ok": true' in page.inner_text("#v1-threads-id .response")


def test_similar_questions_appear_while_one_is_written(page: Page, site: str) -> None:
    page.goto(site + "/ask-box")
    page.keyboard.press("Tab")
    page.fill("[name=title]", "square root of two")
    page.fill("[name=body]", "How do I show that $\\sqrt{2}$ is irrational?")
    page.wait_for_selector("#asked .highlight")  # those for the title alone may come before
    assert "irrational" in page.inner_text("#asked")


def test_the_ask_box_works_without_scripts(browser: Chromium, site: str) -> None:
    context = browser.context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + "/ask-box")
    page.fill("[name=title]", "Why is $\\sqrt{2}$ irrational?")
    page.click("#ask-form button")
    page.wait_for_selector(".asked a")
    assert "irrational" in page.inner_text(".asked")
    context.close()


def test_the_widget_shows_similar_questions_on_another_page(browser: Chromium, site: str, tmp_path: Path) -> None:
    """The page of another site: one script tag, a sandboxed frame without scripts, colours by CSS variables."""
    other = tmp_path / "other.html"
    other.write_text(
        "<!doctype html><meta charset=utf-8><style>:root { --porism-text: #ff0000; --porism-height: 300px }</style>"
        f'<input id=t><textarea id=b></textarea><script src="{site}/static/widget.js" data-title="#t" data-body="#b"></script>'
    )
    port = free_port()
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    context = browser.context()
    try:
        page = context.new_page()
        wait_for(f"http://127.0.0.1:{port}/other.html", server)
        page.goto(f"http://127.0.0.1:{port}/other.html")
        page.fill("#t", "Why is the square root of 2 irrational?")
        frame = page.frame_locator("iframe").last
        frame.locator(".asked a").first.wait_for()
        assert page.locator("iframe").last.get_attribute("sandbox") == "allow-popups allow-popups-to-escape-sandbox"
        assert frame.locator("body").evaluate("body => getComputedStyle(body).color") == "rgb(255, 0, 0)"
        assert page.locator("iframe").last.evaluate("frame => frame.clientHeight") == 300
    finally:
        context.close()
        server.terminate()
        server.wait(10)


def test_search_works_by_keyboard_alone(page: Page, site: str) -> None:
    page.goto(site + "/stats")
    page.goto(site)
    page.keyboard.type("irrational")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.why') !== null"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".reasons li")
    assert page.evaluate("document.activeElement.closest('.why') !== null")  # the focus stays where the reader is


def test_leaderboard(page: Page, site: str) -> None:
    page.goto(site + "/leaderboard")
    assert page.locator("tbody tr").count() >= 3
    assert page.locator("figure svg").count() >= 3


def test_ask(page: Page, site: str) -> None:
    search(page, site, "why is $\\sqrt{2}$ irrational?", "ask")
    page.wait_for_selector(".answer")
    assert len(page.inner_text(".answer")) > 20
    assert page.locator("section a[href^='/threads/']").count() >= 1


def test_titles_are_completed_and_nothing_moves_while_typing(page: Page, site: str) -> None:
    page.goto(site)
    page.evaluate(
        "window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(one => window.shift += one.value))"
        ".observe({ type: 'layout-shift', buffered: false })"
    )
    page.keyboard.type("why is ", delay=30)
    page.wait_for_selector("#completions option", state="attached")
    assert any(
        "Why is" in one for one in page.locator("#completions option").evaluate_all("all => all.map(o => o.value)")
    )
    assert page.evaluate("window.shift") < 0.01


def test_the_palette_inserts_latex(page: Page, site: str) -> None:
    page.goto(site)
    page.click("details > summary")
    page.click("button[title='square root']")
    page.keyboard.type("2")
    assert page.input_value("#q") == "$\\sqrt{2}$"
    page.wait_for_selector("#preview msqrt")


def test_search_works_without_scripts(browser: Chromium, site: str) -> None:
    context = browser.context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    page.fill("#q", "irrational")
    page.press("#q", "Enter")
    page.wait_for_selector(".hit h2 a")
    page.locator(".hit summary").first.click()
    page.locator(".hit .why a").first.click()
    page.wait_for_selector(".reasons li")
    assert page.locator(".explanation .value").count() > 1
    context.close()


def test_no_page_scrolls_sideways_in_a_narrow_window(browser: Chromium, site: str) -> None:
    context = browser.context(360, 740)
    page = context.new_page()
    for path in (
        "/",
        "/search?q=sum+of+squares",
        "/search?q=$x^2$&tab=formulas",
        "/stats",
        "/leaderboard",
        "/api",
        "/ask-box?title=irrational",
    ):
        page.goto(site + path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    context.close()


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/search?q=$x^2%2By^2$ circle",
        "/search?q=$x^2$&tab=formulas",
        "/search?q=sum&tab=ask",
        "/thread",
        "/api",
        "/ask-box?title=irrational",
        "/ask-box/frame?title=irrational",
        "/stats",
        "/leaderboard",
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_problem(browser: Chromium, site: str, path: str, scheme: str) -> None:
    context = browser.context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    if path == "/thread":
        search(page, site, "irrational")
        path = page.locator(".hit h2 a").first.get_attribute("href") or ""
    page.goto(site + path)
    found = Axe().run(page).response["violations"]
    serious = [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")]
    assert not serious
    context.close()


WATCH_SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifts += one.value; })
  .observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_one_types(page: Page, site: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.add_init_script(WATCH_SHIFTS)
    page.goto(site)
    page.evaluate("() => { window.shifts = 0; }")
    page.type("#q", "sqrt(2) irrational")
    expect(page.locator("#preview .formula")).to_be_visible()
    assert page.evaluate("() => window.shifts") < 0.005
