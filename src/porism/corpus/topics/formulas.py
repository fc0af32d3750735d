"""The formulas of topics: in the tables of a year, and in the text of a topic."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from porism.corpus.sources.tables import utf8_text
from porism.errors import PorismError
from porism.records import Topic, TopicFormula
from porism.text.markup import MATH_SPAN, SPAN_EDGE, MathSpan, decode_latex, math_span, math_spans, span_id, undress

Field = Literal["title", "question"]
# 2022 says body where 2020 and 2021 say question.
FIELDS: dict[str, Field] = {"title": "title", "question": "question", "body": "question"}
MathMLKind = Literal["mathml", "content"]
MATHML_COLUMNS: dict[str, MathMLKind] = {"slt": "mathml", "opt": "content"}

_MATHML = re.compile(r"\s*<(?:\?xml|(?:\w+:)?math\b)")
_CONTENT = re.compile(r'encoding="MathML-Content"|<(?:\w+:)?(?:apply|ci|cn|csymbol|cerror)\b')


@dataclass(frozen=True, slots=True)
class FormulaRow:
    """A row of a formula table of topics. It wins over the text of a topic, which may be cut at `<`."""

    id: str
    topic: str
    field: Field
    latex: str


def read_formula_rows(path: str | Path) -> dict[str, list[FormulaRow]]:
    """Read the rows of `id, topic_id, thread_id, type, formula`, by the topic's number (which A.n and B.n share)."""
    rows: dict[str, list[FormulaRow]] = {}
    with utf8_text(path) as stream:
        for line, cells in enumerate(csv.reader(stream, delimiter="\t"), 1):
            if line == 1 and cells[:1] == ["id"]:
                continue
            if len(cells) != 5 or cells[3] not in FIELDS:
                fact = "not a row of id, topic_id, thread_id, type, formula"
                raise PorismError(fact, where=f"{path}:{line}", fix="give the LaTeX table of the topics")
            row = FormulaRow(cells[0], cells[1], FIELDS[cells[3]], decode_latex(cells[4].strip()))
            rows.setdefault(number(cells[1]), []).append(row)
    return rows


def number(topic: str) -> str:
    """Return the number of a topic: `301` for A.301 and B.301."""
    return topic.partition(".")[2] or topic


def mathml_kind(path: str | Path) -> MathMLKind | None:
    """Return which MathML a table holds, by its header or, as all tables of 2021 say `formula`, its first row."""
    rows = _rows(path)
    header, first = next(rows, [""]), next(rows, [""])
    if header[-1:] and header[-1] in MATHML_COLUMNS:
        return MATHML_COLUMNS[header[-1]]
    if not _MATHML.match(first[-1] if first else ""):
        return None
    return "content" if _CONTENT.search(first[-1]) else "mathml"


def add_mathml(topics: Sequence[Topic], path: str | Path, kind: MathMLKind) -> list[Topic]:
    """Add the MathML of a table to topics. A query formula that the text lacks becomes a formula of the topic."""
    known = {cells[0]: cells[4].strip() for cells in _rows(path) if len(cells) == 5}
    completed = []
    for topic in topics:
        formulas = list(topic.formulas)
        if topic.formula_id in known and all(one.id != topic.formula_id for one in formulas):
            formulas.append(TopicFormula(topic.formula_id, topic.latex))
        for at, one in enumerate(formulas):
            if one.id in known:
                text = known[one.id]
                formulas[at] = replace(one, mathml=text) if kind == "mathml" else replace(one, content=text)
        completed.append(replace(topic, formulas=tuple(formulas)))
    return completed


def add_posts(topics: Sequence[Topic], paths: Sequence[str | Path]) -> list[Topic]:
    """Return the topics with the question of the site that each was made from: the thread id of its formulas."""
    posts = {
        number(cells[1]): int(cells[2])
        for path in paths
        for cells in _rows(path)
        if cells[2:3] and re.fullmatch(r"[0-9]{1,15}", cells[2])
    }
    return [replace(topic, post_id=posts.get(number(topic.id), topic.post_id)) for topic in topics]


def _rows(path: str | Path) -> Iterator[list[str]]:
    with utf8_text(path) as stream:
        yield from csv.reader(stream, delimiter="\t")


EMPTY = ("$$", "$$$$")


@dataclass(frozen=True, slots=True)
class TopicPiece:
    """A formula, or a stretch of HTML between formulas (`latex` is None, `source` its text)."""

    source: str
    latex: str | None = None
    id: str = ""
    # True where the author's dollar sign follows a blank, as in `$a $`: the mark of an id that fell on a plain word.
    blank_end: bool = False
    # True where the text has no id and the id is that of a row of the table.
    named_by_table: bool = False


def split_formulas(text: str) -> Iterator[TopicPiece]:
    """Split the HTML of a field at its formula spans; nested spans are one formula."""
    at = 0
    for span in math_spans(text, unclosed=True):
        if span.start > at:
            yield TopicPiece(text[at : span.start])
        yield _formula(text, span)
        at = span.end
    if at < len(text):
        yield TopicPiece(text[at:])


def _formula(text: str, span: MathSpan) -> TopicPiece:
    """Return one formula; of nested spans the id may be on the inner one."""
    content = text[span.inner_start : span.inner_end]
    inner = (span_id(match[0]) for match in MATH_SPAN.finditer(content))
    bare = SPAN_EDGE.sub("", content)
    blank_end = re.search(r"\s\$+\s*$", bare) is not None
    return TopicPiece(content, without_dollars(decode_latex(bare)), span.id or next(inner, ""), blank_end)


def without_dollars(latex: str) -> str:
    """Return the LaTeX between `$..$` or `$$..$$`; LaTeX without dollar signs stays as it is."""
    inner = latex.strip()
    return "" if inner in EMPTY else undress(inner).latex


def fix_ids(pieces: list[TopicPiece]) -> list[TopicPiece]:
    """Undo ids on wrong words: `maps $a $positive integer` becomes words, and an id-less `$a$` later gets the id."""
    fixed = list(pieces)
    for place, piece in enumerate(pieces):
        if piece.latex is None or not piece.id or not piece.blank_end:
            continue
        for later in range(place + 1, len(pieces)):
            twin = fixed[later]
            if twin.latex == piece.latex and not twin.id:
                fixed[place] = TopicPiece(f"{html.escape(piece.latex, quote=False)} ")
                fixed[later] = replace(twin, id=piece.id)
                break
    return fixed


def to_html(pieces: list[TopicPiece]) -> str:
    """Return the field in the official form: each formula is a span of escaped LaTeX without dollar signs."""
    return "".join(piece.source if piece.latex is None else math_span(piece.latex, piece.id) for piece in pieces)
