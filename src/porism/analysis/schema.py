"""The schema of an index of posts: families of terms, fields with raw counts, and views that weight the fields.

The document is the post: a question with its title, body, tags, comments and the titles of linked questions, or an
answer with its body and comments. A thread is a question and its answers, whose rows follow each other. Counts are
stored raw per field; a view combines fields with weights when a query runs, over threads, questions or answers. If you
change FAMILIES or FIELDS, change the format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

QUESTION_FIELDS = ("title", "question", "tags", "linked_titles", "question_comments")
ANSWER_FIELDS = ("answer", "answer_comments")
HEADING_FIELDS = ("section", "chapter", "book")  # what a title is part of, from the inside out
FIELDS = (
    *QUESTION_FIELDS,
    *ANSWER_FIELDS,
    *HEADING_FIELDS,
)  # the position is the number of the field on disk; four bits hold it

TEXT_FAMILIES = ("words", "pairs")
FORMULA_FAMILIES = ("tuples", "paths", "parts")
TERM_FAMILIES = (*TEXT_FAMILIES, *FORMULA_FAMILIES)
TAG_FAMILY = "tag"  # whole tags, such as real-analysis
VISUAL_FAMILY = "formula"  # visual ids of the formulas of a post
NAME_FAMILY = "name"  # whole names: titles, and terms that a text defines
FAMILIES = (*TERM_FAMILIES, TAG_FAMILY, VISUAL_FAMILY, NAME_FAMILY)

Unit = Literal["thread", "question", "answer", "formula"]


@dataclass(frozen=True, slots=True)
class View:
    """Documents seen as a weighted sum of fields: `View("thread", (("title", 20.0), ("question", 5.0)))`.

    A count or a length in a view is the sum over its fields of weight x count or length."""

    unit: Unit
    weights: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, unit: Unit, weights: Mapping[str, float]) -> View:
        """Make a view from a mapping of fields to weights."""
        return cls(unit, tuple(weights.items()))

    def vector(self, fields: tuple[str, ...] = FIELDS) -> tuple[float, ...]:
        """Return the weight of every field, 0 for those that the view leaves out."""
        named = dict(self.weights)
        unknown = named.keys() - set(fields)
        if unknown:
            raise ValueError(f"no field is named {sorted(unknown)[0]}; the fields are {', '.join(fields)}")
        return tuple(named.get(field, 0.0) for field in fields)


# A title is short and says what a thread is about, and answers, together longer than everything else, must not drown
# the question. Large weights also mean that BM25 hardly counts a repeated word twice, which suits long threads.
THREAD = View.of(
    "thread",
    {
        "title": 20.0,
        "question": 5.0,
        "tags": 5.0,
        "linked_titles": 4.0,
        "question_comments": 1.0,
        "answer": 1.0,
        "answer_comments": 0.5,
        "section": 5.0,
        "chapter": 2.5,
        "book": 1.5,
    },
)
# A document without answers: a note, a statement, an entry of an encyclopedia. It is short, so that a repeated word
# counts as BM25 has it.
DOCUMENT = View.of(
    "thread",
    {
        "title": 3.0,
        "question": 1.0,
        "tags": 1.0,
        "linked_titles": 0.8,
        "question_comments": 0.2,
        "section": 1.0,
        "chapter": 0.5,
        "book": 0.3,
    },
)
TITLE = View.of("thread", {"title": 1.0, "tags": 1.0})
LINKS = View.of("thread", {"linked_titles": 1.0})
HEADINGS = View.of("thread", dict.fromkeys(HEADING_FIELDS, 1.0))
ANSWER = View.of("answer", {"answer": 1.0, "answer_comments": 0.5})
EVERY_FIELD = View.of("thread", dict.fromkeys(FIELDS, 1.0))
FORMULA = View.of("formula", {"formula": 1.0})  # a distinct formula has a single field
VIEWS: Mapping[str, View] = {"thread": THREAD, "title": TITLE, "headings": HEADINGS, "links": LINKS, "answer": ANSWER}
