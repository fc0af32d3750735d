"""Hand-written queries of manual systems, in the formats of approach0: JSON lists, tables of words and formulas, tables of formulas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from porism.errors import PorismError
from porism.files import lines_of, open_text, report_unreadable

HEADER = "qid"


@dataclass(frozen=True, slots=True)
class HandQuery:
    """What a person wrote for a topic: phrases, formulas in LaTeX, and, in files for dense models, the text around the formula."""

    topic: str
    phrases: tuple[str, ...] = ()
    formulas: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class HandQueries:
    """The queries of a file, by topic."""

    path: str
    queries: Mapping[str, HandQuery]

    def of(self, topic: str) -> HandQuery:
        """Return the query of a topic."""
        if topic not in self.queries:
            raise PorismError(f"has no query for topic {topic}", where=self.path, fix="add it, or leave --queries out")
        return self.queries[topic]


@report_unreadable("write a line for each topic: topic<TAB>formula")
def read_hand_queries(path: str | Path) -> HandQueries:
    """Read a file of hand-written queries: a JSON list, a table `qid term tex ...`, or a table `topic, formula, ...`."""
    with open_text(path) as stream:
        text = stream.read()
    found = _from_json(text, str(path)) if text.lstrip().startswith("[") else _from_table(text, str(path))
    queries: dict[str, HandQuery] = {}
    for query in found:
        if query.topic in queries:
            raise PorismError(f"topic {query.topic} appears twice", where=str(path), fix="keep one of them")
        queries[query.topic] = query
    if not queries:
        raise PorismError(
            "no query in this file", where=str(path), fix="write a line for each topic: topic<TAB>formula"
        )
    return HandQueries(str(path), queries)


def _from_json(text: str, where: str) -> Iterator[HandQuery]:
    try:
        for entry in json.loads(text):
            yield _json_query(entry)
    except (ValueError, TypeError, KeyError) as error:
        fix = 'write [{"qid": "A.1", "kw": [{"type": "term", "str": "prime"}, {"type": "tex", "str": "p^2"}]}]'
        raise PorismError(f"not a list of queries: {error}", where=where, fix=fix) from None


def _json_query(entry: Mapping[str, Any]) -> HandQuery:
    keywords = entry.get("kw", [])
    return HandQuery(
        entry["qid"],
        tuple(one["str"] for one in keywords if one["type"] == "term"),
        tuple(one["str"] for one in keywords if one["type"] == "tex"),
        tuple(tag.strip() for tag in str(entry.get("tags", "")).split(",") if tag.strip()),
        entry.get("context", ""),
    )


def _from_table(text: str, where: str) -> Iterator[HandQuery]:
    """Yield the queries of a table. With the header `qid` the second column holds phrases, separated by commas; else all are formulas."""
    lines = lines_of(text)
    has_phrases = bool(lines) and lines[0].split("\t")[0].strip() == HEADER
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.split("\t")]
        if not cells[0] or (number == 1 and has_phrases):
            continue
        if len(cells) < 2:
            raise PorismError("no tab after the topic", where=f"{where}:{number}", fix="write: topic<TAB>formula")
        phrases = tuple(phrase.strip() for phrase in cells[1].split(",") if phrase.strip()) if has_phrases else ()
        formulas = tuple(cell for cell in cells[2 if has_phrases else 1 :] if cell)
        yield HandQuery(cells[0], phrases, formulas)
