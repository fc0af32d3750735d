"""Pictures of a collection's own on thread pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.search.engine import Engine
from porism.store import open_content
from porism.store.embedded.build import build_index
from porism.web.server.app import create_app

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "notes").mkdir()
    (folder / "notes" / "curve.svg").write_bytes(SVG)
    (folder / "notes" / "a.md").write_text(
        "# Curves\n\nThe curve $y=x^2$: ![a parabola](curve.svg) ![gone](missing.png) ![far](https://other.example/x.png)\n"
    )
    made = build([open_source(folder / "notes", "")], folder / "collection", jobs=1)
    build_index(open_content(made), folder / "index")
    with TestClient(create_app(Engine.open(folder / "index")), base_url="http://localhost") as client:
        yield client


def test_a_thread_shows_the_collections_own_pictures(client: TestClient) -> None:
    page = client.get("/threads/1").text
    shown = re.search(r'<img src="(/images/[0-9a-f]{64}\.svg)" alt="a parabola" loading="lazy">', page)
    assert shown is not None
    picture = client.get(shown[1])
    assert (picture.content, picture.headers["content-type"]) == (SVG, "image/svg+xml")
    assert "sandbox" in picture.headers["content-security-policy"]
    assert picture.headers["x-content-type-options"] == "nosniff"


def test_other_pictures_are_words(client: TestClient) -> None:
    page = client.get("/threads/1").text
    assert "[picture: gone]" in page
    assert "[picture: far]" in page
    assert page.count("<img") == 1


@pytest.mark.parametrize("name", ["x.png", "0" * 64 + ".svg", "..%2fmanifest.json", "0" * 64 + ".html"])
def test_there_is_no_picture_under_another_name(client: TestClient, name: str) -> None:
    assert client.get(f"/images/{name}").status_code == 404
