"""Finding formulas in a field: a title, a body or a comment.

Two ways. `compat` is the lab's: five patterns in turn over the whole field, anything between two dollar signs. `sensible` reads from
left to right, knows code, tags, `\\$`, prices, `\\(..\\)`, `\\[..\\]`, bare environments and macros that the field defines. Both number
the formulas of a field by class first (see CLASSES), then from left to right, so ids are not always in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from porism.text.codeblocks import Ranges
from porism.text.expand import self_contained
from porism.text.html import ENTITY, token, unescape

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

# These only open and close a formula.
WRAPPERS = ("math", "displaymath")
ENVIRONMENTS = "math|displaymath|align|alignat|aligned|array|cases|eqnarray|equation|flalign|gather|gathered|multline|split|(?:[bBpvV]|small)?matrix"
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

# Bounds that no formula of a person reaches; they keep hostile text from taking time that grows with its square.
LONGEST, DEEPEST, NESTED = 30_000, 100, 8
BLOCK = "<block>"

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


def sensible(text: str, syntax: Syntax, *, only_spans: bool = False, code: Ranges = ()) -> Extracted:
    """Formulas that a reader of the site sees as formulas; `code` are stretches of text that hold none."""
    found = list(_Reader(text, syntax, only_spans, code).found())
    order = sorted(range(len(found)), key=lambda at: (found[at].group, at))
    number = {at: n for n, at in enumerate(order)}
    pieces: list[str] = []
    last = 0
    for at, formula in enumerate(found):
        pieces += (text[last : formula.start], token(number[at]))
        last = formula.end
    pieces.append(text[last:])
    displayed = frozenset(number[at] for at, formula in enumerate(found) if _is_displayed(formula))
    return Extracted("".join(pieces), self_contained([found[at].latex for at in order]), displayed)


def _is_displayed(formula: Found) -> bool:
    return CLASSES[formula.group] in DISPLAY_CLASSES or DISPLAY_ENVIRONMENT.match(formula.latex) is not None


class _Reader:
    """Reads a field from left to right. Positions looked up once are remembered, so that time grows with the length of the text."""

    def __init__(self, text: str, syntax: Syntax, only_spans: bool, code: Ranges) -> None:
        self.text = text
        self.pattern = SYNTAXES[syntax]
        self.html = syntax == "html"
        self.only_spans = only_spans
        self.code = iter((*code, (len(text), len(text))))
        self._nexts: dict[str, tuple[int, int]] = {}

    def found(self) -> Iterator[Found]:
        """All formulas in the order of the text."""
        at = 0
        start, end = next(self.code)
        while match := self.pattern.search(self.text, at):
            if match.start() >= end:
                start, end = next(self.code)
                at = match.start()
                continue
            if match.start() >= start:
                at = end
                continue
            formula = None
            if self.html and match["span"]:
                formula = self._span(match)
            elif not self.only_spans:
                formula = self._opened(match)
            if formula is not None and formula.end <= start and formula.latex.strip():
                yield formula
                at = formula.end
            else:
                at = match.end()

    def _next(self, what: str, start: int) -> int:
        """Where a closing sign, or a tag of a block, stands next; far away where it does not."""
        since, at = self._nexts.get(what, (0, -1))
        if not since <= start <= at:
            block = BLOCK_TAG.search(self.text, start) if what == BLOCK else None
            at = (block.start() if block else -1) if what == BLOCK else self.text.find(what, start)
            at = at if at >= 0 else len(self.text) + LONGEST + 1
            self._nexts[what] = (start, at)
        return at

    def _crosses_block(self, start: int, end: int) -> bool:
        return self.html and self._next(BLOCK, start) < end

    def _latex(self, start: int, end: int) -> str:
        return _latex(self.text[start:end], self.html)

    def _span(self, match: re.Match[str]) -> Found | None:
        """A math-container; spans inside it (from `\\text` or damage) are followed to their ends."""
        depth = 1
        for tag in islice(SPAN_TAG.finditer(self.text, match.end(), match.end() + LONGEST), DEEPEST):
            depth += -1 if tag[1] else 1
            if depth == 0:
                inner, group = _undress(self._latex(match.end(), tag.start()))
                return Found(match.start(), tag.end(), inner, CLASSES.index(group))
        return None

    def _opened(self, match: re.Match[str]) -> Found | None:
        """The formula that an opening sign opens, if it does."""
        if match["dollars"]:
            return self._closed(match, "$$", "$$") or self._single(match.start() + 1)
        if match["dollar"]:
            return self._single(match.start())
        if match["bracket"]:
            return self._closed(match, CLOSERS[match["bracket"]], "\\" + match["bracket"])
        if match["begin"]:
            return self._environment(match)
        return None

    def _closed(self, match: re.Match[str], closer: str, group: str) -> Found | None:
        start = match.end()
        end = self._next(closer, start)
        if not start < end <= start + LONGEST or self._crosses_block(start, end):
            return None
        return Found(match.start(), end + len(closer), self._latex(start, end), CLASSES.index(group))

    def _environment(self, match: re.Match[str]) -> Found | None:
        edges = re.compile(rf"\\(begin|end)\s*\{{{re.escape(match['environment'])}\}}")
        depth = 1
        for edge in islice(edges.finditer(self.text, match.end(), match.end() + LONGEST), DEEPEST):
            depth += 1 if edge[1] == "begin" else -1
            if depth == 0:
                if self._crosses_block(match.end(), edge.end()):
                    return None
                bare = match["environment"] in WRAPPERS
                latex = self._latex(match.end(), edge.start()) if bare else self._latex(match.start(), edge.end())
                return Found(match.start(), edge.end(), latex, CLASSES.index("begin"))
        return None

    def _single(self, start: int) -> Found | None:
        """`$..$`: the nearest closing sign, or a later one where the nearest stands inside `\\text{..}`; never a price."""
        limit = min(start + LONGEST, self._next(BLOCK, start) if self.html else start + LONGEST)
        depth = nearest = signs = 0
        for sign in INSIDE.finditer(self.text, start + 1, limit):
            if sign[0] in "{}":
                depth += 1 if sign[0] == "{" else -1
            elif sign[0][0] == "$":
                nearest = nearest or sign.start()
                signs += 1
                if depth <= 0 or signs > NESTED or not WORDS_GROUP.search(self.text, start + 1, sign.start()):
                    return self._unless_price(start, sign.start() if depth <= 0 else nearest)
                # Inside words a pair of signs is a formula in the formula: go on after it.
        return self._unless_price(start, nearest) if nearest else None

    def _unless_price(self, start: int, end: int) -> Found | None:
        inner = self._latex(start + 1, end)
        amount = inner[:1].isdigit() and not MATH_SIGN.search(inner)
        if amount and (LONG_WORD.search(inner) or self.text[end + 1 : end + 2].isdigit()):
            return None
        return Found(start, end + 1, inner, CLASSES.index("$"))


def _undress(inner: str) -> tuple[str, str]:
    """What stands between the signs of a span, and its class."""
    for opening, closing, name in DRESS:
        if inner.startswith(opening) and inner.endswith(closing) and len(inner) > len(opening) + len(closing):
            return inner[len(opening) : -len(closing)].strip(), name
    return inner, "span"


def _latex(inner: str, html: bool) -> str:
    """LaTeX as its author wrote it: line ends are blanks, tags that mark-up made of `*` are undone, entities decoded once."""
    if html and "<" in inner:
        inner = EMPHASIS.sub(
            lambda tag: MARKDOWN.get(tag["name"].lower(), " " if tag["name"].lower() == "br" else ""), inner
        )
    if "&" in inner and ENTITY.search(inner):
        inner = unescape(inner)
    return inner.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").strip()
