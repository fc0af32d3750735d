"""The templates on Turkle's own page in a real browser: the right cards are shown, and the answers are imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from turkle_site import PASSWORD, Site

from chromium import chromium
from porism.lab.judging.assessments import assessments
from porism.lab.judging.assignments import assigned_items
from porism.lab.judging.journal import Journal
from porism.lab.turkle.client import Server, download, upload
from porism.lab.turkle.files import import_results

pytestmark = [pytest.mark.turkle, pytest.mark.browser, pytest.mark.xdist_group("turkle")]


def test_the_cards_of_a_formula_are_shown_rated_and_imported(
    site: Site, folder: Path, journal: Journal, tmp_path: Path
) -> None:
    server = Server(site.url, site.token, site.admin, site.password)
    upload(server, folder)
    number = next(
        n
        for name, n in json.loads((folder / "uploaded.json").read_text())["batches"].items()
        if name.startswith("main-task2")
    )
    sizes = [len(work.cards) for work in assigned_items(journal, 2)]
    with sync_playwright() as playwright, chromium(playwright, tmp_path / "profile") as browser:
        page = browser.context().new_page()
        page.goto(f"{site.url}/login/")
        page.fill("[name=username]", "bob")
        page.fill("[name=password]", PASSWORD)
        page.press("[name=password]", "Enter")
        page.wait_for_selector("text=bob")
        for size in sizes:
            page.goto(f"{site.url}/batch/{number}/accept_next_task/")
            frame = page.frame_locator("iframe")
            frame.locator("[data-card='1'] math").first.wait_for()
            visible = [n for n in range(1, 6) if frame.locator(f"[data-card='{n}']").is_visible()]
            assert visible == list(range(1, size + 1))
            # Nothing is sent while a card that is shown has no grade, nor a failure without a comment.
            frame.locator("#submitButton").click()
            page.wait_for_timeout(200)
            assert frame.locator("[data-card='1']").is_visible()
            for n in visible:
                frame.locator(f"[name=relevance_{n}][value='5']").check()
                frame.locator(f"[name=comment_{n}]").fill(f"cut ∑ {n}")
            page.screenshot(path=tmp_path / f"turkle-{size}.png")
            frame.locator("#submitButton").click()
            page.wait_for_selector("iframe", state="detached", timeout=20_000)
    summary = import_results(journal, download(server, number), "results.csv")
    assert (summary.results, summary.problems) == (len(sizes), [])
    found = [(one.instance, one.grade, one.comment) for one in assessments(journal)]
    assert found == [(n, 5, f"cut ∑ {n}") for size in sizes for n in range(1, size + 1)]
