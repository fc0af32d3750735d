"""From runs to scores on the sample: two assessors judge in a real browser; one resumes after a crash, one changes a
grade."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Playwright, sync_playwright

from chromium import Chromium, chromium, free_port, log_in
from lab_fixtures import SAMPLE
from porism.cli import main
from porism.evaluate.qrels import read_qrels
from porism.lab.judging.assessments import assessments
from porism.lab.judging.journal import Journal
from porism.lab.pooling.build import read_pool

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PASSWORD = "a long test password"
TOPICS = ("A.1", "A.2")
SAVED = "#saved:text-is('Saved')"
SHIFTED = 3  # every third item bob is one grade lower


class Lab:
    """A lab on the sample, set up with the commands, and its running server."""

    def __init__(self, folder: Path, collection: Path) -> None:
        self.folder, self.collection = folder, collection
        self.journal = folder / "lab.journal"
        self.pool = folder / "pool"
        runs = [str(path) for path in sorted((SAMPLE / "runs").glob("*.tsv"))]
        topics = str(SAMPLE / "topics" / "task1.xml")
        self.run(
            "lab",
            "pool",
            "build",
            str(collection),
            "--task",
            "1",
            "--topics",
            topics,
            "-o",
            str(self.pool),
            "--depth-primary",
            "3",
            "--depth-alternate",
            "2",
            "--seed",
            "5",
            "--runs",
            *runs,
        )
        self.run("lab", "assess", "create", str(self.journal))
        for name, role in (("ann", "assessor"), ("bob", "assessor"), ("olga", "organiser")):
            self.run("lab", "assess", "account", str(self.journal), name, "--role", role, typed=PASSWORD + "\n")
        self.run("lab", "assess", "load", str(self.journal), "--pool", str(self.pool), "--topics", topics)
        for name, topic in zip(("ann", "bob"), TOPICS, strict=True):
            self.run("lab", "assess", "assign", str(self.journal), name, topic)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = [
            sys.executable,
            "-m",
            "porism.cli",
            "lab",
            "assess",
            "serve",
            str(self.journal),
            "--collection",
            str(collection),
            "--port",
            str(self.port),
        ]
        self.server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                urllib.request.urlopen(self.url + "/login").read()
                break
            except OSError:
                time.sleep(0.1)

    def run(self, *arguments: str, typed: str = "") -> str:
        """Run a command as in a shell and return its output."""
        before = sys.stdin, sys.stdout
        sys.stdin, sys.stdout = io.StringIO(typed), io.StringIO()
        try:
            assert main(arguments) == 0
            return sys.stdout.getvalue()
        finally:
            sys.stdin, sys.stdout = before

    def items(self, topic: str) -> list[str]:
        """Return the items of a topic in judging order."""
        return [item.item for item in read_pool(self.pool).items if item.topic == topic]


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="module")
def lab(sample_collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    made = Lab(tmp_path_factory.mktemp("assess"), sample_collection)
    yield made
    made.server.terminate()
    made.server.wait()


def opinion(topic: str, item: str, place: int, name: str) -> int:
    """Return a grade: ann follows the sample's judgments (0 if unjudged); bob is lower on every third item."""
    known = read_qrels(SAMPLE / "qrels" / "task1.txt")
    grade = {"d": 2}.get(item[:1]) if item.startswith("d_") else known.get(topic, {}).get(item, 0)
    return max(0, (grade or 0) - (name == "bob" and place % SHIFTED == 0))


def write_narrative(page: Page) -> None:
    page.fill("textarea[name=narrative]", "A complete derivation with the final value. ∑")
    page.check("[name=text_alone][value=no]")
    page.check("[name=formulas_alone][value=yes]")
    page.click("text=Save and judge")


def judge(page: Page, grade: int, place: int, of: int) -> None:
    """Rate the item with the keyboard and continue."""
    page.wait_for_selector(f"text=Item {place} of {of}")
    page.keyboard.press(str(grade))
    page.wait_for_selector(SAVED)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def judge_topic(page: Page, lab: Lab, job: int, topic: str, name: str, first: int = 1, last: int | None = None) -> None:
    items = [
        row["item"]
        for row in Journal.open(lab.journal).read(
            "SELECT item.item FROM assigned JOIN item ON key = assigned.item WHERE assignment = ? ORDER BY assigned.position",
            (job,),
        )
    ]
    for place in range(first, (last or len(items)) + 1):
        judge(page, opinion(topic, items[place - 1], place, name), place, len(items))


def test_from_runs_to_scores(lab: Lab, playwright: Playwright, tmp_path: Path) -> None:
    sizes = {topic: len(lab.items(topic)) for topic in TOPICS}
    assert all(6 <= size <= 12 for size in sizes.values())
    with chromium(playwright, tmp_path / "one") as first:
        ann = log_in(first.context(), lab.url, "ann", PASSWORD)
        ann.click("text=Continue with Judging")
        write_narrative(ann)
        judge_topic(ann, lab, 1, "A.1", "ann", last=3)
        goes_back_and_changes(ann, sizes["A.1"])
        ann.screenshot(path=tmp_path / "judge-wide.png")
        judge_topic(ann, lab, 1, "A.1", "ann", first=4)
        assert ann.inner_text("p.good") == f"All {sizes['A.1']} items are done."
        ann.goto(f"{lab.url}/preference/1")
        ann.screenshot(path=tmp_path / "prefer-wide.png")
        is_killed_and_resumes(lab, playwright, tmp_path, sizes["A.2"])
        second_opinions(lab, first, tmp_path)
        look_narrow(lab, first, tmp_path)
    judged = assessments(Journal.open(lab.journal))
    assert len(judged) == 2 * sum(sizes.values())
    ends_in_agreement_qrels_and_scores(lab, tmp_path)


def goes_back_and_changes(page: Page, size: int) -> None:
    """Ann goes back with the arrow key, changes the grade with a click, changes it back, and continues."""
    page.wait_for_selector(f"text=Item 4 of {size}")
    with page.expect_navigation():
        page.keyboard.press("ArrowLeft")
    page.wait_for_selector(f"text=Item 3 of {size}")
    before = page.evaluate("document.querySelector('[name=grade_1]:checked').value")
    for value in ("1" if before == "0" else "0", before):
        page.click(f"label:has([name=grade_1][value='{value}'])")
        page.wait_for_selector(SAVED)
        assert page.evaluate("document.querySelector('[name=grade_1]:checked').value") == value
    with page.expect_navigation():
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"text=Item 4 of {size}")


def is_killed_and_resumes(lab: Lab, playwright: Playwright, tmp_path: Path, size: int) -> None:
    """Kill Bob's browser after a click that he did not save with the button: the click is there when he returns."""
    doomed = Chromium(playwright, tmp_path / "two")
    bob = log_in(doomed.context(), lab.url, "bob", PASSWORD)
    bob.click("text=Continue with Judging")
    write_narrative(bob)
    judge_topic(bob, lab, 2, "A.2", "bob", last=2)
    bob.wait_for_selector(f"text=Item 3 of {size}")
    bob.keyboard.press(str(opinion("A.2", lab.items("A.2")[2], 3, "bob")))
    bob.wait_for_selector(SAVED)
    doomed.kill()
    with chromium(playwright, tmp_path / "three") as again:
        bob = log_in(again.context(), lab.url, "bob", PASSWORD)
        assert "3 of" in bob.inner_text("tbody")
        bob.click("text=Continue with Judging")
        judge_topic(bob, lab, 2, "A.2", "bob", first=4)


def second_opinions(lab: Lab, browser: Chromium, tmp_path: Path) -> None:
    """Let each assessor judge the whole topic of the other."""
    for job, (name, topic) in enumerate(zip(("bob", "ann"), TOPICS, strict=True), 3):
        lab.run("lab", "assess", "dual", str(lab.journal), name, topic, "--seed", "11")
        page = log_in(browser.context(), lab.url, name, PASSWORD)
        page.click("text=Continue with Second opinion")
        judge_topic(page, lab, job, topic, name)


def look_narrow(lab: Lab, browser: Chromium, tmp_path: Path) -> None:
    """Show the pages on a phone in dark mode; nothing is wider than the window."""
    page = log_in(browser.context(390, 780, color_scheme="dark"), lab.url, "ann", PASSWORD)
    for path in ("/", "/judge/1/2", "/items/1", "/preference/1", "/topic/1", "/instructions", "/thread/202"):
        page.goto(lab.url + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        page.screenshot(path=tmp_path / f"narrow{path.replace('/', '-')}.png")
    olga = log_in(browser.context(), lab.url, "olga", PASSWORD)
    for name in ("", "/agreement", "/disagreements", "/people"):
        olga.goto(f"{lab.url}/organise{name}")
        olga.screenshot(path=tmp_path / f"organise{name.replace('/', '-')}.png")
    assert olga.locator("text=No item has different grades").count() == 0


def ends_in_agreement_qrels_and_scores(lab: Lab, tmp_path: Path) -> None:
    rows = json.loads(lab.run("lab", "agreement", str(lab.journal), "--json"))["pairs"]
    assert (rows[0]["first"], rows[0]["second"]) == ("ann", "bob")
    assert rows[0]["items"] == sum(len(lab.items(topic)) for topic in TOPICS)
    assert 0.3 < rows[0]["kappa"] < 1
    paths = lab.run("lab", "qrels", str(lab.journal), "--task", "1", "-o", str(tmp_path / "qrels")).split()
    official = read_qrels(next(path for path in paths if path.endswith("_official.tsv")))
    # The qrels contain the grades of the first assessor of each topic.
    for topic, name in zip(TOPICS, ("ann", "bob"), strict=True):
        posts = {item: place for place, item in enumerate(lab.items(topic), 1) if not item.startswith("d_")}
        assert official[topic] == {item: opinion(topic, item, place, name) for item, place in posts.items()}
    runs = [str(path) for path in sorted((SAMPLE / "runs").glob("*task1*.tsv"))]
    table = lab.run("eval", next(path for path in paths if path.endswith("_official.tsv")), *runs, "--format", "tsv")
    assert len(table.splitlines()) == 1 + len(runs)
    assert all(Path(path).stem in table for path in runs)
    written = read_qrels(
        next(
            path
            for path in lab.run("lab", "qrels", str(lab.journal), "--task", "3", "-o", str(tmp_path / "qrels")).split()
            if path.endswith("_official.tsv")
        )
    )
    assert {item[:2] for topic in written for item in written[topic]} == {"d_"}
