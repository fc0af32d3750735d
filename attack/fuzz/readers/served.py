"""What a server reads: queries, requests, and the index itself, damaged."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import Hashable
from functools import cache
from pathlib import Path

from attack.fuzz.grammar import Grammar
from attack.fuzz.openers import Frame
from attack.fuzz.reader import Reader, Wrong, to_text
from attack.fuzz.readers.text_grammars import HTML
from attack.fuzz.readers.typed_grammars import TYPED, TYPED_TOKENS
from attack.fuzz.request import answer
from attack.small import small_index
from porism.search.engine import Engine
from porism.search.query import read_query
from porism.store import open_store
from porism.text.typed.box import read_box

PROBES = ("why is $a^2+b^2=c^2$ true", "binomial theorem induction")


class _Served:
    """The small index as this process serves it. Threads do not survive a fork, so every process opens it anew."""

    path: Path  # of the index that all processes share
    answers: list[Hashable]  # of the whole index

    def __init__(self) -> None:
        from porism.web.server.app import create_app
        from porism.web.site.settings import RequestLimits, SiteSettings

        logging.disable(logging.CRITICAL)
        self.engine = Engine.open(self.path)
        self.app = create_app(self.engine, SiteSettings(limits=RequestLimits(seconds=60.0)))
        self.loop = asyncio.new_event_loop()


@cache
def _served(process: int) -> _Served:
    return _Served()


def served() -> _Served:
    """Return the server of this process."""
    return _served(os.getpid())


def _prepare(folder: Path) -> None:
    """Build the index, and load all code that answers, so that workers start fast."""
    _Served.path = small_index(folder)
    _Served.answers = _answers(served().engine)
    read_api(b"GET /v1/search?q=limit HTTP\n\n")


def _answers(engine: Engine) -> list[Hashable]:
    """Return the answers to a few queries, for comparison."""
    found: list[Hashable] = []
    for query in PROBES:
        found.append(tuple((hit.id, round(hit.score, 6), str(hit.snippet)) for hit in engine.search(query).hits))
    found.append(tuple((hit.latex, round(hit.score, 6)) for hit in engine.formulas("a^2+b^2").hits))
    return found


def read_queries(data: bytes) -> Hashable:
    """Read a typed query with its operators; search for every fourth one."""
    text = to_text(data)
    box = read_box(text)
    read = read_query(text, "$x$" if len(text) % 3 == 0 else "")
    if len(text) % 4 or len(text) > 2000:
        return bool(box.text), len(box.tags), len(read.formulas).bit_length(), len(read.notes)
    kind = "questions" if len(text) % 8 else "answers"
    results = served().engine.search(text, kind=kind, group=len(text) % 12 == 0)
    for hit in results.hits[:2]:
        served().engine.explain(text, hit.id)
    return len(results.hits), len(results.notes), len(results.suggestions), len(read.formulas)


def read_api(data: bytes) -> Hashable:
    """Answer a request to the search server."""
    return answer(served().app, served().loop, data)


def read_index(data: bytes) -> Hashable:
    """Damage one file of the index, open it, and compare what it answers. Input: number of the file, then what to do to
    its bytes."""
    names = sorted(path.relative_to(_Served.path) for path in _Served.path.rglob("*") if path.is_file())
    choice, kind, at, value = (
        int.from_bytes(data[start : start + 2].ljust(2, b"\0"), "little") for start in (0, 2, 4, 6)
    )
    name = names[choice % len(names)]
    content = bytearray((_Served.path / name).read_bytes())
    if not content:
        return "empty"
    if kind % 3 == 0:
        content[at % len(content)] ^= 1 << (value % 8)
    elif kind % 3 == 1:
        del content[at % len(content) :]
    else:
        place = at % len(content)
        content[place : place + 4] = value.to_bytes(2, "little") * 2
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "damaged.index"
        shutil.copytree(_Served.path, copy, copy_function=os.link)
        (copy / name).unlink()
        (copy / name).write_bytes(bytes(content))
        return name.suffix, kind % 3, verdict(copy)


def verdict(copy: Path) -> str:
    """Open a damaged index and search it: the answers must be those of the whole index, unless `porism store verify`
    reports the damage."""
    engine = Engine.open(copy)
    if _answers(engine) == _Served.answers:
        return "same"
    if not any(one.damages for one in open_store(copy).verify()):
        raise Wrong("another answer, and no damage is reported")
    return "reported"


QUERY: Grammar = {
    **TYPED,
    "start": ("«part»", "«part» «part»", "«part» «start»", '"«part»" «part»', "«operator» «part»"),
    "part": (
        "limit",
        "«expr»",
        "$«expr»$",
        "«words»",
        "«operator»",
        "«odd_text»",
        "«word»",
        "<math><mi>x</mi></math>",
        "\\begin{align}«expr»\\end{align}",
    ),
    "operator": (
        "tag:algebra",
        "-x",
        "user:«odd_text»",
        "is:accepted",
        "after:«number»",
        "before:«number»",
        "tag:",
        "-",
        '-"a b"',
        "is:x",
        "tag:«odd_text»",
    ),
    "word": ("binomal", "teh", "triangle", "inductoin", "proof", "eigen value", "how do I"),
}
API: Grammar = {
    **{name: rules for name, rules in HTML.items() if name not in ("start",)},
    **{name: rules for name, rules in QUERY.items() if name not in ("start", "words")},
    "start": (
        "GET «path»«query» \n\n",
        "GET «path»«query»\n«header»\n\n",
        "«method» «path»«query»\n«header»\n«header»\n\n«odd_text»",
    ),
    "method": ("GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "TRACE", "X"),
    "path": (
        "/v1/search",
        "/v1/formulas",
        "/v1/ask",
        "/v1/explain",
        "/v1/complete",
        "/v1/preview",
        "/v1/formula",
        "/v1/asked",
        "/v1/posts/«number»",
        "/v1/threads/«number»",
        "/v1/health",
        "/v1/openapi.json",
        "/",
        "/search",
        "/formulas",
        "/ask",
        "/posts/«number»",
        "/threads/«number»",
        "/stats",
        "/api",
        "/ask-box",
        "/feed",
        "/export",
        "/opensearch.xml",
        "/static/«odd_text»",
        "/static/../«odd_text»",
        "/«odd_text»",
        "//«odd_text»",
        "/leaderboard",
    ),
    "query": (
        "",
        "?q=«part»",
        "?q=«part»&k=«number»",
        "?q=«part»&offset=«number»&kind=«value»",
        "?q=«part»&mode=«mode»",
        "?q=«part»&id=«number»",
        "?«parameter»=«value»&q=«part»",
        "?title=«part»&body=«nodes»",
        "?q=«part»&q=«part»",
        "?%00=%ff&q=%",
    ),
    "parameter": (
        "tags",
        "from",
        "to",
        "accepted",
        "sort",
        "group",
        "expand",
        "as_words",
        "verbatim",
        "format",
        "id",
        "tab",
        "page",
        "view",
    ),
    "value": ("true", "answers", "«number»", "«odd_text»", "votes", "1900", "x", "", "json", "csv", "bibtex"),
    "mode": ("similar", "exact", "subformula", "diverse", "x"),
    "header": (
        "accept: text/html",
        "x-request-id: «odd_text»",
        "content-length: «number»",
        "transfer-encoding: chunked",
        "cookie: «odd_text»",
        "host: «odd_text»",
        "accept-language: «odd_text»",
        "range: bytes=«number»-«number»",
        "if-modified-since: «odd_text»",
        "origin: http://x",
        "accept-encoding: gzip",
        "if-none-match: «odd_text»",
    ),
}


def _spots() -> list[bytes]:
    """Return a few places to damage."""
    return [
        bytes((number, 0, kind, 0, place, 0, 3, 0))
        for number in (0, 9, 33, 77)
        for kind in range(3)
        for place in (0, 40)
    ]


_QUERIES = (b"why is $a^2+b^2=c^2$ true", b'"binomial theorem" -x tag:algebra', b"lim x->0 sin(x)/x")
READERS = (
    Reader(
        "queries",
        8,
        read_queries,
        QUERY,
        [*TYPED_TOKENS, "tag:", '"', "-", "is:accepted"],
        longest=8_000,
        seeds=lambda: _QUERIES,
        prepare=_prepare,
        start=served,
        block=100,
        frames=(Frame(), Frame("tag:")),
        pumped=20_000,
    ),
    Reader(
        "api",
        12,
        read_api,
        API,
        ["?q=", "&", "=", "%00", "%", "/", "\n", "$", "x", "../"],
        binary=True,
        longest=20_000,
        seeds=lambda: (b"GET /v1/search?q=limit\n\n",),
        prepare=_prepare,
        start=served,
        block=50,
    ),
    Reader("index", 3, read_index, binary=True, longest=8, seeds=_spots, prepare=_prepare, start=served, block=25),
)
