"""An OpenAI-compatible server for tests, as a process of its own. The first part of the path says how it behaves;
/model/ asks a causal model.

python tests/endpoint_server.py [MODEL_DIRECTORY]      prints its port
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LONG = "This sentence is one of many in a very long answer about $x^2$. "
WHOLE = "It is irrational, since $p^2=2q^2$ has no solution [1]. Both would be even [2]. This has no source."
counted: dict[str, int] = {}


class Server(BaseHTTPRequestHandler):
    """Answers POST requests as the first part of the path says."""

    protocol_version = "HTTP/1.1"
    generate: Callable[[str, dict[str, Any]], str] | None = None

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = self.path.split("/")[1]
        counted[name] = counted.get(name, 0) + 1
        try:
            getattr(self, f"be_{name.replace('-', '_')}")(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    # ---------- replies ----------

    def send(self, status: int, data: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def reply(self, body: dict[str, Any], text: str, finish: str = "stop") -> None:
        if body.get("stream"):
            words = text.split(" ")
            return self.stream([word if at == 0 else f" {word}" for at, word in enumerate(words)], finish)
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
        choice |= {"text": text} if "prompt" in body else {"message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 100, "completion_tokens": len(text.split())}
        self.send(200, json.dumps({"choices": [choice], "usage": usage}).encode())

    def stream(self, pieces: list[str], finish: str | None, end: bool = True, pause: float = 0.0) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for line in self.events(pieces, finish, end):
            self.wfile.write(line.encode())
            self.wfile.flush()
            time.sleep(pause)
        self.close_connection = True

    @staticmethod
    def events(pieces: list[str], finish: str | None, end: bool) -> Iterator[str]:
        for piece in pieces:
            yield f"data: {json.dumps({'choices': [{'delta': {'content': piece}, 'finish_reason': None}]})}\n\n"
        if finish:
            yield f"data: {json.dumps({'choices': [{'delta': {}, 'finish_reason': finish}]})}\n\n"
        if end:
            yield "data: [DONE]\n\n"

    # ---------- behaviours ----------

    def be_good(self, body: dict[str, Any]) -> None:
        self.reply(body, WHOLE)

    def be_slow(self, body: dict[str, Any]) -> None:
        time.sleep(0.1)
        self.reply(body, WHOLE)

    def be_slow_words(self, body: dict[str, Any]) -> None:
        if body.get("stream"):
            self.stream([f"{word} " for word in WHOLE.split(" ")], "stop", pause=0.15)
        else:
            self.reply(body, WHOLE)

    def be_echo(self, body: dict[str, Any]) -> None:
        self.reply(body, json.dumps({"key": self.headers.get("authorization", ""), **body}))

    def be_hang(self, body: dict[str, Any]) -> None:
        time.sleep(20)

    def be_drip(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        for _ in range(200):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.1)

    def be_drip_headers(self, body: dict[str, Any]) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for _ in range(200):
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.1)

    def be_fail(self, body: dict[str, Any]) -> None:
        self.send(500, b'{"error": {"message": "out of memory\\u001b[31m"}}')

    def be_refuse(self, body: dict[str, Any]) -> None:
        self.send(401, b'{"error": {"message": "no key"}}')

    def be_busy_once(self, body: dict[str, Any]) -> None:
        if counted["busy-once"] % 2:
            self.send(429, b"busy", "text/plain")
        else:
            self.be_good(body)

    def be_long(self, body: dict[str, Any]) -> None:
        self.reply(body, LONG * 33)

    def be_unfinished(self, body: dict[str, Any]) -> None:
        self.reply(body, "It begins well, but then", "length")

    def be_second_try(self, body: dict[str, Any]) -> None:
        (self.be_long if counted["second-try"] % 2 else self.be_good)(body)

    def be_nonsense(self, body: dict[str, Any]) -> None:
        self.send(200, b"<html>not json")

    def be_other_json(self, body: dict[str, Any]) -> None:
        self.send(200, b'{"choices": [{"message": 7}]}')

    def be_list(self, body: dict[str, Any]) -> None:
        self.send(200, b"[]")

    def be_deep(self, body: dict[str, Any]) -> None:
        self.send(200, b"[" * 100_000)

    def be_empty(self, body: dict[str, Any]) -> None:
        self.reply(body, "")

    def be_redirect(self, body: dict[str, Any]) -> None:
        self.send(307, b"", location="/good/v1/chat/completions")

    def be_huge(self, body: dict[str, Any]) -> None:
        self.send(200, b" " * 1_500_000)

    def be_half_body(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [{"mess')
        self.wfile.flush()
        self.close_connection = True

    def be_half_stream(self, body: dict[str, Any]) -> None:
        self.stream(["It is irrational, since ", "$p^2=2q^2$ has"], None, end=False)

    def be_error_stream(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b'data: {"error": {"message": "the model crashed"}}\n\n')
        self.close_connection = True

    def be_nonsense_stream(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b"data: {oops\n\n")
        self.close_connection = True

    def be_whole_instead(self, body: dict[str, Any]) -> None:
        self.reply({**body, "stream": False}, WHOLE)

    def be_script(self, body: dict[str, Any]) -> None:
        self.reply(body, "<script>alert(1)</script> <img src=x onerror=alert(1)> $\\href{javascript:alert(1)}{x}$ [1].")

    def be_unknown_citation(self, body: dict[str, Any]) -> None:
        self.reply(body, "It is so [1, 77]. And so [99].")

    def be_grade(self, body: dict[str, Any]) -> None:
        self.reply(body, "Grade: 2\nReason: It shows the way.")

    def be_grade_on_second_try(self, body: dict[str, Any]) -> None:
        if counted["grade-on-second-try"] % 2:
            self.reply(body, "I think that this is rather good: 3")
        else:
            self.be_grade(body)

    def be_three_grades(self, body: dict[str, Any]) -> None:
        if counted["three-grades"] > 3:
            self.reply(body, "Grade: 4\nReason: There is no such grade.")
        else:
            self.be_grade(body)

    def be_model(self, body: dict[str, Any]) -> None:
        assert self.generate is not None
        prompt = body["prompt"] if "prompt" in body else "\n".join(one["content"] for one in body["messages"])
        self.reply(body, self.generate(prompt, body))

    def log_message(self, *_: object) -> None:
        return


def causal(directory: str) -> Callable[[str, dict[str, Any]], str]:
    """Return a function that continues prompts with the causal model of a directory."""
    from porism.models.causal import CausalGenerator, GenerationSettings
    from porism.models.directory import ModelDirectory

    model = CausalGenerator(ModelDirectory.open(directory))

    def generate(prompt: str, body: dict[str, Any]) -> str:
        tokens = min(int(body.get("max_tokens", 40)), model.length // 2)
        return model.generate(prompt, GenerationSettings(tokens, float(body.get("temperature", 0.7))))

    return generate


def main() -> None:
    if len(sys.argv) > 1:
        Server.generate = staticmethod(causal(sys.argv[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
