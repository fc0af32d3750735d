"""The suites of bench/typed: their sizes, their threads, and how their queries are read. `python -m bench typed`
measures them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from porism.text.typed.box import split_query

TABLES = Path(__file__).parents[3] / "bench/typed"


def rows(name: str) -> list[list[str]]:
    lines = (TABLES / f"{name}.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def test_the_suites_have_the_sizes_that_the_figures_are_for() -> None:
    kinds = Counter(kind for _, kind, _, _ in rows("queries"))
    assert kinds.total() >= 150
    assert kinds["ascii"] + kinds["unicode"] >= 60
    assert len(rows("wildcards")) >= 60
    assert len(rows("spelling")) >= 100
    for name in ("queries", "wildcards", "spelling"):
        halves = Counter(row[0] for row in rows(name))
        assert set(halves) == {"development", "check"}
        assert abs(halves["development"] - halves["check"]) <= 3


def test_typed_mathematics_is_read_as_formulas() -> None:
    typed = [query for _, kind, query, _ in rows("queries") if kind in ("ascii", "unicode", "latex")]
    words = [query for query in typed if all(part.kind == "text" for part in split_query(query))]
    assert words == ["AB and BA same characteristic polynomial"]


@pytest.mark.parametrize("query", [query for _, kind, query, _ in rows("queries") if kind == "words"])
def test_words_stay_words(query: str) -> None:
    formulas = [part for part in split_query(query) if part.kind == "formula"]
    assert all(part.words or not part.source.isalpha() for part in formulas)


@pytest.mark.shared
def test_every_thread_is_in_the_slice(shared_data: Path) -> None:
    with (shared_data / "slice/posts.jsonl").open(encoding="utf-8") as lines:
        known = {str(json.loads(line)["thread_id"]) for line in lines}
    named = {thread for _, _, _, threads in rows("queries") for thread in threads.split()}
    named |= {
        thread
        for _, kind, _, found in rows("wildcards")
        if kind == "answers" and found != "*"
        for thread in found.split()
    }
    assert named <= known
