"""What an index answers to a set of queries, as values that two indexes can be compared by."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import porism
from porism.search.engine import Engine
from store.segments.site import FORMULAS, QUERIES

TOLERANCE = (
    1e-6  # of scores: formulas are compared in single precision, and their sums depend on the order of label ids
)


class Answer(NamedTuple):
    """A hit: what it is (the id of a post, or the LaTeX of a formula), and its score."""

    name: str
    score: float


def answers_of(engine: Engine) -> dict[str, list[Answer]]:
    """Return the hits of all queries: answers, questions, filtered, and formulas."""
    found: dict[str, list[Answer]] = {}
    for query in QUERIES:
        for name, options in (
            ("answers", {}),
            ("questions", {"kind": "questions"}),
            ("years", {"years": (2012, 2016)}),
            ("tags", {"kind": "questions", "tags": ("geometry",)}),
            ("accepted", {"accepted": True}),
        ):
            hits = engine.search(query, k=100, **options).hits
            found[f"{name}: {query}"] = [Answer(str(hit.id), hit.score) for hit in hits]
    for latex in (*FORMULAS[:6], "x^2"):
        formulas = [Answer(f"{hit.latex} {hit.use_count}", hit.score) for hit in engine.formulas(latex, k=1000).hits]
        # Equal scores are in the order of visual ids, which depend on the order in which formulas came.
        found[f"formulas: {latex}"] = sorted(formulas, key=lambda hit: (-round(hit.score, 5), hit.name))
    return found


def assert_same(one: Path, other: Path) -> None:
    """Fail if two indexes differ in any answer."""
    assert_same_answers(porism.open(one), porism.open(other))


def assert_same_answers(one: Engine, other: Engine) -> None:
    """Fail if two engines differ in any answer: other hits, another order, or scores that differ by more than
    TOLERANCE."""
    first, second = answers_of(one), answers_of(other)
    for query, hits in first.items():
        expected = second[query]
        assert [hit.name for hit in hits] == [hit.name for hit in expected], query
        for hit, wanted in zip(hits, expected, strict=True):
            assert abs(hit.score - wanted.score) <= TOLERANCE * max(1.0, abs(wanted.score)), (query, hit, wanted)
