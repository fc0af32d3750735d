"""Generated answers, from a real endpoint on this machine that answers as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from porism.search.display.results import Extract, Segment
from porism.search.generate import Endpoint, generated

FOUND = Extract("Because $2q^2=p^2$.", (Segment("text", "Because "), Segment("formula", "2q^2=p^2")), (), 0.01)


class Model(BaseHTTPRequestHandler):
    reply: Any = None
    asked: ClassVar[dict[str, Any]] = {}
    key = ""

    def do_POST(self) -> None:
        type(self).asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).key = self.headers.get("authorization", "")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(self.reply).encode())

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Endpoint(f"http://127.0.0.1:{server.server_port}/v1/chat/completions", "tiny", key="secret")
    server.shutdown()


def said(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}}]}


def test_the_model_is_shown_the_passage_and_marked(endpoint: Endpoint) -> None:
    Model.reply = said("It is irrational since $p^2=2q^2$ is impossible.")
    answer = generated(endpoint, "why is $\\sqrt2$ irrational?", FOUND)
    assert answer.generated
    assert answer.text == "It is irrational since $p^2=2q^2$ is impossible."
    assert [piece.kind for piece in answer.segments] == ["text", "formula", "text"]
    assert FOUND.text in Model.asked["messages"][1]["content"]
    assert (Model.asked["model"], Model.key) == ("tiny", "Bearer secret")


def test_a_long_answer_is_cut_between_formulas(endpoint: Endpoint) -> None:
    Model.reply = said("word " * 230 + "$" + "x+" * 100 + "1$ and more")
    answer = generated(endpoint, "q", FOUND)
    assert len(answer.text) <= 1200
    assert answer.text.count("$") % 2 == 0


@pytest.mark.parametrize("reply", [{"error": "busy"}, [], said(""), None])
def test_a_reply_without_text_falls_back_to_the_passage(endpoint: Endpoint, reply: Any) -> None:
    Model.reply = reply
    answer = generated(endpoint, "q", FOUND)
    assert (answer.text, answer.generated) == (FOUND.text, False)


def test_an_endpoint_that_is_not_there_is_told() -> None:
    answer = generated(Endpoint("http://127.0.0.1:9/", "tiny", seconds=1), "q", FOUND)
    assert answer.text == FOUND.text
    assert not answer.generated
    assert answer.notes[-1].startswith("the model did not answer (")
