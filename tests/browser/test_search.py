"""The search pages in a real browser."""

from __future__ import annotations

import subprocess
import sys
import time
import unicodedata
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from chromium import Chromium, chromium, free_port

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
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(url + "/v1/health", timeout=5).read()
            break
        except OSError:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.1)
    yield url
    process.terminate()
    process.wait(10)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with sync_playwright() as playwright, chromium(playwright, tmp_path_factory.mktemp("profile")) as made:
        yield made


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
    for details in page.locator(".hit .details").all_inner_texts():
        assert "number-theory" in details


def test_the_parts_of_an_explanation_add_up(page: Page, site: str) -> None:
    search(page, site, "Pythagorean theorem")
    page.locator(".hit summary").first.click()
    page.wait_for_selector(".hit .explanation .value")
    values = [
        float(one)
        for one in page.locator(".hit .explanation").first.locator("> ul > li > ul > li > .value").all_inner_texts()
    ]
    total = float(page.locator(".hit .explanation").first.locator("> ul > li > .value").inner_text())
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


def test_leaderboard(page: Page, site: str) -> None:
    page.goto(site + "/leaderboard")
    assert page.locator("tbody tr").count() >= 3
    assert page.locator("figure svg").count() >= 3


def test_ask(page: Page, site: str) -> None:
    search(page, site, "why is $\\sqrt{2}$ irrational?", "ask")
    page.wait_for_selector(".answer")
    assert len(page.inner_text(".answer")) > 20
    assert page.locator("section a[href^='/threads/']").count() >= 1


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
    page.locator(".hit .explanation a").first.click()
    page.wait_for_selector(".value")
    assert page.locator(".explanation .value").count() > 1
    context.close()


def test_no_page_scrolls_sideways_in_a_narrow_window(browser: Chromium, site: str) -> None:
    context = browser.context(360, 740)
    page = context.new_page()
    for path in ("/", "/search?q=sum+of+squares", "/search?q=$x^2$&tab=formulas", "/stats", "/leaderboard"):
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
