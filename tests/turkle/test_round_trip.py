"""The export on a real Turkle server: uploaded, answered on its own pages, and imported completely."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import httpx
import pytest
from turkle_site import PASSWORD, Site

from porism.cli import main
from porism.errors import PorismError
from porism.lab.judging.assessments import assessments, extra_answers
from porism.lab.judging.assignments import assigned_items, assignments
from porism.lab.judging.journal import Journal
from porism.lab.turkle.client import Server, call, download, is_complete, progress, upload

pytestmark = [pytest.mark.turkle, pytest.mark.xdist_group("turkle")]


class Worker:
    """A worker who answers a batch on the pages of Turkle itself."""

    def __init__(self, site: Site, name: str) -> None:
        self.http = httpx.Client(base_url=site.url, follow_redirects=True)
        page = self.http.get("/login/").text
        answer = self.http.post(
            "/login/", data={"csrfmiddlewaretoken": self.token(page), "username": name, "password": PASSWORD}
        )
        assert f"{name}" in answer.text

    def token(self, page: str) -> str:
        found = re.search(r'name="?csrfmiddlewaretoken"? value="([^"]+)"', page)
        assert found
        return found[1]

    def next_task(self, batch: int) -> tuple[str, str] | None:
        """(address of the task, what its iframe shows), or None when the batch is done or closed to this worker."""
        page = self.http.get(f"/batch/{batch}/accept_next_task/")
        if "/assignment/" not in str(page.url):
            return None
        address = str(page.url.path)
        task, number = re.search(r"/task/(\d+)/assignment/(\d+)/", address).groups()  # type: ignore[union-attr]
        return address, self.http.get(f"/task/{task}/assignment/iframe/{number}/").text

    def answer(self, address: str, shown: str, fields: dict[str, str]) -> None:
        """Send the form of the iframe: its hidden echo, our answers, and Turkle's token."""
        echo = re.search(r'name="arq_item_echo" value="([^"]*)"', shown)
        assert echo
        token = self.token(shown) if "csrfmiddlewaretoken" in shown else self.token(self.http.get(address).text)
        answer = self.http.post(address, data={"csrfmiddlewaretoken": token, "arq_item_echo": echo[1], **fields})
        assert answer.status_code == 200


def server_of(site: Site, *, admin: bool = False) -> Server:
    return Server(site.url, site.token, site.admin if admin else "", site.password if admin else "")


def batches(folder: Path) -> dict[str, int]:
    return {
        name.split("-")[0] + name.split("-")[1]: number
        for name, number in json.loads((folder / "uploaded.json").read_text())["batches"].items()
    }


def test_round_trip_from_export_to_imported_results(
    site: Site, folder: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TURKLE_TOKEN", site.token)
    monkeypatch.setenv("TURKLE_PASSWORD", site.password)
    assert main(["lab", "turkle", "upload", str(folder), "--url", site.url]) == 0
    numbers = batches(folder)
    assert set(numbers) == {"maintask1", "maintask2", "extratask1"}
    # Uploading again sends nothing twice.
    assert upload(server_of(site), folder) == json.loads((folder / "uploaded.json").read_text())["batches"]

    ann, bob = Worker(site, "ann"), Worker(site, "bob")
    assert bob.next_task(numbers["maintask1"]) is None  # the batch is ann's alone
    grades = iter("32105")
    while task := ann.next_task(numbers["maintask1"]):
        code = next(grades)
        assert "Is a square ever negative?" in task[1]
        ann.answer(*task, {"relevance": code, "comment": 'why: ∑ and "quotes"\nand a line' if code in "35" else ""})
    while task := bob.next_task(numbers["maintask2"]):
        shown = int(re.search(r'data-n="(\d)"', task[1])[1])  # type: ignore[index]
        bob.answer(*task, {f"relevance_{n}": str(4 - n) for n in range(1, shown + 1)} | {"comment_1": "in ascii"})
    while task := ann.next_task(numbers["extratask1"]):
        ann.answer(*task, {"machine_generated": "1", "unrelated": "0"})

    assert main(["lab", "turkle", "download", str(folder), "--url", site.url, "--user", site.admin]) == 0
    results = sorted(str(path) for path in folder.glob("*_results.csv"))
    assert len(results) == 3
    assert main(["lab", "turkle", "import", str(journal.path), *results]) == 0
    found = assessments(journal)
    mine = [one for one in found if one.assessor == "ann"]
    assert [one.grade for one in mine] == [3, 2, 1, 0, 5]
    assert mine[0].comment == 'why: ∑ and "quotes"\nand a line'
    assert [(one.instance, one.grade) for one in found if one.assessor == "bob"] == [
        (n, 4 - n) for work in assigned_items(journal, 2) for n in range(1, len(work.cards) + 1)
    ]
    assert [(row.machine_generated, row.unrelated) for row in extra_answers(journal)] == [(1, 0), (1, 0)]
    assert all(one.seconds is not None and one.seconds >= 0 for one in found)
    capsys.readouterr()


def test_posts_are_shown_completely_and_safely(site: Site, folder: Path, journal: Journal) -> None:
    upload(server_of(site), folder)
    ann = Worker(site, "ann")
    pages = []
    number = batches(folder)["maintask1"]
    while task := ann.next_task(number):
        pages.append(task[1])
        ann.answer(*task, {"relevance": "0"})
    attacked = next(page for page in pages if "An answer" in page)
    # The post says ${arq_topic_title}: it must stay as it is, not become the topic's title.
    assert "${arq_topic_title}" in html.unescape(attacked)
    card = attacked[attacked.index("An answer") : attacked.index('<input type="hidden" name="arq_item_echo"')]
    assert not re.search(r"<(script|form|input|textarea|iframe|style|button)\b", card)
    assert "onerror" not in card
    assert any("https://lab.example/thread/1#p11" in page for page in pages)
    keys = [re.search(r'name="arq_item_echo" value="(\w+)"', page)[1] for page in pages]  # type: ignore[index]
    assert keys == [work.key for work in assigned_items(journal, assignments(journal, "ann")[0].id)]


def test_truncated_results_of_the_api_are_noticed(site: Site, folder: Path) -> None:
    upload(server_of(site), folder)
    number = batches(folder)["maintask1"]
    ann = Worker(site, "ann")
    while task := ann.next_task(number):
        ann.answer(*task, {"relevance": "1", "comment": "∑∑∑"})
    finished = progress(server_of(site), number).finished_assignments
    assert finished == 5
    cut = call(server_of(site), "GET", f"batches/{number}/results/").decode("utf-8", "replace")
    assert not is_complete(cut, finished)
    with pytest.raises(PorismError) as error:
        download(server_of(site), number)
    assert str(error.value) == (
        f"{site.url}: the results of batch {number} are truncated (a known bug of Turkle's API with non-ASCII text)\n"
        "  fix: give --user and TURKLE_PASSWORD, so that the admin page's download can be used"
    )
    whole = download(server_of(site, admin=True), number)
    assert is_complete(whole, finished)
    assert whole.count("∑∑∑") == 5


def test_errors_of_the_server_are_reported(site: Site, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PorismError, match="the Turkle server replied 401"):
        upload(Server(site.url, "wrong"), folder)
    with pytest.raises(PorismError, match="the admin page refused the login"):
        download(Server(site.url, site.token, "admin", "wrong"), _one_answered(site, folder))
    listing = json.loads((folder / "turkle.json").read_text())
    listing["batches"][0]["assessor"] = "zoe"
    (folder / "turkle.json").write_text(json.dumps(listing))
    with pytest.raises(PorismError) as error:
        upload(server_of(site), folder)
    assert str(error.value) == f"{site.url}: the Turkle server has no user zoe\n  fix: create these users there first"
    with pytest.raises(PorismError, match="the Turkle server does not answer"):
        upload(Server("http://127.0.0.1:9", "x"), folder)


def _one_answered(site: Site, folder: Path) -> int:
    upload(server_of(site), folder)
    number = batches(folder)["maintask1"]
    worker = Worker(site, "ann")
    task = worker.next_task(number)
    assert task
    worker.answer(*task, {"relevance": "1", "comment": "∑"})
    return number
