"""Finding formulas in a field: a title, a body or a comment.

The text is read from left to right, with knowledge of code, tags, `\\$`, prices, `\\(..\\)`, `\\[..\\]`, environments
without dollar signs and macros that the field defines. Formulas of a field are numbered by class first (see CLASSES),
as the lab does, then from left to right; so ids are not always in the order of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Literal
from unicodedata import normalize

from porism.formula.latex.editable import EditableLatex
from porism.formula.latex.macros import DEFINES, Budget, Macros, definitions, expand_macros
from porism.text import markup
from porism.text.segment import Text

Ranges = tuple[tuple[int, int], ...]

# A text without any of these has no code block and need not be parsed.
HINT = re.compile(r"^(?: {4}|\t)|```|~~~|<(?:pre|script|style|textarea)\b", re.MULTILINE | re.IGNORECASE)
RAW = ("<pre", "<script", "<style", "<textarea")
# Lines as Markdown defines them.
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def code_blocks(text: str) -> Ranges:
    """Return start and end of each code block, in order; indented text of a list is not code."""
    if not HINT.search(text):
        return ()
    from markdown_it import MarkdownIt

    starts = [0, *accumulate(len(line) for line in LINE.findall(text))]
    return tuple(
        (starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)])
        for token in MarkdownIt("commonmark").parse(text)
        if token.map
        and (
            token.type in ("fence", "code_block")
            or (token.type == "html_block" and token.content.lstrip().lower().startswith(RAW))
        )
    )


# What the text around formulas is.
Syntax = Literal["html", "text", "latex", "query"]
# Which formulas are looked for: all, or only official spans.
Scope = Literal["all", "spans"]

# The classes in the order in which their formulas are numbered. A formula in a span has the class of the signs inside
# it.
CLASSES = ("span$$", "span$", "span", "$$", "$", "\\[", "\\(", "begin")
SPAN_CLASS = {"$$": "span$$", "$": "span$", "\\[": "span$$", "\\(": "span$", "": "span"}
DISPLAY_CLASSES = {"span$$", "$$", "\\["}

BLOCKS = "p|div|li|ul|ol|dl|dt|dd|h[1-6]|pre|code|blockquote|table|tr|td|th|hr|img"

# What can open a formula, in HTML and in text. The names of the groups say what is done.
BEGIN = rf"(?P<begin>\\begin\s*\{{(?P<environment>(?:{'|'.join(markup.ENVIRONMENTS)})\*?)\}})"
OPENERS = rf"""
    (?P<escaped>\\\$)
  | (?P<dollars>\$\$)
  | (?P<dollar>\$)
  | \\(?P<bracket>[\[(])
  | {BEGIN}
"""
HTML = re.compile(
    rf"""(?P<code><(?P<tag>pre|code|script|style|kbd|textarea)\b[^>]*>.*?(?:</(?P=tag)\s*>|$))
  | (?P<span>{markup.MATH_OPEN})
  | (?P<skip><!--.*?(?:-->|$) | </?[a-zA-Z][^>]*>)
  | {OPENERS}""",
    re.VERBOSE | re.DOTALL,
)
# Possessive and bounded: a long run of ticks is not tried in parts.
TEXT = re.compile(rf"(?P<code>(?P<ticks>`{{1,32}}+)[^`].*?(?P=ticks)) | {OPENERS}", re.VERBOSE | re.DOTALL)
LATEX = re.compile(
    rf"""(?P<verbatim>\\begin\{{(?P<name>verbatim|lstlisting|minted)\*?\}})
  | (?P<code>\\verb\*?(?P<bar>[^\w\s])[^\n]{{0,500}}?(?P=bar) | \\\\(?:\[[^\]\n]{{0,100}}\])?)
  | {OPENERS}""",
    re.VERBOSE | re.DOTALL,
)
# A query is text that may hold pasted HTML of a post; there are no rules for code, since nobody searches for it.
QUERY = re.compile(rf"(?P<span>{markup.MATH_OPEN}) | {OPENERS}", re.VERBOSE | re.DOTALL)
SYNTAXES = {"html": HTML, "text": TEXT, "latex": LATEX, "query": QUERY}

NESTED = 8  # dollar signs inside words of a formula
BLOCK = "<block>"

BLOCK_TAG = re.compile(rf"</?(?:{BLOCKS})\b", re.IGNORECASE)
INSIDE = re.compile(r"\\.|\$\$?|[{}]", re.DOTALL)
WORDS_GROUP = re.compile(r"\\(?:text\w*|mbox|hbox|mathrm|fbox|tag)\s*\{[^{}]*$")
MATH_SIGN = re.compile(r"[\\^_=+<>]")
LONG_WORD = re.compile(r"(?:^|\s)[^\W\d_]{2,}(?:\s|$)")
EMPHASIS = re.compile(r"</?(?P<name>[a-zA-Z]+)\b[^<>]*>")
CLOSERS = {"[": "\\]", "(": "\\)"}
MARKDOWN = {"em": "*", "i": "*", "strong": "**", "b": "**", "br": " "}


@dataclass(frozen=True, slots=True)
class DelimitedFormula:
    """A formula in a field: its position, its LaTeX and the class of its delimiters."""

    start: int
    end: int
    latex: str
    group: int


@dataclass(frozen=True, slots=True)
class Extracted:
    """A field with a placeholder in place of each formula, numbered in the order of `latex`.

    `displayed` holds the numbers of the formulas on a line of their own. `unexpanded` formulas use macros that would
    write too much."""

    text: str
    latex: tuple[str, ...]
    displayed: frozenset[int] = frozenset()
    unexpanded: int = 0


def find_formulas(text: str, syntax: Syntax, scope: Scope = "all", code: Ranges = (), first: int = 0) -> Extracted:
    """Cut out the formulas that a reader of the site sees as formulas; `code` are ranges of the text without any.

    Placeholders are numbered from `first`, for a text that already has some."""
    found = list(formula_matches(text, syntax, scope, code))
    order = sorted(range(len(found)), key=lambda at: (found[at].group, at))
    number = {at: n for n, at in enumerate(order, first)}
    pieces: list[str] = []
    last = 0
    for at, formula in enumerate(found):
        pieces += (text[last : formula.start], markup.placeholder(number[at]))
        last = formula.end
    pieces.append(text[last:])
    displayed = frozenset(
        number[at]
        for at, formula in enumerate(found)
        if CLASSES[formula.group] in DISPLAY_CLASSES or markup.DISPLAY_ENVIRONMENT.match(formula.latex)
    )
    budget = Budget(len(text))
    latex = tuple(found[at].latex for at in order)
    if scope == "all":  # a reader of documents, which marks formulas by spans, has expanded their macros
        latex = self_contained(latex, budget)
    return Extracted("".join(pieces), latex, displayed, budget.refused)


def formula_matches(text: str, syntax: Syntax, scope: Scope = "all", code: Ranges = ()) -> Iterator[DelimitedFormula]:
    """Yield the formulas of a text in order of position."""
    return _FieldReader(text, syntax, scope, code).matches()


class _FieldReader:
    """Reads a field from left to right; what it has looked up is kept, so time grows linearly."""

    def __init__(self, text: str, syntax: Syntax, scope: Scope, code: Ranges) -> None:
        self.text = text
        self.pattern = SYNTAXES[syntax]
        self.searched = markup.without_open_tags(text) if syntax == "html" else text
        self.html = syntax == "html"
        self.has_spans = "span" in self.pattern.groupindex
        self.has_verbatim = "verbatim" in self.pattern.groupindex
        self.scope = scope
        self.code = iter((*code, (len(text), len(text))))
        self._nexts: dict[str, tuple[int, int]] = {}

    def matches(self) -> Iterator[DelimitedFormula]:
        """Yield all formulas in the order of the text."""
        at = 0
        start, end = next(self.code)
        while match := self.pattern.search(self.searched, at):
            if match.start() >= end:
                start, end = next(self.code)
                at = match.start()
                continue
            if match.start() >= start:
                at = end
                continue
            formula = self._formula(match)
            if (
                formula is not None
                and formula.end <= start
                and formula.latex.strip()
                and markup.OPEN not in self.text[formula.start : formula.end]  # none of it was cut out before
            ):
                yield formula
                at = formula.end
                continue
            at = match.end()
            if self.has_verbatim and match["verbatim"]:  # read on behind the whole of an environment of code
                closed = self._next(closing := f"\\end{{{match['name']}", at)
                at = closed + len(closing) if closed < len(self.text) else at

    def _next(self, what: str, start: int) -> int:
        """Return the next position of a closing sign, or of a tag of a block; beyond the text if there is none."""
        since, at = self._nexts.get(what, (0, -1))
        if not since <= start <= at:
            block = BLOCK_TAG.search(self.text, start) if what == BLOCK else None
            at = (block.start() if block else -1) if what == BLOCK else self.text.find(what, start)
            at = at if at >= 0 else len(self.text) + markup.LONGEST + 1
            self._nexts[what] = (start, at)
        return at

    def _crosses_block(self, start: int, end: int) -> bool:
        return self.html and self._next(BLOCK, start) < end

    def _latex(self, start: int, end: int) -> str:
        """Return LaTeX as its author wrote it: line ends are blanks, tags that Markdown made of `*` are undone,
        entities decoded once."""
        inner = self.text[start:end]
        if self.html and "<" in inner:
            inner = EMPHASIS.sub(lambda tag: MARKDOWN.get(tag["name"].lower(), ""), inner)
        return one_line(markup.decode_latex(inner)).strip()

    def _formula(self, match: re.Match[str]) -> DelimitedFormula | None:
        """Return the formula that an opening sign opens, if it does, and if it is one of those that are looked for."""
        if self.has_spans and match["span"]:  # spans inside it (from `\\text` or damage) belong to it
            edge = markup.span_end(self.text, match.end(), markup.LONGEST)
            if edge is None:
                return None
            latex, opening, _ = markup.undress(self._latex(match.end(), edge.start()))
            return DelimitedFormula(match.start(), edge.end(), latex, CLASSES.index(SPAN_CLASS[opening]))
        if self.scope != "all":
            return None
        if match["dollars"]:
            return self._closed(match, "$$", "$$") or self._single(match.start() + 1)
        if match["dollar"]:
            return self._single(match.start())
        if match["bracket"]:
            return self._closed(match, CLOSERS[match["bracket"]], "\\" + match["bracket"])
        if match["begin"]:
            return self._environment(match)
        return None

    def _closed(self, match: re.Match[str], closer: str, group: str) -> DelimitedFormula | None:
        start = match.end()
        end = self._next(closer, start)
        if not start < end <= start + markup.LONGEST or self._crosses_block(start, end):
            return None
        return DelimitedFormula(match.start(), end + len(closer), self._latex(start, end), CLASSES.index(group))

    def _environment(self, match: re.Match[str]) -> DelimitedFormula | None:
        edges = re.compile(rf"\\(begin|end)\s*\{{{re.escape(match['environment'])}\}}")
        depth = 1
        for edge in islice(edges.finditer(self.text, match.end(), match.end() + markup.LONGEST), markup.DEEPEST):
            depth += 1 if edge[1] == "begin" else -1
            if depth == 0:
                if self._crosses_block(match.end(), edge.end()):
                    return None
                bare = match["environment"] in markup.WRAPPERS
                latex = self._latex(match.end(), edge.start()) if bare else self._latex(match.start(), edge.end())
                return DelimitedFormula(match.start(), edge.end(), latex, CLASSES.index("begin"))
        return None

    def _single(self, start: int) -> DelimitedFormula | None:
        """Return the formula `$..$`, unless it is a price.

        It ends at the nearest closing sign, or at a later one where the nearest is inside `\\text{..}`."""
        limit = min(start + markup.LONGEST, self._next(BLOCK, start) if self.html else start + markup.LONGEST)
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

    def _unless_price(self, start: int, end: int) -> DelimitedFormula | None:
        inner = self._latex(start + 1, end)
        amount = inner[:1].isdigit() and not MATH_SIGN.search(inner)
        if amount and (LONG_WORD.search(inner) or self.text[end + 1 : end + 2].isdigit()):
            return None
        return DelimitedFormula(start, end + 1, inner, CLASSES.index("$"))


def one_line(latex: str) -> str:
    """Replace line ends by blanks."""
    return latex.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")


SPAN = f'<span class="{markup.MATH_CLASS}">'
# The patterns, and the sign that closes what each finds.
PATTERNS = {
    re.compile(rf"{SPAN}\$\$(.+?)\$\${markup.SPAN_CLOSE}"): f"$${markup.SPAN_CLOSE}",
    re.compile(rf"{SPAN}\$(.+?)\${markup.SPAN_CLOSE}"): f"${markup.SPAN_CLOSE}",
    re.compile(rf"{SPAN}(.+?){markup.SPAN_CLOSE}"): markup.SPAN_CLOSE,
    re.compile(r"\$\$(.+?)\$\$"): "$$",
    re.compile(r"\$(.+?)\$"): "$",
}


def lab_formulas(text: str) -> Extracted:
    """Cut out the formulas that the lab's code finds, in its order."""
    text = one_line(text)
    if text.count("$") < 2:
        return Extracted(text, ())
    latex: list[str] = []

    def take(match: re.Match[str]) -> str:
        if markup.OPEN in match[1]:
            return match[0]
        latex.append(markup.decode_entities(match[1]))
        return markup.placeholder(len(latex) - 1)

    for pattern, closer in PATTERNS.items():
        # Up to the last closing sign every opening one is closed; after it, each would be searched to the end.
        last = text.rfind(closer) + len(closer)
        text = pattern.sub(take, text[:last]) + text[last:] if closer in text else text
    return Extracted(text, tuple(latex))


HINTS = ("\\newcommand", "\\renewcommand", "\\providecommand", "\\def", "\\DeclareMathOperator", "\\let")


def expand(latex: str, macros: Macros, budget: Budget) -> str:
    """Expand these macros in a formula; one beyond the budget of its text stays as typed, and is counted."""
    if not macros or "\\" not in latex:
        return latex
    source = EditableLatex(latex)
    if budget.left > 0 and expand_macros(source, macros, budget):
        return source.text
    budget.refused += 1
    return latex


def defined_macros(texts: Iterable[Text]) -> Macros:
    """Return the macros that formulas of some texts define; on the site they hold for the whole page."""
    marked = [text for text in texts if any(hint in text.stored for hint in HINTS)]
    return definitions("\n".join(formula.text for text in marked for formula in text.formulas))


def self_contained(latex: Sequence[str], budget: Budget) -> tuple[str, ...]:
    """Expand in each formula the macros that others define; a formula that defines macros stays."""
    defining = [formula for formula in latex if any(hint in formula for hint in HINTS) and DEFINES.search(formula)]
    if not defining:
        return tuple(latex)
    macros = definitions("\n".join(defining))
    kept = set(defining)
    return tuple(formula if formula in kept else expand(formula, macros, budget) for formula in latex)


ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307"}
LETTER_ACCENTS = {"c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "r": "\u030a"}
LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "aa": "å", "AA": "Å", "i": "ı"}
_FORMULA = r"\$[^$]*\$"
_ACCENT = r"\\(?P<sign>['`^\"~=.])\s?\{?\\?(?P<letter>[A-Za-z])\}?|\\(?P<name>[cvuHr])\{(?P<under>[A-Za-z])\}?"
_LETTER = r"\{\\(?P<braced>[A-Za-z]{1,2})\}?|\\(?P<bare>ss|[oOlLi]|ae|AE|aa|AA)(?![A-Za-z])\s?"
_PIECE = re.compile(f"{_FORMULA}|{_ACCENT}|{_LETTER}")


def decode_accents(text: str) -> str:
    r"""Return a text with the accented letters of LaTeX as characters; formulas between dollar signs stay.

    >>> decode_accents(r"Koll\'ar, \v{C}ech, Erd\H{o}s, l'H\^{o}pital, St{\o}rmer, G\"odel")
    "Kollár, Čech, Erdős, l'Hôpital, Størmer, Gödel"
    """

    def decoded(match: re.Match[str]) -> str:
        if letter := match["letter"] or match["under"]:
            mark = ACCENTS[match["sign"]] if match["sign"] else LETTER_ACCENTS[match["name"]]
            return normalize("NFC", letter + mark)
        return LETTERS.get(match["braced"] or match["bare"] or "", match[0])

    return _PIECE.sub(decoded, text) if "\\" in text else text
