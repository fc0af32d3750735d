"""The formula tables of a year's topics: `id, topic_id, thread_id, type` and LaTeX, Presentation MathML (`slt`) or Content MathML (`opt`)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from porism.corpus.sources.tables import utf8_text
from porism.errors import PorismError
from porism.records import Topic, TopicFormula
from porism.text.entities import decode_latex

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
                raise PorismError(
                    "not a row of id, topic_id, thread_id, type, formula",
                    where=f"{path}:{line}",
                    fix="give the LaTeX table of the topics",
                )
            rows.setdefault(number(cells[1]), []).append(
                FormulaRow(cells[0], cells[1], FIELDS[cells[3]], decode_latex(cells[4].strip()))
            )
    return rows


def number(topic: str) -> str:
    """Return the number of a topic: `301` for A.301 and B.301."""
    return topic.partition(".")[2] or topic


def mathml_kind(path: str | Path) -> MathMLKind | None:
    """Return which MathML a table holds, by its header (`slt`, `opt`) or, as all tables of 2021 say `formula`, by its first row."""
    rows = _rows(path)
    header, first = next(rows, [""]), next(rows, [""])
    if header[-1:] and header[-1] in MATHML_COLUMNS:
        return MATHML_COLUMNS[header[-1]]
    if not _MATHML.match(first[-1] if first else ""):
        return None
    return "content" if _CONTENT.search(first[-1]) else "mathml"


def add_mathml(topics: Sequence[Topic], path: str | Path, kind: MathMLKind) -> list[Topic]:
    """Return the topics with the MathML of a table in their formulas. A query formula that the text lacks becomes a formula of the topic."""
    known = {cells[0]: cells[4].strip() for cells in _rows(path) if len(cells) == 5}
    completed = []
    for topic in topics:
        formulas = list(topic.formulas)
        if topic.formula_id in known and all(one.id != topic.formula_id for one in formulas):
            formulas.append(TopicFormula(topic.formula_id, topic.latex))
        found = tuple(
            (replace(one, mathml=known[one.id]) if kind == "mathml" else replace(one, content=known[one.id]))
            if one.id in known
            else one
            for one in formulas
        )
        completed.append(replace(topic, formulas=found))
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
