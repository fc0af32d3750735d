"""What the settings change on pages, feeds and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import porism
from notes_site import make_notes_index
from porism.search.engine import Engine
from porism.web.server.app import create_app
from porism.web.server.run import Settings
from porism.web.site.reading import read_settings

Open = Callable[..., TestClient]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return porism.open(make_notes_index(tmp_path_factory.mktemp("notes")))


@pytest.fixture
def open_site(engine: Engine) -> Open:
    def client(*assignments: str) -> TestClient:
        site = read_settings(None, assignments).checked()
        return TestClient(create_app(engine, site), base_url="http://localhost")

    return client


def test_title_attribution_and_licence(open_site: Open, engine: Engine) -> None:
    client = open_site(
        "site.title=Ada's <notes>",
        "site.attribution=By Ada Lovelace",
        "posts.licence=CC BY 4.0",
        "posts.licence_url=https://creativecommons.org/licenses/by/4.0/",
        "posts.original_link=https://notes.example/{letter}/{id}",
    )
    home = client.get("/").text
    assert "Ada&#39;s &lt;notes&gt;" in home
    assert "By Ada Lovelace" in home
    id = engine.search("cubes", kind="questions").hits[0].id
    thread = client.get(f"/threads/{id}").text
    assert f'href="https://notes.example/q/{id}"' in thread
    assert thread.count('href="https://creativecommons.org/licenses/by/4.0/"') == 2
    assert f"https://notes.example/q/{id}" in client.get(f"/posts/{id}/cite").text
    assert "· Ada's &lt;notes&gt;</title>" in client.get("/search.atom?q=cubes&tab=questions").text
    assert "<ShortName>Ada's &lt;notes&gt;</ShortName>" in client.get("/opensearch.xml").text


def test_feeds_and_files_use_the_base_url(open_site: Open) -> None:
    client = open_site("site.base_url=https://notes.example")
    assert "https://notes.example/posts/" in client.get("/search.atom?q=cubes&tab=questions").text
    assert "https://notes.example/posts/" in client.get("/export?q=cubes&tab=questions&format=csv").text
    assert "http://localhost" not in client.get("/opensearch.xml").text


def test_the_host_of_the_base_url_is_allowed() -> None:
    site = read_settings(None, ["site.base_url=https://notes.example:8443"]).checked()
    assert "notes.example" in Settings("index", site).hosts


def test_hidden_tabs_and_links_are_not_shown(open_site: Open) -> None:
    client = open_site("pages.tabs=questions,formulas", "pages.menu=search,api")
    page = client.get("/search?q=cubes").text
    assert "<h2><a" in page  # a hit of the first tab
    assert ">Answers</a>" not in page
    assert ">Statistics</a>" not in page
    assert client.get("/search?q=cubes&tab=ask").text.count('aria-current="page">Questions') == 1


def test_the_default_order_is_that_of_the_site(open_site: Open) -> None:
    client = open_site("pages.default_sort=date")
    page = client.get("/search?q=cubes&tab=questions").text
    assert "sort=date" not in page
    assert client.get("/search?q=cubes&tab=questions&sort=relevance").status_code == 200


def test_the_stylesheet_sets_light_and_dark_colours(open_site: Open) -> None:
    client = open_site("theme.accent=#a00000", "dark.accent=hsl(0 80% 80%)")
    assert 'href="/theme.css?' in client.get("/").text
    style = client.get("/theme.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "(prefers-color-scheme: light) { :root { --accent: #a00000; --accent-ink: #ffffff;" in style.text
    assert "(prefers-color-scheme: dark) { :root { --accent: hsl(0 80% 80%); --accent-ink: #10151c;" in style.text
    assert "theme.css" not in open_site().get("/").text


def test_a_logo_is_served_sandboxed(open_site: Open, tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0h9v9'/></svg>")
    client = open_site(f"site.logo={tmp_path / 'logo.svg'}")
    assert '<img src="/logo.svg?' in client.get("/").text
    answer = client.get("/logo.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert client.get("/logo.png").status_code == 404
    assert open_site().get("/logo.svg").status_code == 404
