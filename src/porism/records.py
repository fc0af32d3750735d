"""Records that every part of Porism shares: topics, queries, hits, judgments, explanations. They depend on no file and
no library."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TopicFormula:
    """A formula of a topic: its id (`q_12`), its LaTeX and its field; `mathml` (Presentation) and `content` are the
    official ones, if given."""

    id: str
    latex: str
    field: Literal["title", "question"] = "question"
    mathml: str = ""
    content: str = ""
    source: str = dataclasses.field(default="", compare=False)
    """The formula as the topic writes it, where the text has no id for it and the id is that of a row of the table."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a test collection. `title` and `question` are HTML in the official form; `latex` is the query formula
    of Task 2; `post_id` is the question on the site from which it was made, if known."""

    id: str
    title: str
    question: str = ""
    tags: tuple[str, ...] = ()
    formulas: tuple[TopicFormula, ...] = ()
    formula_id: str = ""
    latex: str = ""
    post_id: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """What a person or a topic asks: text with formulas between dollar signs, and what narrows the result."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """An item of a ranked list."""

    id: int
    score: float


@dataclass(frozen=True, slots=True)
class Judgment:
    """What an assessor, or a qrels file, says of an item for a topic: 0 to 3, or a code (5 failure, 6 do not know)."""

    topic: str
    item: str
    grade: int


@dataclass(frozen=True, slots=True)
class Binding:
    """A variable or wildcard of the query (`name`), and what it is in the formula found (`value`)."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a score is what it is. The values of the parts sum to `value`.

    `query_nodes` and `item_nodes` are the matching MathML elements of both formulas, in pairs, which the page
    highlights."""

    value: float
    reason: str
    parts: tuple[Explanation, ...] = ()
    query_nodes: tuple[int, ...] = ()
    item_nodes: tuple[int, ...] = ()
    bindings: tuple[Binding, ...] = ()

    @classmethod
    def total(cls, reason: str, parts: Iterable[Explanation]) -> Explanation:
        """Return the explanation of a sum."""
        kept = tuple(parts)
        return cls(sum(part.value for part in kept), reason, kept)


def ranked(hits: Iterable[Hit]) -> list[Hit]:
    """The order of hits that is the same everywhere: score down, then id down as text (as trec_eval does)."""
    return sorted(hits, key=lambda hit: (hit.score, str(hit.id)), reverse=True)


def topic_key(topic: str) -> tuple[str, int, str]:
    """Return a sort key that puts A.2 before A.10."""
    number = re.search(r"\d+", topic)
    return (topic[: number.start()] if number else topic, int(number.group()) if number else 0, topic)
