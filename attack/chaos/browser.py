"""A real browser: forged messages to the pages, hostile posts in the widget on another site, hostile streams of a
language model."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from attack.chaos.processes import get, hits, run_command, serving
from attack.chaos.servers import QUERIES
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import build_collection, build_index, write_dump

PAGE_SECONDS = 30.0
# Each would call `pwned()` if it ran.
SCRIPTS = (
    "<script>pwned()</script>",
    "<img src=x onerror=pwned()>",
    "<svg onload=pwned()><script>pwned()</script></svg>",
    '<a href="javascript:pwned()">x</a><iframe srcdoc="<script>parent.pwned()</script>"></iframe>',
    "$\\href{javascript:pwned()}{x}$ $\\text{<img src=x onerror=pwned()>}$",
    "</p></div></section><script src=//127.0.0.1:9/x.js></script><base href=//evil/>",
    "<math><mtext><table><mglyph><style><img src=x onerror=pwned()></style></mglyph></table></mtext></math>",
    '\u2028\u0000data: x\n\nevent: done\ndata: {"html": "<script>pwned()</script>"}\n\n',
    "[1](javascript:pwned()) [[1]] [1, 1e999] [-1] \ud83d\ude00 &lt;script&gt;pwned()&lt;/script&gt;",
)
# Messages that no page of the site sends, and some that look like its own.
MESSAGES = (
    {"porism": "editor", "latex": "pwned"},
    {"porism": "editor", "done": "search", "latex": "pwned"},
    {"porism": "editor", "height": 1e9},
    {"porism": "editor", "ready": True},
    {"porism": "page", "latex": "pwned", "focus": True},
    "pwned",
    None,
    {"porism": {"toString": "pwned"}},
    [1] * 1000,
)


@contextmanager
def browser() -> Iterator[Any]:
    """Run Debian's Chromium for the length of a block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            yield chromium
        finally:
            chromium.close()


def _is_possible(record: Record) -> bool:
    """Return whether there is a browser; else note why the kind is skipped."""
    import importlib.util

    if shutil.which("chromium") and importlib.util.find_spec("playwright"):
        return True
    record.skip("no Chromium or no playwright (apt-get install chromium; extra test)")
    return False


@contextmanager
def listening(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Run an HTTP server of our own on this machine; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with contextlib.suppress(OSError):
                answer(self)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _reply(handler: BaseHTTPRequestHandler, kind: str, text: str) -> None:
    handler.send_response(200)
    handler.send_header("content-type", kind)
    handler.send_header("connection", "close")
    handler.end_headers()
    handler.wfile.write(text.encode("utf-8", "replace"))


def _hostile_site(stage: Stage) -> Path:
    """Return an index whose posts carry scripts."""
    dump = write_dump(stage.folder / "dump")
    index = build_index(build_collection(dump, stage.folder / "collection"), stage.folder / "index")
    lines = stage.folder / "scripts.jsonl"
    posts = [
        {"id": 900 + at, "title": f"binomial {text}"[:900], "body": f"<p>binomial theorem {text}</p>"}
        for at, text in enumerate(SCRIPTS)
    ]
    lines.write_text("".join(json.dumps(post) + "\n" for post in posts), "utf-8")

    def read_lines() -> None:
        import os

        os.dup2(os.open(lines, os.O_RDONLY), 0)

    run_command(["update", str(index), "-"], stage.folder / "log", read_lines)
    return index


class Watched:
    """A page in which every call of `pwned`, dialog and popup is noticed, in all frames."""

    def __init__(self, chromium: Any) -> None:
        from playwright.sync_api import Error

        self.errors = Error
        self.context = chromium.new_context()
        self.calls: list[str] = []
        self.context.expose_function("pwned", lambda *_: self.calls.append("a script ran"))
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PAGE_SECONDS)
        self.page.on("dialog", lambda dialog: (self.calls.append("a dialog"), dialog.dismiss()))

    def check(self) -> None:
        """Raise what was noticed."""
        if self.calls:
            raise Lost(self.calls[0])

    def close(self) -> None:
        """Close the page."""
        self.context.close()


@contextmanager
def watched(chromium: Any) -> Iterator[Watched]:
    """Open a page for the length of a block."""
    page = Watched(chromium)
    try:
        yield page
        page.check()
    finally:
        page.close()


def forge_messages(stage: Stage, record: Record) -> None:
    """Embed the widget and the pages in another site, and send messages to them."""
    if not _is_possible(record):
        return
    index = _hostile_site(stage)
    address = [""]

    def foreign(handler: BaseHTTPRequestHandler) -> None:
        script = f'<script src="{address[0]}/static/widget.js" data-title="#t" data-body="#b"></script>'
        pages = (
            f'<iframe id=f src="{address[0]}/search?q=limit"></iframe><iframe id=e src="{address[0]}/editor"></iframe>'
        )
        _reply(handler, "text/html", f'<input id=t value="binomial theorem"><textarea id=b>x</textarea>{script}{pages}')

    with listening(foreign) as allowed, listening(foreign) as stranger:
        arguments = ("serve", str(index), "--port", "0", "--workers", "1", "--cors", allowed)
        with serving(*arguments) as server, browser() as chromium:
            address[0] = server.address
            for number in range(stage.tries):
                with record.attempt(f"page {number + 1}"), watched(chromium) as page:
                    began = time.monotonic()
                    (_own_page if number % 3 == 0 else _foreign_page)(
                        page, server.address, stranger if number % 3 == 1 else allowed, number % 3 == 2, stage.rng
                    )
                    record.measure(time.monotonic() - began)


def _foreign_page(page: Watched, server: str, site: str, is_allowed: bool, rng: Random) -> None:
    """Open a page of another site with the widget: only a site that is allowed sees it, no script of a post runs, no
    message has an effect."""
    page.page.goto(site)
    page.page.wait_for_selector("iframe[title='Similar questions']")
    page.page.wait_for_load_state("networkidle")
    frames = [frame for frame in page.page.frames if frame.url.startswith(f"{server}/ask-box")]
    if bool(frames) != is_allowed:
        raise Lost(f"the widget is {'shown to a stranger' if frames else 'not shown'}")
    if any(frame.url.startswith((f"{server}/search", f"{server}/editor")) for frame in page.page.frames):
        raise Lost("a page of the site is shown inside another site")
    page.page.evaluate(
        "messages => { for (const frame of document.querySelectorAll('iframe')) for (const one of messages) frame.contentWindow.postMessage(one, '*') }",
        rng.sample(MESSAGES, 5),
    )
    page.page.fill("#t", rng.choice(SCRIPTS)[:200] + " binomial")
    page.page.wait_for_timeout(500)
    with contextlib.suppress(page.errors):  # a frame that is just replaced by the next list
        if any(frame.locator("script").count() for frame in page.page.frames if "/ask-box" in frame.url):
            raise Lost("the widget has a script")


def _own_page(page: Watched, server: str, site: str, _: bool, rng: Random) -> None:
    """Open a search page with the part of the formula editor that listens; a foreign window and the page itself send it
    messages."""
    page.page.goto(f"{server}/search?q=binomial+theorem")
    page.page.evaluate("() => import('/static/editor-panel.js').then(() => 1, () => 0)")
    before = page.page.input_value("#q")
    with page.context.expect_page() as opened:
        page.page.evaluate("site => { window.foreign = window.open(site) }", site)
    other = opened.value
    other.wait_for_load_state()
    other.evaluate("messages => { for (const one of messages) window.opener?.postMessage(one, '*') }", list(MESSAGES))
    page.page.evaluate("messages => { for (const one of messages) window.postMessage(one, '*') }", list(MESSAGES))
    page.page.wait_for_timeout(300)
    if page.page.input_value("#q") != before or "pwned" in page.page.url:
        raise Lost("a forged message changed the page")


class Model:
    """A language model that streams what it should not."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Stream scripts, or an answer that breaks off, never ends, is huge, or is no answer at all."""
        kind = self._rng.choice(("scripts", "scripts", "cut", "huge", "nonsense", "slow", "error"))
        handler.send_response(500 if kind == "error" and self._rng.random() < 0.5 else 200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        for text in self._pieces(kind):
            choice = {"choices": [{"delta": {"content": text}, "finish_reason": None}]}
            line = f"data: {json.dumps(choice)}\n\n" if kind != "nonsense" else f"data: {text}\n\n"
            handler.wfile.write(line.encode("utf-8", "replace"))
            handler.wfile.flush()
            if kind == "slow":
                time.sleep(0.3)
        if kind == "scripts":
            handler.wfile.write(b"data: [DONE]\n\n")

    def _pieces(self, kind: str) -> Iterator[str]:
        for _ in range({"huge": 20_000, "slow": 30}.get(kind, 4)):
            yield self._rng.choice(SCRIPTS) + " It follows [1]. "
            if kind == "huge":
                yield "x" * 10_000


def stream_answers(stage: Stage, record: Record) -> None:
    """Ask questions in a browser while the language model is hostile."""
    if not _is_possible(record):
        return
    index, model = _hostile_site(stage), Model(stage.rng)
    with listening(model.answer) as endpoint:
        options = (
            "--endpoint",
            f"{endpoint}/v1/chat/completions",
            "--endpoint-model",
            "chaos",
            "--endpoint-seconds",
            "5",
        )
        with serving("serve", str(index), "--port", "0", "--workers", "1", *options) as server, browser() as chromium:
            expected = [hits(server.address, query) for query in QUERIES]
            for number in range(stage.tries):
                with record.attempt(f"answer {number + 1}"), watched(chromium) as page:
                    began = time.monotonic()
                    question = quote(f"what is the binomial theorem {number}")
                    page.page.goto(f"{server.address}/search?tab=ask&q={question}")
                    page.page.wait_for_selector("#answer .answer:not(.writing)")
                    page.page.wait_for_function("() => !document.querySelector('.writing')")
                    if page.page.locator(
                        "#answer script, #answer iframe, #answer base, #answer [onerror], #answer [href^=javascript]"
                    ).count():
                        raise Lost("the answer has active content")
                    record.measure(time.monotonic() - began)
                    if [hits(server.address, query) for query in QUERIES] != expected or get(
                        f"{server.address}/health"
                    )[0] != 200:
                        raise Lost("another search is not answered")


KINDS = (
    Kind(
        "forged messages",
        "no script runs, no message from elsewhere has an effect, strangers cannot embed the widget or pages",
        forge_messages,
        0.5,
    ),
    Kind(
        "hostile answer streams",
        "no script runs, the page ends with an answer or the best passage, other searches are answered",
        stream_answers,
        0.5,
    ),
)
