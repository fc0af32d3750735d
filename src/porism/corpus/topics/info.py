"""Topic information: category, difficulty, dependency, multi-part, complexity. The words of all years are translated to one vocabulary."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from porism.corpus.sources.tables import utf8_text
from porism.errors import PorismError
from porism.files import report_unreadable

# Columns of the files of all years, and our fields.
COLUMNS = {
    "category": "category",
    "topictype": "category",
    "topic type": "category",
    "type": "category",
    "difficulty": "difficulty",
    "dependency": "dependency",
    "dependence": "dependency",
    "multi-part": "multi_part",
    "multi_part": "multi_part",
    "complexity": "complexity",
}
WORDS = {"calculation": "computation"}
DIFFICULTY = {"low": "easy", "high": "hard"}
ALLOWED = {
    "category": ("computation", "concept", "proof"),
    "difficulty": ("easy", "medium", "hard"),
    "dependency": ("text", "formula", "both"),
    "multi_part": ("no", "yes"),
    "complexity": ("low", "medium", "high"),
}


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """The properties of a topic. Each is a tuple, since a topic may be "Proof & Concept"; empty if unknown."""

    topic: str
    category: tuple[str, ...] = ()
    difficulty: tuple[str, ...] = ()
    dependency: tuple[str, ...] = ()
    multi_part: tuple[str, ...] = ()
    complexity: tuple[str, ...] = ()

    def values(self, field: str) -> tuple[str, ...]:
        """Return the values of a field named as in ALLOWED."""
        found: tuple[str, ...] = getattr(self, field)
        return found


@report_unreadable("write one row per topic, with named columns")
def read_topic_info(path: str | Path) -> dict[str, TopicInfo]:
    """Read topic information from CSV, TSV or JSON, by topic."""
    with utf8_text(path) as stream:
        text = stream.read()
    if text.lstrip().startswith("{"):
        rows = {str(topic): row for topic, row in json.loads(text).items()}
    else:
        first = text.partition("\n")[0]
        reader = csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in first else ",")
        if "topic" not in {(name or "").lower() for name in reader.fieldnames or ()}:
            raise PorismError(
                "no column named Topic",
                where=f"{path}:1",
                fix="name the columns: Topic, Category, Difficulty, Dependency, Multi-Part",
            )
        rows = {next(value for key, value in row.items() if key.lower() == "topic"): row for row in reader}
    # One published file repeats its header as a topic.
    infos = {topic: topic_info(topic, row, f"{path}: topic {topic}") for topic, row in rows.items() if "." in topic}
    if not infos:
        raise PorismError("no topic in this file", where=str(path), fix="one row per topic, ids like A.301")
    return infos


def topic_info(topic: str, row: Mapping[str, object], where: str) -> TopicInfo:
    """Read one row and translate its words."""
    found: dict[str, tuple[str, ...]] = {}
    for column, value in row.items():
        field = COLUMNS.get(str(column).strip().lower())
        if field is None or value in (None, ""):
            continue
        words = tuple(translate(field, word) for word in str(value).split(" & "))
        for word in words:
            if word not in ALLOWED[field]:
                raise PorismError(
                    f"{column} is {value!r}", where=where, fix=f"write one of {', '.join(ALLOWED[field])}"
                )
        found[field] = words
    return TopicInfo(topic, **found)


def translate(field: str, word: str) -> str:
    """Translate a word: calculation is computation, a low difficulty is easy."""
    plain = word.strip().lower()
    return DIFFICULTY.get(plain, plain) if field == "difficulty" else WORDS.get(plain, plain)
