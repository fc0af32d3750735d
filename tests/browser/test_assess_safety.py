"""The assessment server in a real browser: hostile content, no scripts, keyboard, accessibility."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from chromium import Chromium, chromium, free_port, log_in
from lab_case import ATTACK, PASSWORD, LabCase
from porism import accounts
from porism.integrity import describe_file, seal
from porism.lab.judging.assessments import assessments
from porism.lab.judging.assignments import Duty, assign_items, assign_topic, assigned_items, assignments
from porism.lab.judging.items import load_pool
from porism.lab.judging.journal import Journal
from porism.lab.pooling.pool import PooledAnswer, PoolItem

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@dataclass
class Served:
    url: str
    journal: Journal
    browser: Chromium


def renew_checksums(collection: Path) -> None:
    """Make the manifest of a collection fit a database that was changed by hand."""
    path = collection / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["files"] = {name: asdict(describe_file(collection / name)) for name in manifest["files"]}
    path.write_text(seal(manifest), "utf-8")


@pytest.fixture(scope="module")
def served(case: LabCase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start a server on a collection with an attack in a post that no build has cleaned."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copytree(case.collection_path, folder / "collection")
    database = next((folder / "collection").glob("*.sqlite*"))
    with sqlite3.connect(database) as store:
        store.execute("UPDATE posts SET body = ?, title = '' WHERE id = 13", (ATTACK,))
        store.execute("UPDATE comments SET body = ?", (ATTACK,))
    renew_checksums(folder / "collection")
    cost, accounts.COST = accounts.COST, (2, 8, 1)
    journal = case.journal(folder / "lab.journal")
    accounts.COST = cost
    load_pool(journal, 1, [PoolItem("A.1", "d_2")], [PooledAnswer("A.1", "d_2", ATTACK)])
    with journal.write() as connection:
        connection.execute("UPDATE topic SET question = ? WHERE id = 'A.1'", (ATTACK,))
    assign_topic(journal, "ann", 1, "A.1")
    assign_topic(journal, "bob", 2, "B.1")
    assign_topic(journal, "cyd", 1, "A.2")
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "porism.cli",
        "lab",
        "assess",
        "serve",
        str(journal.path),
        "--collection",
        str(folder / "collection"),
        "--port",
        str(port),
    ]
    with sync_playwright() as playwright, chromium(playwright, folder / "profile") as browser:
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                urllib.request.urlopen(url + "/login").read()
                break
            except OSError:
                time.sleep(0.1)
        yield Served(url, journal, browser)
        server.terminate()
        server.wait()


def watched(page: Page) -> list[str]:
    """Record what a page should not do: dialogs, errors, console messages, requests to other hosts."""
    seen: list[str] = []
    page.on("dialog", lambda dialog: (seen.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: seen.append(f"error {error}"))
    page.on("console", lambda message: seen.append(f"console {message.text}"))
    page.on("request", lambda request: seen.append(request.url) if "127.0.0.1" not in request.url else None)
    return seen


def test_no_script_of_a_hostile_post_runs(served: Served) -> None:
    page = log_in(served.browser.context(), served.url, "ann", PASSWORD)
    seen = watched(page)
    job = 1
    page.goto(f"{served.url}/judge/{job}")
    page.fill("textarea[name=narrative]", ATTACK[:3000])
    page.check("[name=text_alone][value=no]")
    page.check("[name=formulas_alone][value=no]")
    page.click("text=Save and judge")
    total = len(assigned_items(served.journal, job))
    for place in range(1, total + 1):
        page.wait_for_selector(f"text=Item {place} of {total}")
        assert page.evaluate("window.pwned") is None
        assert (
            page.evaluate(
                "document.querySelectorAll('.post script, .post iframe, .post form, .post img, .post svg, .post style').length"
            )
            == 0
        )
        assert page.is_visible(".topic .post")
        page.fill("textarea[name=comment_1]", ATTACK[:3000])
        page.keyboard.press("Escape")
        page.keyboard.press("0")
        with page.expect_navigation():
            page.keyboard.press("Enter")
    for path in ("/thread/1", f"/topic/{job}", f"/items/{job}", f"/judge/{job}/1"):
        page.goto(served.url + path)
        page.wait_for_timeout(100)
        assert page.evaluate("window.pwned") is None
        assert page.url.endswith(path)
    page.goto(f"{served.url}/judge/{job}/1")
    assert page.locator("a[href^='/thread/'][target=_blank]:text('inside')").count() >= 1
    assert seen == []
    olga = log_in(served.browser.context(), served.url, "olga", PASSWORD)
    noise = watched(olga)
    for path in ("/organise", "/organise/disagreements", "/organise/people"):
        olga.goto(served.url + path)
    assert noise == []
    assert len([one for one in assessments(served.journal) if one.assessor == "ann"]) == total
    assert next(one.comment for one in assessments(served.journal) if one.assessor == "ann") == ATTACK[:3000]


def test_a_click_is_saved_after_logging_in_again(served: Served) -> None:
    assign_items(served.journal, Duty("cyd", 1, "A.1", "dual"), [assigned_items(served.journal, 1)[0].key])
    job = assignments(served.journal, "cyd")[-1].id
    context = served.browser.context()
    page = log_in(context, served.url, "cyd", PASSWORD)
    page.goto(f"{served.url}/judge/{job}/1")
    with served.journal.write() as connection:
        connection.execute("DELETE FROM session WHERE account = 'cyd'")
    page.keyboard.press("3")
    page.wait_for_selector("#saved:has-text('You are logged out.')")
    log_in(context, served.url, "cyd", PASSWORD)
    page.wait_for_selector("#saved:text-is('Saved')")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert [(one.assessor, one.grade) for one in assessments(served.journal, "dual")] == [("cyd", 3)]


def test_judging_works_without_scripts(served: Served) -> None:
    page = log_in(served.browser.context(java_script_enabled=False), served.url, "cyd", PASSWORD)
    page.click("text=Continue with")
    page.fill("textarea[name=narrative]", "A proof.")
    page.check("[name=text_alone][value=no]")
    page.check("[name=formulas_alone][value=no]")
    page.click("text=Save and judge")
    for place in (1, 2, 3):
        page.wait_for_selector(f"text=Item {place} of 3")
        page.click("label:has([name=grade_1][value='2'])")
        page.click("text=Save and next")
    assert page.inner_text("p.good") == "All 3 items are done."
    assert [one.grade for one in assessments(served.journal, "main") if one.assessor == "cyd"] == [2, 2, 2]


def test_every_card_of_a_formula_can_be_rated_by_keyboard(served: Served) -> None:
    page = log_in(served.browser.context(), served.url, "bob", PASSWORD)
    job = 2
    page.goto(f"{served.url}/judge/{job}")
    page.fill("textarea[name=narrative]", "Squares.")
    page.check("[name=text_alone][value=no]")
    page.check("[name=formulas_alone][value=no]")
    page.click("text=Save and judge")
    place = next(work.position for work in assigned_items(served.journal, job) if len(work.cards) == 3)
    page.goto(f"{served.url}/judge/{job}/{place}")
    assert page.evaluate("document.querySelectorAll('.topic mark.formula math').length") == 2
    # Each rating moves on to the next card; "f" asks for a comment; k goes back a card.
    page.keyboard.press("h")
    page.keyboard.press("m")
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.name") == "comment_3"
    page.keyboard.type("cut off ∑")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    page.keyboard.press("1")
    page.wait_for_selector("#saved:text-is('Saved')")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    mine = [one for one in assessments(served.journal) if one.assessor == "bob"]
    assert [(one.instance, one.grade, one.comment) for one in mine] == [(1, 3, ""), (2, 1, ""), (3, 5, "cut off ∑")]
    with page.context.expect_page() as opened:
        page.goto(f"{served.url}/judge/{job}/{place}")
        page.wait_for_selector(".card.current")
        page.keyboard.press("t")
    assert "/thread/" in opened.value.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("", ["/login"]),
        ("bob", ["/", "/instructions", "/topic/2", "/judge/2/1", "/items/2", "/thread/1"]),
        ("ann", ["/judge/1/3", "/preference/1"]),
        (
            "olga",
            [
                "/organise",
                "/organise/agreement",
                "/organise/stability",
                "/organise/disagreements",
                "/organise/people",
                "/organise/export",
            ],
        ),
    ],
)
def test_no_serious_accessibility_problem(served: Served, name: str, paths: list[str], scheme: str) -> None:
    context = served.browser.context(color_scheme=scheme, bypass_csp=True)
    page = log_in(context, served.url, name, PASSWORD) if name else context.new_page()
    for path in paths:
        page.goto(served.url + path)
        found = Axe().run(page).response["violations"]
        serious = [
            (path, v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")
        ]
        assert not serious
    context.close()
