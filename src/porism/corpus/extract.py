"""Finding formulas in a field: a title, a body or a comment.

Two ways. `compat` is the lab's: five patterns in turn over the whole field, anything between two dollar signs. `sensible` reads from
left to right, knows code, tags, `\\$`, prices, `\\(..\\)`, `\\[..\\]` and bare environments. Both number the formulas of a field by
class first (see CLASSES), then from left to right, so ids are not always in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from porism.corpus.html import ENTITY, token, unescape

# What the text around formulas is.
Syntax = Literal["html", "text", "latex"]

# The classes in the order in which their formulas are numbered.
CLASSES = ("span$$", "span$", "span", "$$", "$", "\\[", "\\(", "begin")

DISPLAY_CLASSES = {"span$$", "$$", "\\["}
DISPLAY_ENVIRONMENT = re.compile(r"\\begin\{(?:align|alignat|eqnarray|equation|flalign|gather|multline)\*?\}")

SPAN = '<span class="math-container">'
LAB_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{SPAN}\$\$(.+?)\$\$</span>",
        rf"{SPAN}\$(.+?)\$</span>",
        rf"{SPAN}(.+?)</span>",
        r"\$\$(.+?)\$\$",
        r"\$(.+?)\$",
    )
)

ENVIRONMENTS = "align|alignat|aligned|array|cases|eqnarray|equation|flalign|gather|gathered|multline|split|(?:[bBpvV]|small)?matrix"
BLOCKS = "p|div|li|ul|ol|dl|dt|dd|h[1-6]|pre|code|blockquote|table|tr|td|th|hr|img"

# What a reader meets outside formulas, in HTML and in text. The names say what is done.
OPENERS = rf"""
    (?P<escaped>\\\$)
  | (?P<dollars>\$\$)
  | (?P<dollar>\$)
  | \\(?P<bracket>[\[(])
  | (?P<begin>\\begin\s*\{{(?P<environment>(?:{ENVIRONMENTS})\*?)\}})
"""
HTML = re.compile(
    rf"""(?P<code><(?P<tag>pre|code|script|style|kbd|textarea)\b[^>]*>.*?(?:</(?P=tag)\s*>|$))
  | (?P<span><span\s+class="math-container"[^>]*>)
  | (?P<skip><!--.*?(?:-->|$) | </?[a-zA-Z][^>]*>)
  | {OPENERS}""",
    re.VERBOSE | re.DOTALL,
)
TEXT = re.compile(rf"(?P<code>(?P<ticks>`+)[^`].*?(?P=ticks)) | {OPENERS}", re.VERBOSE | re.DOTALL)
LATEX = re.compile(
    rf"""(?P<code>\\begin\{{(?P<name>verbatim|lstlisting|minted)\*?\}}.*?\\end\{{(?P=name)\*?\}} | \\verb\*?(?P<bar>[^\w\s]).*?(?P=bar)
  | \\\\(?:\[[^\]\n]*\])?)
  | {OPENERS}""",
    re.VERBOSE | re.DOTALL,
)
SYNTAXES = {"html": HTML, "text": TEXT, "latex": LATEX}

BLOCK_TAG = re.compile(rf"</?(?:{BLOCKS})\b", re.IGNORECASE)
INSIDE = re.compile(r"\\.|\$\$?|[{}]", re.DOTALL)
WORDS_GROUP = re.compile(r"\\(?:text\w*|mbox|hbox|mathrm|fbox|tag)\s*\{[^{}]*$")
MATH_SIGN = re.compile(r"[\\^_=+<>]")
LONG_WORD = re.compile(r"(?:^|\s)[^\W\d_]{2,}(?:\s|$)")
EMPHASIS = re.compile(r"</?(?P<name>[a-zA-Z]+)\b[^>]*>")
SPAN_TAG = re.compile(r"<(/?)span\b[^>]*>")
DRESS = (("$$", "$$", "span$$"), ("$", "$", "span$"), ("\\[", "\\]", "span$$"), ("\\(", "\\)", "span$"))
CLOSERS = {"[": "\\]", "(": "\\)"}
MARKDOWN = {"em": "*", "i": "*", "strong": "**", "b": "**"}


@dataclass(frozen=True, slots=True)
class Found:
    """A formula of a field: where it stands, its LaTeX and the class it was found by."""

    start: int
    end: int
    latex: str
    group: int


@dataclass(frozen=True, slots=True)
class Extracted:
    """A field with tokens in place of its formulas; token n stands for formula n. `displayed` are those on a line of their own."""

    text: str
    latex: tuple[str, ...]
    displayed: frozenset[int] = frozenset()


def lab(text: str) -> Extracted:
    """The lab's extraction, defects included."""
    text = text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")
    if text.count("$") < 2:
        return Extracted(text, ())
    latex: list[str] = []

    def take(match: re.Match[str]) -> str:
        if "\ue000" in match[1]:
            return match[0]
        latex.append(unescape(match[1]))
        return token(len(latex) - 1)

    for pattern in LAB_PATTERNS:
        text = pattern.sub(take, text)
    return Extracted(text, tuple(latex))


def sensible(text: str, syntax: Syntax, *, only_spans: bool = False) -> Extracted:
    """Formulas that a reader of the site sees as formulas."""
    found = list(_scan(text, syntax, only_spans))
    order = sorted(range(len(found)), key=lambda at: (found[at].group, at))
    number = {at: n for n, at in enumerate(order)}
    pieces: list[str] = []
    last = 0
    for at, formula in enumerate(found):
        pieces += (text[last : formula.start], token(number[at]))
        last = formula.end
    pieces.append(text[last:])
    displayed = frozenset(number[at] for at, formula in enumerate(found) if _is_displayed(formula))
    return Extracted("".join(pieces), tuple(found[at].latex for at in order), displayed)


def _is_displayed(formula: Found) -> bool:
    return CLASSES[formula.group] in DISPLAY_CLASSES or DISPLAY_ENVIRONMENT.match(formula.latex) is not None


def _scan(text: str, syntax: Syntax, only_spans: bool) -> Iterator[Found]:
    pattern = SYNTAXES[syntax]
    html = syntax == "html"
    at = 0
    while match := pattern.search(text, at):
        formula = None
        if html and match["span"]:
            formula = _span(text, match)
        elif not only_spans:
            formula = _opened(text, match, html)
        if formula is not None and formula.latex.strip():
            yield formula
            at = formula.end
        else:
            at = match.end()


def _span(text: str, match: re.Match[str]) -> Found | None:
    """A math-container; spans inside it (from `\\text` or damage) are followed to their ends."""
    depth = 1
    for tag in SPAN_TAG.finditer(text, match.end()):
        depth += -1 if tag[1] else 1
        if depth == 0:
            inner = _latex(text[match.end() : tag.start()], html=True).strip()
            group = "span"
            for opening, closing, name in DRESS:
                if inner.startswith(opening) and inner.endswith(closing) and len(inner) > len(opening) + len(closing):
                    inner, group = inner[len(opening) : -len(closing)].strip(), name
                    break
            return Found(match.start(), tag.end(), inner, CLASSES.index(group))
    return None


def _opened(text: str, match: re.Match[str], html: bool) -> Found | None:
    """The formula that an opening sign opens, if it does."""
    if match["dollars"]:
        return _closed(text, match, "$$", "$$", html) or _single(text, match.start() + 1, html)
    if match["dollar"]:
        return _single(text, match.start(), html)
    if match["bracket"]:
        return _closed(text, match, CLOSERS[match["bracket"]], "\\" + match["bracket"], html)
    if match["begin"]:
        return _environment(text, match, html)
    return None


def _closed(text: str, match: re.Match[str], closer: str, group: str, html: bool) -> Found | None:
    end = text.find(closer, match.end())
    if end <= match.end() or (html and BLOCK_TAG.search(text, match.end(), end)):
        return None
    return Found(match.start(), end + len(closer), _latex(text[match.end() : end], html), CLASSES.index(group))


def _environment(text: str, match: re.Match[str], html: bool) -> Found | None:
    name = re.escape(match["environment"])
    depth = 1
    for edge in re.finditer(rf"\\(begin|end)\s*\{{{name}\}}", text[match.end() :]):
        depth += 1 if edge[1] == "begin" else -1
        if depth == 0:
            end = match.end() + edge.end()
            if html and BLOCK_TAG.search(text, match.end(), end):
                return None
            return Found(match.start(), end, _latex(text[match.start() : end], html), CLASSES.index("begin"))
    return None


def _single(text: str, start: int, html: bool) -> Found | None:
    """`$..$`: the nearest closing sign, or a later one where the nearest stands inside `\\text{..}`; never a price."""
    limit = len(text)
    if html and (block := BLOCK_TAG.search(text, start)):
        limit = block.start()
    depth = 0
    nearest = 0
    for sign in INSIDE.finditer(text, start + 1, limit):
        if sign[0] in "{}":
            depth += 1 if sign[0] == "{" else -1
        elif sign[0][0] == "$":
            nearest = nearest or sign.start()
            if depth <= 0 or not WORDS_GROUP.search(text, start + 1, sign.start()):
                end = sign.start() if depth <= 0 else nearest
                return _unless_price(text, start, end, html)
            # Inside words a pair of signs is a formula in the formula: go on after it.
    return _unless_price(text, start, nearest, html) if nearest else None


def _unless_price(text: str, start: int, end: int, html: bool) -> Found | None:
    inner = _latex(text[start + 1 : end], html)
    amount = inner[:1].isdigit() and not MATH_SIGN.search(inner)
    if amount and (LONG_WORD.search(inner) or text[end + 1 : end + 2].isdigit()):
        return None
    return Found(start, end + 1, inner, CLASSES.index("$"))


def _latex(inner: str, html: bool) -> str:
    """LaTeX as its author wrote it: line ends are blanks, tags that mark-up made of `*` are undone, entities decoded once."""
    if html and "<" in inner:
        inner = EMPHASIS.sub(
            lambda tag: MARKDOWN.get(tag["name"].lower(), " " if tag["name"].lower() == "br" else ""), inner
        )
    if "&" in inner and ENTITY.search(inner):
        inner = unescape(inner)
    return inner.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").strip()
