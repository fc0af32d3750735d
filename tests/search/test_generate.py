"""Generated answers, from a real HTTP endpoint with prepared replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from porism.search.display.results import Extract, HighlightedSegment
from porism.search.generate import Endpoint, generate_answer

SEGMENTS = (HighlightedSegment("text", "Because "), HighlightedSegment("formula", "2q^2=p^2"))
PASSAGE = Extract("Because $2q^2=p^2$.", SEGMENTS, (), 0.01)


class Model(BaseHTTPRequestHandler):
    reply: Any = None
    last_request: ClassVar[dict[str, Any]] = {}
    key = ""

    def do_POST(self) -> None:
        type(self).last_request = json.loads(self.rfile.read(int(self.headers["content-length"])))
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


def reply(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}}]}


def test_the_model_reads_the_passage_and_its_answer_is_marked(endpoint: Endpoint) -> None:
    Model.reply = reply("It is irrational since $p^2=2q^2$ is impossible.")
    answer = generate_answer(endpoint, "why is $\\sqrt2$ irrational?", PASSAGE)
    assert answer.generated
    assert answer.text == "It is irrational since $p^2=2q^2$ is impossible."
    assert [piece.kind for piece in answer.segments] == ["text", "formula", "text"]
    assert PASSAGE.text in Model.last_request["messages"][1]["content"]
    assert (Model.last_request["model"], Model.key) == ("tiny", "Bearer secret")


def test_a_long_answer_is_cut_between_formulas(endpoint: Endpoint) -> None:
    Model.reply = reply("word " * 230 + "$" + "x+" * 100 + "1$ and more")
    answer = generate_answer(endpoint, "q", PASSAGE)
    assert len(answer.text) <= 1200
    assert answer.text.count("$") % 2 == 0


@pytest.mark.parametrize("reply", [{"error": "busy"}, [], reply(""), None])
def test_a_reply_without_text_falls_back_to_the_passage(endpoint: Endpoint, reply: Any) -> None:
    Model.reply = reply
    answer = generate_answer(endpoint, "q", PASSAGE)
    assert (answer.text, answer.generated) == (PASSAGE.text, False)


def test_an_unreachable_endpoint_gives_the_passage_and_a_note() -> None:
    answer = generate_answer(Endpoint("http://127.0.0.1:9/", "tiny", seconds=1), "q", PASSAGE)
    assert answer.text == PASSAGE.text
    assert not answer.generated
    assert answer.notes[-1].startswith("the language model did not answer (")
