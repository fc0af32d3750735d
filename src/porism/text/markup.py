"""HTML markup in text, read in linear time: elements by their tags, entities decoded exactly once; and how formulas are
marked: dollar signs, brackets, environments, and the official `math-container` span."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from porism.limits import limit

# Tags that HTML closes by itself where the next one opens, and tags without content: they do not nest.
FLAT = frozenset(
    [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "p",
        "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option",
    ]
)  # fmt: skip
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>")
MOST_ATTRIBUTES = 500  # of a tag; parsers of HTML compare each with all before it
# An attribute as a parser of HTML reads it: a name, with or without a value. A piece without quotes is read 200
# characters far, so that reading from every `<` of a long word takes no more than that for each.
_SPACE = r"[\t\n\f\r ]"
_VALUE = rf"""{_SPACE}*+=(?>{_SPACE}*)(?>"[^"]*"?|'[^']*'?|[^\t\n\f\r >"'][^\t\n\f\r >]{{,200}})?+"""
_ATTRIBUTE = re.compile(rf"(?>[\t\n\f\r /]*[^\t\n\f\r />][^\t\n\f\r />=]{{,200}}+(?:{_VALUE})?+)")
_TAG_NAME = re.compile(r"</?[a-zA-Z][^\t\n\f\r />]{,200}+")
_SHORT_TEXT = 20_000  # characters; the attributes of a shorter text are compared in no time
_FEW_TAGS = 100  # a text with fewer cannot be deep


class Element(NamedTuple):
    """An element: the match of its opening tag, its content, and where it ends."""

    opening: re.Match[str]
    content: str
    end: int


def elements(
    text: str, opening: re.Pattern[str], closing: Callable[[re.Match[str]], re.Pattern[str]]
) -> Iterator[Element]:
    """Yield elements in order; each ends at the next closing tag. One that is never closed is skipped."""
    at = 0
    never_closed: set[str] = set()
    while found := opening.search(text, at):
        at = found.end()
        close = closing(found)
        if close.pattern in never_closed:
            continue
        end = close.search(text, at)
        if end is None:
            never_closed.add(close.pattern)
            continue
        yield Element(found, text[at : end.start()], end.end())
        at = end.end()


def replace_elements(
    text: str,
    opening: re.Pattern[str],
    closing: Callable[[re.Match[str]], re.Pattern[str]],
    replacement: Callable[[Element], str],
) -> str:
    """Replace each element."""
    pieces: list[str] = []
    at = 0
    for element in elements(text, opening, closing):
        pieces += (text[at : element.opening.start()], replacement(element))
        at = element.end
    return "".join((*pieces, text[at:]))


def without_open_tags(text: str) -> str:
    """Return a text of equal length in which a `<` without `>` is a blank, for searches in linear time."""
    last = text.rfind(">") + 1
    return text[:last] + text[last:].replace("<", " ") if "<" in text[last:] else text


def limit_attributes(text: str) -> str:
    """Make a tag with too many attributes a part of the text.

    Only a whole parser knows whether a `<` is in a comment, a value or a script; so each one that could open a tag is
    followed."""
    if len(text) < _SHORT_TEXT:
        return text
    known: dict[int, int] = {}  # place between two attributes: how many follow to the end of the tag
    pieces: list[str] = []
    at = 0
    opening = _TAG_NAME.search(text)
    while opening is not None:
        if _attributes_from(opening.end(), text, known) > MOST_ATTRIBUTES:
            pieces += (text[at : opening.start()], "&lt;")
            at = opening.start() + 1
        opening = _TAG_NAME.search(text, opening.start() + 1)
    return "".join((*pieces, text[at:]))


def _attributes_from(place: int, text: str, known: dict[int, int]) -> int:
    """Count the attributes from a place to the end of the tag; what an earlier tag has counted is not read again."""
    passed: list[int] = []
    while place not in known and (attribute := _ATTRIBUTE.match(text, place)) is not None:
        passed.append(place)
        place = attribute.end()
    count = known.setdefault(place, 0) + len(passed)
    for position, earlier in enumerate(passed):
        known[earlier] = count - position
    return count


def limit_depth(text: str) -> str:
    """Leave out the tags of deeply nested elements, on which parsers take quadratic time."""
    if text.count("<") <= _FEW_TAGS or text.count("<") <= (most := limit("tag_depth")):
        return text
    depth = 0

    def tag(match: re.Match[str]) -> str:
        nonlocal depth
        if match[2].lower() in FLAT:
            return match[0]
        if not match[1]:
            depth += 1
            return match[0] if depth <= most else ""
        depth -= 1 if depth else 0
        return match[0] if depth < most else ""

    return _TAG.sub(tag, without_open_tags(text))


# A number without the zeros before it; what has more than eight digits is no character, whatever follows.
_NUMBER = re.compile(r"&#(?:(?=[0-9])0*+([0-9]{0,8})[0-9]*+|([xX])(?=[0-9a-fA-F])0*+([0-9a-fA-F]{0,8})[0-9a-fA-F]*+)")
_LONG = 4_000  # characters
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

# Files of the lab hold LaTeX that a converter wrote. It was given `a &amp;= b` undecoded, read an alignment mark and
# the letters `amp;`, and wrote `a&\displaystyle amp;=b`. This finds such an entity: the mark (or the end of a row),
# what the converter put around it, and the name. It starts nowhere inside a run of spaces, and no run is read twice, so
# that the time is in proportion to the length.
BROKEN = re.compile(
    r"""(?:(?<!\s)|(?=\S))
    (?P<before>(?:\$(?=\s*+&\s*+\$)|\\hfil)?\s*+)(?P<mark>&|\\\\)?(?P<after>\s*+(?:\$?\\displaystyle\s?|\})?)
    \s*+(?:(?<![A-Za-z&])(?P<name>amp|lt|gt|quot|nbsp)|(?P<number>\\?\#39));""",
    re.VERBOSE,
)
HINT = re.compile(r"(?<![A-Za-z&])(?:amp|lt|gt|quot|nbsp);|#39;")


def unescape(text: str) -> str:
    """Decode entities as a browser does, also numbers of more digits than the library takes."""
    if len(text) > _LONG and "&#" in text:
        text = _NUMBER.sub(lambda found: f"&#{found[2] or ''}{found[1] or found[3] or '0'}", text)
    return html.unescape(text)


def decode_entities(text: str) -> str:
    """Decode each entity that ends in a semicolon, once: LaTeX such as `a&notin b` stays as it is."""
    return ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def decode_latex(latex: str) -> str:
    r"""Decode the entities of a formula once, also those that a converter took apart.

    >>> decode_latex(r"a &amp;= b"), decode_latex(r"x&\displaystyle amp;=y"), decode_latex(r"x\hfil&\displaystyle lt;y")
    ('a &= b', 'x&\\displaystyle =y', 'x<y')
    """
    latex = decode_entities(latex)
    return BROKEN.sub(_joined, latex) if ";" in latex and HINT.search(latex) else latex


def _joined(match: re.Match[str]) -> str:
    if match["name"] == "amp":
        return match["before"] + (match["mark"] or " ") + match["after"]
    return html.unescape(f"&{match['name'] or '#39'};")


MATH_CLASS = "math-container"
# The span around the official span of a formula on a line of its own.
DISPLAY_OPEN = '<span class="display">'
SPAN_CLOSE = "</span>"

# The opening tag of an official span: attributes come in any order and in either kind of quotes, and the id may be
# missing.
MATH_OPEN = rf"""<span\s(?=[^<>]{{0,300}}?\bclass=["']{MATH_CLASS}["'])[^<>]{{0,600}}>"""
MATH_SPAN = re.compile(MATH_OPEN)
# Its usual form in the files of the lab, which is found much faster: the id; and the whole span, with a display span
# around it or not.
MARKED_ID = re.compile(rf'<span class="{MATH_CLASS}" id="([0-9]{{1,18}})">')
USUAL_SPAN = re.compile(
    rf'({DISPLAY_OPEN})?<span class="{MATH_CLASS}" id="([0-9]{{1,18}})">([^<]*)</span>(?(1)</span>)'
)
SPAN_EDGE = re.compile(r"<(/?)span\b[^<>]*>")
SPAN_ID = re.compile(r"""\bid=["']([^"']*)["']""")

# A MathML element: its opening tag with its attributes, and its closing tag.
MATHML_OPEN = re.compile(r"<(?:\w+:)?math\b([^<>]*)>", re.IGNORECASE)
MATHML_CLOSE = re.compile(r"</(?:\w+:)?math\s*>", re.IGNORECASE)

# Opening and closing sign of LaTeX, and whether they set a formula on a line of its own.
DELIMITERS = (("$$", "$$", True), ("$", "$", False), ("\\[", "\\]", True), ("\\(", "\\)", False))

# Environments that are formulas by themselves. The first two only open and close a formula.
WRAPPERS = ("math", "displaymath")
ENVIRONMENTS = (
    *WRAPPERS,
    *("align", "alignat", "aligned", "array", "cases", "eqnarray", "equation", "flalign", "gather", "gathered"),
    *("multline", "split", "(?:[bBpvV]|small)?matrix"),
)
DISPLAY_ENVIRONMENT = re.compile(r"\\begin\{(?:align|alignat|eqnarray|equation|flalign|gather|multline)\*?\}")

# No formula of a person reaches these bounds; they keep hostile text from taking time that grows with its square.
LONGEST, DEEPEST = 30_000, 100


def mathml_elements(text: str) -> Iterator[Element]:
    """Yield the MathML elements of a text in order."""
    return elements(text, MATHML_OPEN, lambda _: MATHML_CLOSE)


def replace_mathml(text: str, replacement: Callable[[Element], str]) -> str:
    """Replace each MathML element of a text."""
    return replace_elements(text, MATHML_OPEN, lambda _: MATHML_CLOSE, replacement)


class MathSpan(NamedTuple):
    """An official span in HTML: its position, the position of its content, its id ("" without one)."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    id: str
    display: bool


class Undressed(NamedTuple):
    """LaTeX without the signs around it, and those signs ("" where there were none)."""

    latex: str
    opening: str
    display: bool


def math_span(latex: str, identifier: int | str = "", display: bool = False) -> str:
    """Return a formula as the official span of escaped LaTeX.

    >>> math_span("a<b", 7)
    '<span class="math-container" id="7">a&lt;b</span>'
    """
    name = f' id="{identifier}"' if identifier != "" else ""
    span = f'<span class="{MATH_CLASS}"{name}>{html.escape(latex, quote=False)}{SPAN_CLOSE}'
    return f"{DISPLAY_OPEN}{span}{SPAN_CLOSE}" if display else span


def math_spans(text: str, *, unclosed: bool = False) -> Iterator[MathSpan]:
    """Yield the official spans of HTML in order; spans inside a span (from `\\text` or damage) belong to it.

    A span that is never closed is skipped, or with `unclosed` reaches to the end of the text."""
    at = 0
    while match := MATH_SPAN.search(text, at):
        edge = span_end(text, match.end())
        if edge is None and not unclosed:
            at = match.end()
            continue
        start = match.start()
        inner_end, end = (edge.start(), edge.end()) if edge else (len(text), len(text))
        display = text.endswith(DISPLAY_OPEN, at, start) and text.startswith(SPAN_CLOSE, end)
        if display:
            start, end = start - len(DISPLAY_OPEN), end + len(SPAN_CLOSE)
        yield MathSpan(start, end, match.end(), inner_end, span_id(match[0]), display)
        at = end


def span_id(tag: str) -> str:
    """Return the id of an opening tag, or ""."""
    found = SPAN_ID.search(tag)
    return found[1] if found else ""


def span_end(text: str, start: int, longest: int | None = None) -> re.Match[str] | None:
    """Return the closing tag of a span whose content starts at `start`, or None."""
    depth = 1
    end = len(text) if longest is None else start + longest
    for edge in islice(SPAN_EDGE.finditer(text, start, end), DEEPEST):
        depth += -1 if edge[1] else 1
        if depth == 0:
            return edge
    return None


def undress(inner: str) -> Undressed:
    """Take the delimiters off LaTeX that has them on both sides.

    >>> undress("$$ x+y $$")
    Undressed(latex='x+y', opening='$$', display=True)
    """
    for opening, closing, display in DELIMITERS:
        if inner.startswith(opening) and inner.endswith(closing) and len(inner) > len(opening) + len(closing):
            return Undressed(inner[len(opening) : -len(closing)].strip(), opening, display)
    return Undressed(inner, "", False)


# Private characters around a number keep the position of a formula while its text is read or cleaned.
OPEN, CLOSE = "\ue000", "\ue001"


def placeholder(number: int) -> str:
    """Return the mark that keeps the position of formula `number` while the text is cleaned."""
    return f"{OPEN}{number}{CLOSE}"
