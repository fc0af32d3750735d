"""Generated answers on the Ask tab: a stream for scripts, a whole page without them, safe HTML, the passage where the
model fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import porism
from endpoints import endpoint_server
from porism.cli import main
from porism.search.engine import Engine
from porism.search.generation.endpoint import Endpoint
from porism.web.pages.search import Generations
from porism.web.server.app import create_app

QUESTION = "why is $\\sqrt{2}$ irrational?"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with endpoint_server() as url:
        yield url


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


@pytest.fixture
def client(engine: Engine) -> Iterator[TestClient]:
    app = create_app(engine, hosts=["testserver"])
    with TestClient(app) as made:
        yield made
    engine.endpoint = None


def use(engine: Engine, server: str, behaviour: str, seconds: float = 5.0) -> None:
    engine.endpoint = Endpoint(f"{server}/{behaviour}/v1/chat/completions", "tiny", seconds=seconds)


def events(client: TestClient) -> list[tuple[str, dict[str, Any]]]:
    answer = client.get("/ask/stream", params={"q": QUESTION})
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.split("\n\n") if block]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def test_an_answer_is_streamed_sentence_by_sentence(client: TestClient, engine: Engine, server: str) -> None:
    use(engine, server, "good")
    found = events(client)
    sentences = [data["html"] for name, data in found if name == "sentence"]
    assert 'href="#source-1"' in sentences[0]
    assert "<math" in sentences[0]
    assert any(name == "unfinished" and data["text"] for name, data in found)
    name, last = found[-1]
    assert name == "done"
    assert last["html"].count('class="sentence') == 3
    assert last["html"].count('class="no-source"') == 1
    assert 'id="source-5"' in last["html"]


def test_the_page_loads_the_stream_or_has_the_whole_answer(client: TestClient, engine: Engine, server: str) -> None:
    use(engine, server, "good")
    page = client.get("/search", params={"q": QUESTION, "tab": "ask"}).text
    assert 'data-stream="/ask/stream?q=why' in page
    assert '<noscript><meta http-equiv="refresh" content="0; url=/search?' in page
    assert "The best passage found" in page
    whole = client.get("/search", params={"q": QUESTION, "tab": "ask", "whole": "true"}).text
    assert "data-stream" not in whole
    assert "Written by a language model" in whole
    assert whole.count('class="no-source"') == 1
    assert "whole=true" not in whole.split('class="tabs"')[1].split("</nav>")[0]
    assert "script-src 'self'" in client.get("/").headers["content-security-policy"]


def test_without_an_endpoint_the_extract_stays(client: TestClient, engine: Engine) -> None:
    page = client.get("/search", params={"q": QUESTION, "tab": "ask", "whole": "true"}).text
    assert "The best passage found" in page
    assert "data-stream" not in client.get("/search", params={"q": QUESTION, "tab": "ask"}).text
    assert [name for name, _ in events(client)] == ["done"]


@pytest.mark.parametrize("behaviour", ["fail", "half-stream", "nonsense-stream", "redirect", "hang"])
def test_a_failing_model_leaves_the_passage(client: TestClient, engine: Engine, server: str, behaviour: str) -> None:
    use(engine, server, behaviour, 0.5 if behaviour == "hang" else 5)
    name, last = events(client)[-1]
    assert name == "done"
    assert "The best passage found" in last["html"]
    assert "the language model did not answer" in last["html"]
    page = client.get("/search", params={"q": QUESTION, "tab": "ask", "whole": "true"})
    assert page.status_code == 200
    assert "The best passage found" in page.text


def test_what_a_model_writes_cannot_run(client: TestClient, engine: Engine, server: str) -> None:
    use(engine, server, "script")
    pages = [data.get("html", "") for _, data in events(client)]
    pages.append(client.get("/search", params={"q": QUESTION, "tab": "ask", "whole": "true"}).text)
    for page in filter(None, pages):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert 'href="javascript' not in page
        assert " style=" not in page


def test_one_answer_too_many_gets_the_passage(client: TestClient, engine: Engine, server: str) -> None:
    use(engine, server, "good")
    client.app.state.generations = Generations(0)  # type: ignore[attr-defined]
    assert "it is writing other answers" in events(client)[-1][1]["html"]
    assert (
        "Written by a language model"
        not in client.get("/search", params={"q": QUESTION, "tab": "ask", "whole": "1"}).text
    )


def test_the_api_says_which_sentences_have_sources(client: TestClient, engine: Engine, server: str) -> None:
    use(engine, server, "good")
    data = client.get("/v1/ask", params={"q": QUESTION}).json()["data"]
    assert data["generated"]
    assert [sentence["cited"] for sentence in data["sentences"]] == [[1], [2], []]
    plain = client.get("/v1/ask", params={"q": QUESTION, "generate": "false"}).json()["data"]
    assert not plain["generated"]


def test_the_command_marks_sentences_without_a_source(
    demo: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"{server}/good/v1/chat/completions"
    assert main(["ask", str(demo / "index"), QUESTION, "--endpoint", address]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "It is irrational, since $p^2=2q^2$ has no solution. [1]"
    assert lines[2] == "This has no source. [no source]"
    assert lines[3].startswith("source [1]: ")
    assert main(["ask", str(demo / "index"), QUESTION, "--endpoint", f"{server}/fail/v1/chat/completions"]) == 0
    assert "the language model did not answer" in capsys.readouterr().err
