"""A site with settings of its own in a real browser: title, attribution, original, licence, colours, tabs; an edited
note; a private site."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from chromium import Chromium, free_port, wait_for
from notes_site import make_notes_index

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("site-browser"), pytest.mark.timeout(600)]
PATIENCE = 240  # seconds for things that a busy machine does slowly
SETTINGS = """
[site]
title = "Ada's notes"
heading = "Look something up"
attribution = "Written by Ada Lovelace and friends"
logo = "logo.svg"

[posts]
original_link = "https://notes.example/{kind}/{id}"
licence = "CC BY 4.0"
licence_url = "https://creativecommons.org/licenses/by/4.0/"

[theme]
accent = "#8a1538"
background = "#fffaf2"

[dark]
accent = "#ff9eb5"

[pages]
tabs = ["questions", "formulas"]
menu = ["search", "statistics"]
"""
LOGO = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 20'><circle cx='10' cy='10' r='9' fill='#8a1538'/></svg>"
)


@contextmanager
def serving(index: Path, *options: str) -> Iterator[str]:
    """Serve an index until the end of the block."""
    port = free_port()
    patient = ("--workers", "1", "--seconds", "200", "--frozen-seconds", "200")
    words = [sys.executable, "-m", "porism.cli", "serve", str(index), "--port", str(port), *patient, *options]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        for _ in range(4):  # a minute each
            wait_for(f"http://127.0.0.1:{port}/ready", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes, their index and the settings of the site."""
    made = tmp_path_factory.mktemp("site")
    make_notes_index(made)
    (made / "site.toml").write_text(SETTINGS, "utf-8")
    (made / "logo.svg").write_text(LOGO, "utf-8")
    return made


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    with serving(folder / "index", "--site", str(folder / "site.toml")) as address:
        yield address


@pytest.fixture(autouse=True, scope="module")
def patience() -> Iterator[None]:
    """Let expectations wait for a busy machine."""
    expect.set_options(timeout=PATIENCE * 1000)
    yield
    expect.set_options(timeout=5_000)


@pytest.fixture
def page(browser: Chromium) -> Iterator[Page]:
    context = browser.context(color_scheme="light")
    context.set_default_timeout(PATIENCE * 1000)
    yield context.new_page()
    context.close()


def test_title_logo_attribution_and_licence(page: Page, site: str) -> None:
    page.goto(site)
    expect(page).to_have_title("Ada's notes: Look something up")
    expect(page.locator(".brand")).to_have_text("Ada's notes")
    expect(page.locator("h1")).to_have_text("Look something up")
    assert page.locator(".brand img").evaluate("image => image.naturalWidth") > 0
    expect(page.locator("footer")).to_contain_text("Written by Ada Lovelace and friends")
    expect(page.locator("footer a[rel~=license]")).to_have_attribute(
        "href", "https://creativecommons.org/licenses/by/4.0/"
    )


def test_a_post_links_to_its_original_and_licence(page: Page, site: str) -> None:
    page.goto(f"{site}/search?q=cubes")
    page.locator(".hit h2 a").first.click()
    expect(page).to_have_title("one › Cubes · Ada's notes")
    id = page.locator("article.post").first.get_attribute("id").removeprefix("post-")  # type: ignore[union-attr]
    original = page.locator("[aria-label='Original of post " + id + "']")
    expect(original).to_have_attribute("href", f"https://notes.example/question/{id}")
    expect(page.locator(".details .licence")).to_have_text("CC BY 4.0")


@pytest.mark.parametrize(("scheme", "accent"), [("light", "rgb(138, 21, 56)"), ("dark", "rgb(255, 158, 181)")])
def test_the_theme_colours_links_and_buttons(browser: Chromium, site: str, scheme: str, accent: str) -> None:
    context = browser.context(color_scheme=scheme)
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    page.goto(site)
    expect(page.locator("button.main")).to_have_css("background-color", accent)
    expect(page.locator("button.main")).to_have_css(
        "color", "rgb(255, 255, 255)" if scheme == "light" else "rgb(16, 21, 28)"
    )
    results = Axe().run(page)
    assert not [one["id"] for one in results.response["violations"]], results.generate_report()
    context.close()


def test_hidden_tabs_and_menu_entries_are_gone(page: Page, site: str) -> None:
    page.goto(f"{site}/search?q=cubes")
    expect(page.locator(".tabs a")).to_have_text(["Questions", "Formulas"])
    expect(page.locator(".tabs a[aria-current]")).to_have_text("Questions")
    expect(page.locator(".top nav a")).to_have_text(["Search", "Statistics"])


def test_a_phone_scrolls_in_one_direction(browser: Chromium, site: str) -> None:
    context = browser.context(width=360, height=700)
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    for path in ("/", "/search?q=cubes", "/stats"):
        page.goto(site + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()


def search_until(page: Page, site: str, query: str, hits: int) -> None:
    """Search again and again until there are so many hits: the server looks for a newer commit every other second."""
    end = time.monotonic() + PATIENCE
    while True:
        page.goto(f"{site}/search?q={quote(query)}")
        if page.locator(".hit").count() == hits:
            return
        assert time.monotonic() < end, page.locator("main").inner_text()
        time.sleep(1)


def test_an_edited_note_shows_once(page: Page, folder: Path, site: str) -> None:
    note = folder / "notes" / "one.md"
    search_until(page, site, "cubes", 1)
    note.write_text("# Cubes\n\nThe sum $x^3+y^3$ factors, and a zeppelin flies.\n", "utf-8")
    command = [sys.executable, "-m", "porism.cli", "update", str(folder / "index"), str(folder / "notes")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})
    assert done.returncode == 0, done.stderr
    search_until(page, site, '"zeppelin"', 1)
    expect(page.locator(".hit .snippet")).to_contain_text("zeppelin")
    page.goto(f"{site}/search?q=cubes")
    expect(page.locator(".hit")).to_have_count(1)  # and not the note of before beside it
    page.locator(".hit h2 a").click()
    expect(page.locator("article.post")).to_contain_text("a zeppelin flies")


def test_a_private_site_is_read_after_the_login(browser: Chromium, folder: Path) -> None:
    users = folder / "site.users"
    add = [sys.executable, "-m", "porism.cli", "site", "users", "add", str(users), "ada"]
    subprocess.run(add, input="correct horse\n", text=True, check=True, capture_output=True)
    settings = ("--site", str(folder / "site.toml"), "--set", f"access.users={users}")
    with serving(folder / "index", *settings) as address:
        context = browser.context(color_scheme="light")
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        page.goto(f"{address}/search?q=cubes")
        expect(page.locator("h1")).to_have_text("Log in")
        assert not Axe().run(page).response["violations"]
        page.fill("[name=name]", "ada")
        page.fill("[name=password]", "wrong horse")
        page.press("[name=password]", "Enter")
        expect(page.locator("[role=alert]")).to_have_text("Name or password is wrong.")
        page.fill("[name=name]", "ada")
        page.fill("[name=password]", "correct horse")
        page.press("[name=password]", "Enter")
        expect(page.locator(".hit")).to_have_count(1)
        assert page.url == f"{address}/search?q=cubes"
        page.click("text=Log out")
        expect(page.locator("h1")).to_have_text("Log in")
        page.goto(f"{address}/threads/1")
        expect(page.locator("h1")).to_have_text("Log in")
        context.close()
