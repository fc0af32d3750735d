"""Formulas in a real browser under the content policy of the pages: the positions of their symbols."""

from __future__ import annotations

import html
import threading
import time
import unicodedata
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

import pytest
import uvicorn
from playwright.sync_api import sync_playwright
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from chromium import chromium, free_port
from porism.web.http.middleware import RequestMiddleware
from porism.web.pages.page import formula

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("search-browser")]

# LaTeX, and what must hold: `a ^ b` a is above b, `a < b` a is left of b, `a [ b` they start at the same position, `a ]
# b` they end at the same position, `a = b` they are on one line. A symbol that occurs several times is numbered: x2 is
# the second x.
CONSTRUCTS = (
    (r"\frac{a}{b}", "a ^ b"),
    (r"\frac{1+a}{2}", "1 ^ 2; a ^ 2; 1 < a"),
    (r"\frac{1}{1+\frac{p}{q}}", "p ^ q; 1 ^ p"),
    (r"\dfrac{a}{b}+c", "a ^ b; b < c"),
    (r"x^n", "x < n; n ^ x~"),
    (r"x_n", "x < n; x ^ n~"),
    (r"x_i^n", "n ^ i; x < i"),
    (r"x^{y^z}", "z ^ y~; y ^ x~"),
    (r"\binom{n}{k}", "n ^ k"),
    (r"{n \choose k}", "n ^ k"),
    (r"\sqrt{a}+b", "a < b; a = b"),
    (r"\sqrt{a}b", "a < b; a = b"),
    (r"\sqrt[n]{a}b", "n < a; n ^ a~; a < b"),
    (r"\sqrt{\frac{a}{b}}+c", "a ^ b; b < c"),
    (r"\sqrt{x^2+y^2}z", "y < z"),
    (r"\sqrt{(a)^n}b", "n < b"),
    (r"\begin{aligned} a &= b \\ ccc &= d\end{aligned}", "a ] c3; b [ d; a ^ c1; = [ =2"),
    (r"\begin{align*} a+b &= p \\ &= q+r\end{align*}", "= [ =2; p [ q; p ^ q"),
    (r"\begin{eqnarray} a &=& b \\ &=& dd\end{eqnarray}", "= [ =2"),
    (r"\begin{align} x &= 1 & y &= 2 \\ z &= 3 & w &= 4\end{align}", "x ] z; y ] w; 1 < y"),
    (r"\begin{cases} a & x>0 \\ bbb & y\end{cases}", "a [ b1; x [ y; a ^ b1; b3 < y"),
    (r"\begin{cases}x+y=1\\x-y=2\end{cases}", "x [ x2; 1 ^ 2"),
    (r"\begin{array}{lcr} a&b&c\\ dddd&eeee&ffff\end{array}", "a [ d1; c ] f4; a ^ d1"),
    (r"\begin{array}{r|l} a&b\\ ddd&eee\end{array}", "a ] d3; b [ e1"),
    (r"\begin{pmatrix} a & b \\ c & d\end{pmatrix}", "a ^ c; b ^ d; a < b; c < d; a = b"),
    (r"\begin{bmatrix} a & b \\ c & d\end{bmatrix}", "a ^ c; b ^ d"),
    (r"\begin{vmatrix} a & b \\ c & d\end{vmatrix}", "a ^ c; a < b"),
    (r"\begin{smallmatrix} a & b \\ c & d\end{smallmatrix}", "a ^ c; a < b"),
    (r"\left[\begin{array}{cc|c}1&2&3\\4&5&6\end{array}\right]", "1 ^ 4; 2 < 3; 3 ^ 6"),
    (r"\left\{\begin{array}{l}a=1\\bb=22\end{array}\right.", "a [ b1; a ^ b1"),
    (r"\begin{gather} a \\ b\end{gather}", "a ^ b"),
    (r"\substack{a\\b}", "a ^ b"),
    (r"\begin{aligned} a &= b \\[7pt] &= c\end{aligned}", "= [ =2; b [ c"),
    (r"\displaystyle\sum_{k=1}^{n} a", "n ^ ∑; ∑ ^ k; ∑ < a"),
    (r"\sum_{k=1}^{n} a", "n ^ k; k < a"),
    (r"\displaystyle\lim_{x\to 0} f", "lim ^ x; lim < f"),
    (r"\int_a^b f\,dx", "b ^ a; b < f; f < x"),
    (r"\displaystyle\prod_{i}^{n} p", "n ^ i"),
    (r"\overline{ab}", "‾ ^ a~; a < b"),
    (r"\underline{a}", "a ^ _~"),
    (r"\hat{a}", "ˆ ^ a~"),
    (r"\widehat{abc}", "ˆ ^ b~"),
    (r"\vec{v}", "⃗ ^ v~"),
    (r"\overbrace{a+b}^{n}", "n ^ a"),
    (r"\underbrace{a+b}_{n}", "a ^ n"),
    (r"\overset{a}{=}", "a ^ ="),
    (r"\underset{a}{=}", "= ^ a"),
    (r"\stackrel{d}{\to}", "d ^ →"),
    (r"f'(x)", "f < x"),
    (r"a\bmod b", "a < mod; mod < b; a = b"),
    (r"\boxed{a}+b", "a < b; a = b"),
    (r"\left(\frac{a}{b}\right)^n", "a ^ b; b < n"),
    (r"\left.\frac{a}{b}\right|_{c}", "a ^ b; b < c"),
    (r"{}_pF_q", "p < F; F < q"),
    (r"a\quad b", "a < b; a = b"),
    (r"\cancel{a}b", "a < b"),
    (r"\color{red}{a}+b", "a < b"),
    (r"x^2\qvar@construct{$}\par", "x < 2"),
    (r"\@@eqnarray$\displaystyle a$&$\displaystyle =$&$\displaystyle b$\\ $\displaystyle $&$\displaystyle =$&$\displaystyle c$", "= [ =2; b [ c"),
)  # fmt: skip
PAGE = '<!doctype html><html><head><link rel="stylesheet" href="/static/math.css"><link rel="stylesheet" href="/static/porism.css"></head><body>{}</body></html>'
SYMBOLS = """() => [...document.querySelectorAll("p")].map(p => [...p.querySelectorAll("mi, mn, mo, mtext")]
  .map(e => { const r = e.getBoundingClientRect(); return [e.textContent, r.left, r.top, r.right, r.bottom]; }))"""


class Box(NamedTuple):
    """The box of a symbol."""

    left: float
    top: float
    right: float
    bottom: float


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Serve a page of all constructs with the stylesheets and the headers of the search pages."""

    async def page(request: Request) -> HTMLResponse:
        shown = (f"<p title='{html.escape(latex)}'>{formula(latex)}</p>" for latex, _ in CONSTRUCTS)
        return HTMLResponse(PAGE.format("".join(shown)))

    static = StaticFiles(directory=str(files("porism.web") / "static"))
    app = Starlette(routes=[Route("/", page), Mount("/static", static)], middleware=[Middleware(RequestMiddleware)])
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def split_symbols(text: str, box: list[float]) -> list[tuple[str, Box]]:
    """Return the letters of a symbol of several letters such as `ddd`, each with an equal share of its width."""
    plain = unicodedata.normalize("NFKC", text) if text.strip("ˆ̲⃗‾") else text
    if len(plain) < 2 or len(set(plain)) > 1:
        return [(plain, Box(*box))]
    step = (box[2] - box[0]) / len(plain)
    return [(sign, Box(box[0] + n * step, box[1], box[0] + (n + 1) * step, box[3])) for n, sign in enumerate(plain)]


def boxes_by_name(symbols: list[list[object]]) -> dict[str, Box]:
    """Name the symbols: `x` and `x1` are the first x, `x2` is the second."""
    found: dict[str, Box] = {}
    counts: dict[str, int] = {}
    for text, *box in symbols:
        for sign, place in split_symbols(str(text), box):  # type: ignore[arg-type]
            counts[sign] = counts.get(sign, 0) + 1
            found.setdefault(sign, place)
            found[f"{sign}{counts[sign]}"] = place
    return found


def middle(box: Box) -> float:
    return (box.top + box.bottom) / 2


def holds(first: Box, relation: str, second: Box, loosely: bool) -> bool:
    """Return whether a relation holds; loosely, `above` compares the middles only."""
    if relation == "^":
        return middle(first) < middle(second) - 1 if loosely else first.bottom <= second.top + 6
    if relation == "<":
        return first.right <= second.left + 1.5 and first.left < second.left
    if relation == "=":
        return abs(first.bottom - second.bottom) < 6
    return abs(first.left - second.left) < 1 if relation == "[" else abs(first.right - second.right) < 1


def test_symbols_of_constructs_are_where_they_belong(site: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert len(CONSTRUCTS) >= 50
    violations: list[str] = []
    with sync_playwright() as playwright, chromium(playwright, tmp_path_factory.mktemp("profile")) as browser:
        page = browser.context(color_scheme="light").new_page()
        page.on("console", lambda message: violations.append(message.text))
        page.goto(site)
        page.evaluate("document.fonts.ready.then(() => true)")
        measured = page.evaluate(SYMBOLS)
    wrong = []
    for (latex, checks), symbols in zip(CONSTRUCTS, measured, strict=True):
        boxes = boxes_by_name(symbols)
        for check in checks.split("; "):
            left, relation, right = check.split(" ")
            name = right.removesuffix("~")
            if left not in boxes or name not in boxes:
                wrong.append(f"{latex}: no {left} or {name} among {sorted(boxes)}")
            elif not holds(boxes[left], relation, boxes[name], right.endswith("~")):
                wrong.append(f"{latex}: {check}: {boxes[left]} {boxes[name]}")
    assert not wrong, "\n".join(wrong)
    assert not [text for text in violations if "Content Security Policy" in text]
