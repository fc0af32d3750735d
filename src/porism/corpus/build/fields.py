"""A field of a source becomes clean HTML with tokens, and the list of its formulas. Pure, so that all cores can share the work."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from itertools import islice

from porism.corpus.sources.raw import Form
from porism.text.extract import DEEPEST, Extracted, lab, sensible
from porism.text.html import DISPLAY, SPAN, TAG, TOKEN, clean, fill, tokens_in_text, unescape, without_tokens
from porism.text.html import token as make_token

PLACED = re.compile(rf'(?P<display>{DISPLAY})?<span class="math-container"(?: id="(?P<id>[0-9]*)")?>')
SPAN_EDGE = re.compile(r"<(/?)span\b[^>]*>")
LINE_ENDS = re.compile(r"\r\n|\n|\r")

MARK = re.compile(r"[`*\[]")
# The marks that comments of the site know.
COMMENT_MARKS = (
    (re.compile(r"(`+)(.+?)\1"), r"<code>\2</code>"),
    (
        re.compile(r"\[([^\[\]]{1,300})\]\((https?://[^\s()<>\"]+(?:\([^\s()<>\"]*\)[^\s()<>\"]*)*)\)"),
        r'<a href="\2">\1</a>',
    ),
    (re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])"), r"<em>\1</em>"),
)


# And back, for files in which comments are text.
COMMENT_TAGS = (
    (re.compile(r'<a href="([^"]*)"[^>]*>(.*?)</a>', re.DOTALL), r"[\2](\1)"),
    (re.compile(r"</?code>"), "`"),
    (re.compile(r"</?strong>"), "**"),
    (re.compile(r"</?em>"), "*"),
)


@dataclass(frozen=True, slots=True)
class Field:
    """Clean HTML in which token n stands for formula n; `ids` are official (0 where the build numbers the formula).

    `lost` are formulas whose place did not survive the cleaning (inside a tag or a dropped element).
    """

    text: str
    latex: tuple[str, ...]
    ids: tuple[int, ...]
    lost: tuple[str, ...] = ()
    displayed: frozenset[int] = frozenset()


def make_field(text: str, form: Form, compat: bool) -> Field:
    """Find the formulas of a field and clean the rest."""
    if not text:
        return Field("", (), ())
    text = without_tokens(text)
    if form in ("placed", "placed-text"):
        return _placed(text, form == "placed-text")
    is_text = form == "text"
    text = unescape(text) if is_text else text
    found = lab(text) if compat else sensible(text, "text" if is_text else "html", only_spans=form == "spans")
    return _settle(found, text_to_html(found.text) if is_text else clean(found.text), compat)


def text_to_html(text: str) -> str:
    """Text becomes HTML: everything is escaped, then the few marks of comments are read."""
    text = html.escape(text, quote=False)
    if not MARK.search(text):
        return text
    for pattern, form in COMMENT_MARKS:
        text = pattern.sub(form, text)
    return clean(text)


def comment_text(text: str) -> str:
    """A comment's HTML as the site's text; formulas keep their spans."""
    spans: list[str] = []

    def cut(match: re.Match[str]) -> str:
        spans.append(match[0])
        return make_token(len(spans) - 1)

    text = SPAN.sub(cut, text)
    for pattern, form in COMMENT_TAGS:
        text = pattern.sub(form, text)
    return fill(html.unescape(text), lambda number: spans[number])


def _settle(found: Extracted, text: str, compat: bool) -> Field:
    """Number the formulas that have a place. Compat keeps the others too, without a place: the lab has ids for them."""
    there = sorted(set(tokens_in_text(text)))
    if len(there) == len(found.latex) and text.count("\ue000") == len(there):
        return Field(text, found.latex, (0,) * len(there), displayed=found.displayed)
    number = {old: new for new, old in enumerate(there)}
    seen: set[int] = set()

    def put(old: int) -> str:
        if old in number and old not in seen:
            seen.add(old)
            return make_token(number[old])
        return html.escape(found.latex[old]) if old < len(found.latex) else ""

    lost = tuple(latex for at, latex in enumerate(found.latex) if at not in number) if compat else ()
    # A token inside a tag stands in an attribute: there only its text may stand.
    marked = TAG.sub(lambda tag: fill(tag[0], lambda n: html.escape(_at(found.latex, n))), text)
    displayed = frozenset(number[old] for old in found.displayed if old in number)
    return Field(fill(marked, put), tuple(found.latex[old] for old in there), (0,) * len(there), lost, displayed)


def _at(latex: tuple[str, ...], number: int) -> str:
    return latex[number] if number < len(latex) else ""


def _placed(text: str, is_text: bool) -> Field:
    """Formulas stand in spans with official ids: find them by their literal start and their own end."""
    pieces: list[str] = []
    latex: list[str] = []
    ids: list[int] = []
    at = 0
    displayed: set[int] = set()
    while match := PLACED.search(text, at):
        end = _span_end(text, match.end())
        if end is None:
            break
        inner_end, outer_end = end
        if match["display"]:
            displayed.add(len(latex))
            outer_end += len("</span>") * text.startswith("</span>", outer_end)
        pieces += (text[at : match.start()], make_token(len(latex)))
        latex.append(LINE_ENDS.sub(" ", unescape(text[match.end() : inner_end])))
        ids.append(int(match["id"] or 0))
        at = outer_end
    pieces.append(text[at:])
    whole = "".join(pieces)
    whole = text_to_html(unescape(whole)) if is_text else _out_of_tags(clean(whole), latex)
    return Field(whole, tuple(latex), tuple(ids), displayed=frozenset(displayed))


def _out_of_tags(text: str, latex: list[str]) -> str:
    """An official formula inside an attribute (`alt`) stands after the tag; the attribute keeps its LaTeX."""

    def mend(tag: re.Match[str]) -> str:
        inside = TOKEN.findall(tag[0])
        return fill(tag[0], lambda n: html.escape(latex[n])) + "".join(make_token(int(n)) for n in inside)

    return TAG.sub(mend, text)


def _span_end(text: str, start: int) -> tuple[int, int] | None:
    depth = 1
    for edge in islice(SPAN_EDGE.finditer(text, start), DEEPEST):
        depth += -1 if edge[1] else 1
        if depth == 0:
            return edge.start(), edge.end()
    return None
