"""Search analytics on the pages: off by default, clicks counted without scripts, a page for the operator only."""

from __future__ import annotations

import json
import re
import signal
from html import unescape
from pathlib import Path

import pytest
from server_processes import running
from starlette.testclient import TestClient

import porism
from porism.cli import main
from porism.search.analytics import read_report
from porism.web.server.app import create_app
from porism.web.server.metrics import SharedCounters
from porism.web.server.observer import NOTHING, Operations
from porism.web.server.run import OperatedApp
from porism.web.site.settings import RequestLimits, SiteSettings

QUERY = "proof that $\\sqrt{2}$ is irrational"


class Site:
    """An application that records searches, and a client on this machine."""

    def __init__(self, index: Path, settings: Operations) -> None:
        self.app = create_app(porism.open(index), SiteSettings(limits=RequestLimits(seconds=60)), hosts=["localhost"])
        self.operated = OperatedApp(self.app, settings, SharedCounters(1))
        self.client = TestClient(self.app, "http://localhost", client=("127.0.0.1", 5000), follow_redirects=False)

    def first_links(self, **more: str) -> list[str]:
        page = self.client.get("/search", params={"q": QUERY, **more}).text
        return [unescape(link) for link in re.findall(r'<h2><a href="([^"]+)"', page)]


def test_nothing_is_recorded_unless_the_owner_switches_it_on(demo: Path) -> None:
    site = Site(demo / "index", NOTHING)
    assert all(link.startswith("/threads/") for link in site.first_links())
    assert site.client.get("/analytics").status_code == 404
    assert site.client.get("/go", params={"thread": "1", "post": "1", "position": "1"}).status_code == 404
    assert "searches are counted" not in site.client.get("/").text


def test_searches_and_clicks_are_counted(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "searches.analytics"
    site = Site(demo / "index", Operations(analytics=path, minimum_count=2, port=80))
    links = [site.first_links() for _ in range(2)][1]
    assert all(link.startswith("/go?") for link in links)
    answer = site.client.get(links[2])
    assert answer.status_code == 303
    assert re.fullmatch(r"/threads/\d+\?q=proof.*#post-\d+", answer.headers["location"])
    assert answer.headers["cache-control"] == "no-store"
    assert site.client.get(answer.headers["location"].partition("#")[0]).status_code == 200
    site.client.get("/search", params={"q": QUERY, "sort": "votes"})
    site.operated.stop()
    report = read_report(path)
    assert (report.searches, report.clicks) == (3, 1)
    assert [(one.query, one.searches, one.clicks) for one in report.queries] == [(QUERY, 3, 1)]
    assert [one.latex for one in report.formulas] == ["\\sqrt{2}"]
    assert [one.clicks for one in report.positions][:4] == [0, 0, 1, 0]
    assert all(one.impressions == 2 for one in report.positions)
    page = site.client.get("/analytics").text
    assert "irrational" in page
    assert "<msqrt" in page
    assert main(["site", "analytics", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"][0]["clicks"] == 1
    assert main(["site", "analytics", str(path)]) == 0
    assert f"query\t3\tanswers\t{QUERY}\n" in capsys.readouterr().out


def test_a_browser_that_opts_out_is_not_counted(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "searches.analytics"
    site = Site(demo / "index", Operations(analytics=path))
    for header in ("dnt", "sec-gpc"):
        site.client.get("/search", params={"q": QUERY}, headers={header: "1"})
    site.operated.stop()
    assert read_report(path).searches == 0


def test_only_the_operator_sees_the_page(demo: Path, tmp_path: Path) -> None:
    site = Site(demo / "index", Operations(analytics=tmp_path / "searches.analytics", port=80))
    assert site.client.get("/analytics").status_code == 200
    elsewhere = TestClient(site.app, "http://localhost:8100", client=("127.0.0.1", 5000))
    assert elsewhere.get("/analytics").status_code == 404


def test_a_link_leads_only_to_threads(demo: Path, tmp_path: Path) -> None:
    site = Site(demo / "index", Operations(analytics=tmp_path / "searches.analytics"))
    for thread in ("//example.org", "1/../x", "-1"):
        values = {"q": "a", "thread": thread, "post": "1", "position": "1"}
        assert site.client.get("/go", params=values).status_code == 422


def test_a_file_that_cannot_be_written_costs_no_request(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "searches.analytics"
    site = Site(demo / "index", Operations(analytics=path))
    site.first_links()
    for file in tmp_path.iterdir():
        file.unlink()
    path.mkdir()
    site.operated.stop()
    assert site.operated.recorder
    assert site.operated.recorder.dropped == 1
    assert site.first_links()


def test_events_are_written_when_a_server_stops(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "searches.analytics"
    options = ("--workers", "2", "--analytics", str(path), "--analytics-minimum", "1")
    with running(tmp_path / "log", "serve", str(demo / "index"), *options) as server:
        page = server.get("search?q=pythagoras").decode()
        link = re.search(r'<h2><a href="/(go[^"]+)"', page)
        assert link
        assert b"post-" in server.get(unescape(link[1]))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
    report = read_report(path)
    assert [(one.query, one.searches) for one in report.queries] == [("pythagoras", 1)]
