r"""A query as text and formulas: LaTeX with delimiters, MathML, HTML of a post, LaTeX without delimiters, ASCII and
Unicode mathematics; and the operators of the search box: `"exact phrase"`, `-excluded`, `tag:calculus`, `user:name`,
`is:accepted`, `after:2015`, `before:2018`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from porism.deadline import check
from porism.text.find import formula_matches
from porism.text.markup import mathml_elements, replace_mathml, unescape
from porism.text.typed.grammar import latex_readings
from porism.text.typed.runs import find_runs
from porism.text.typed.tokens import names

_BRACES = re.compile(r"[{}\s]")
TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>")
# Words that name an operator in a formula, and that people also write in words.
_NAMED_OPERATORS = re.compile(
    r"\b(?:integra(?:l|te|ting)|limit|sum|divides|modulo|mod|choose|(?:square|cube) root)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A piece of a query: text, or a formula.

    `source` is what was typed and `latex` the LaTeX of the most usual reading (empty for `mathml`); `others` are other
    readings. A `typed` formula had no delimiters. `words` are words of the formula that are searched as words as
    well."""

    kind: Literal["text", "formula"]
    source: str
    latex: str = ""
    mathml: bool = False
    typed: bool = False
    others: tuple[str, ...] = ()
    words: str = ""


def split_query(text: str, *, typed: bool = True) -> Iterator[QueryPart]:
    """Split a query into text and formulas, in order; without `typed`, only formulas with delimiters are found."""
    at = 0
    for element in mathml_elements(text):
        start = element.opening.start()
        yield from _delimited(text[at:start], typed)
        yield QueryPart("formula", text[start : element.end].strip(), mathml=True)
        at = element.end
    yield from _delimited(text[at:], typed)


def _delimited(text: str, typed: bool) -> Iterator[QueryPart]:
    """Split at formulas with delimiters: the same finder reads posts."""
    at = 0
    for formula in formula_matches(text, "query"):
        yield from _undelimited(text[at : formula.start], typed)
        yield QueryPart("formula", formula.latex, formula.latex)
        at = formula.end
    yield from _undelimited(text[at:], typed)


def _undelimited(text: str, typed: bool) -> Iterator[QueryPart]:
    """Find formulas without delimiters in the text between formulas; tags of pasted HTML are dropped."""
    if TAG.search(text):
        text = TAG.sub(" ", text)
    text = unescape(text)
    at = 0
    for run in find_runs(text) if typed else ():
        check()
        source = text[run.start : run.end]
        readings = (source,) if run.latex else latex_readings(source)
        if not readings or not readings[0]:
            continue
        if run.start > at:
            yield QueryPart("text", text[at : run.start])
        words = "" if run.latex else source if run.words else " ".join(_NAMED_OPERATORS.findall(source))
        yield QueryPart("formula", source, readings[0], typed=True, others=readings[1:], words=words)
        at = run.end
    if at < len(text):
        yield QueryPart("text", text[at:])


def typed_formula(text: str) -> QueryPart:
    """Return a whole text as one formula: LaTeX if it has commands, otherwise as people type mathematics."""
    readings = (text,) if "\\" in text else latex_readings(text) or (text,)
    return QueryPart("formula", text, readings[0] or text, typed=True, others=readings[1:])


def is_verbatim(source: str, latex: str) -> bool:
    """Return whether LaTeX is what was typed, apart from braces and blanks."""
    return _BRACES.sub("", source) == _BRACES.sub("", latex)


FIRST_YEAR, LAST_YEAR = 0, 9999
# Quotation marks are read in pairs, also where what they enclose is no phrase: in `"4" and "2"`, " and " is none.
_PHRASE = re.compile(r'["“”]([^"“”]*)["“”]')
MAX_PHRASE = 200  # characters; a longer quotation is text
_OPERATOR = re.compile(
    r"""(?<!\S)(?P<name>tag|user|is|after|before):(?:"(?P<quoted>[^"]{1,80})"|(?P<value>[^\s"]{1,80}))""", re.IGNORECASE
)
_EXCLUDED = re.compile(r"(?<=\s)-(?P<word>[^\W\d_][\w'-]{2,60})(?!\S)")
_PLACE = "\ue002"  # a letter that nobody writes, in place of pasted MathML
_DELIMITED = re.compile(r"\$[^$]*\$|\\\((?:(?!\\\().)*?\\\)|\\\[(?:(?!\\\[).)*?\\\]", re.DOTALL)


class Box(NamedTuple):
    """A typed query without its operators (`text`), and what they ask for. The words of phrases stay in the text."""

    text: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    accepted: bool = False
    first_year: int = FIRST_YEAR
    last_year: int = LAST_YEAR

    @property
    def years(self) -> tuple[int, int] | None:
        """The first and the last year, or None for all years."""
        years = (self.first_year, self.last_year)
        return None if years == (FIRST_YEAR, LAST_YEAR) else years

    @property
    def restricts_text(self) -> bool:
        """Whether a hit must be read to decide whether it is allowed."""
        return bool(self.phrases or self.excluded or self.users)


def read_box(typed: str) -> Box:
    """Take the operators out of a typed query. What is no operator with a legal value stays as it is.

    >>> box = read_box('integral -improper tag:calculus after:2015 "by parts"')
    >>> box.text, box.phrases, box.excluded, box.tags, box.first_year
    ('integral by parts', ('by parts',), ('improper',), ('calculus',), 2015)
    """
    if not any(sign in typed for sign in ':"“”-'):
        return Box(typed)
    elements = [typed[one.opening.start() : one.end] for one in mathml_elements(typed)]
    text = replace_mathml(typed, lambda _: _PLACE)
    found = _Found([match.span() for match in _DELIMITED.finditer(text)])
    text = _OPERATOR.sub(found.operator, text)
    text = _EXCLUDED.sub(found.exclude, text)
    text = _PHRASE.sub(found.phrase, text)
    if not found.changed:
        return Box(typed)
    text = " ".join(text.split())
    for element in elements:  # the attributes of pasted MathML have quotation marks and colons, which are no operators
        text = text.replace(_PLACE, element, 1)
    return found.box(text)


class _Found:
    """Collects operators while they are taken out."""

    def __init__(self, formulas: list[tuple[int, int]]) -> None:
        self._formulas = formulas
        self._lists: dict[str, list[str]] = {"tag": [], "user": [], "phrase": [], "excluded": []}
        self._years = [FIRST_YEAR, LAST_YEAR]
        self._accepted = False
        self.changed = False

    def box(self, text: str) -> Box:
        """Return everything that was found."""
        lists = {name: tuple(dict.fromkeys(values)) for name, values in self._lists.items()}
        return Box(text, lists["phrase"], lists["excluded"], lists["tag"], lists["user"], self._accepted, *self._years)

    def operator(self, match: re.Match[str]) -> str:
        """Take one `name:value` out, unless its value is not legal."""
        name, value = match["name"].lower(), (match["quoted"] or match["value"]).strip()
        if name in ("after", "before"):
            year = re.fullmatch(r"(\d{4})(?:-\d\d){0,2}", value)
            if not year:
                return match[0]
            self._years[name == "before"] = int(year[1])
        elif name == "is":
            if value.lower() != "accepted":
                return match[0]
            self._accepted = True
        else:
            self._lists[name].append(value.lower() if name == "tag" else value)
        self.changed = True
        return " "

    def exclude(self, match: re.Match[str]) -> str:
        """Take an excluded word out; the minus of a formula stays."""
        word, start = match["word"], match.start()
        inside = any(first <= start < last for first, last in self._formulas)
        if inside or word in names() or find_runs(match.string[max(0, start - 12) : match.end()]):
            return match[0]
        self._lists["excluded"].append(word.lower())
        self.changed = True
        return " "

    def phrase(self, match: re.Match[str]) -> str:
        """Note a phrase; its words stay. A quotation with a formula, without a word or too long is no phrase."""
        phrase = " ".join(match[1].split())
        if "$" in phrase or len(match[1]) > MAX_PHRASE or not re.search(r"\w\w", phrase):
            return match[0]
        self._lists["phrase"].append(phrase.lower())
        self.changed = True
        return match[1]
