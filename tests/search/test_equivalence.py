"""The equivalence suite: pairs that must find each other, and near misses that must not rank above them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from formula_indexes import FormulaIndex
from porism.files import open_text

HERE = Path(__file__).parent
TOP = 3


class Pair(NamedTuple):
    kind: str
    query: str
    formula: str


def lines(name: str) -> list[list[str]]:
    text = (HERE / name).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


PAIRS = [Pair(*line) for line in lines("equivalence.txt")]
NOT = lines("equivalence_not.txt")
PLANTED = [*dict.fromkeys([pair.formula for pair in PAIRS] + [formula for _, formula in NOT])]


def failures(index: FormulaIndex) -> list[str]:
    """Describe every pair that fails."""
    found: list[str] = []
    for pair in PAIRS:
        names = [index.latex(hit.visual_id) for hit in index.searcher.search(pair.query, 300)]
        place = names.index(pair.formula) if pair.formula in names else len(names)
        if place >= TOP:
            found.append(f"{pair.kind}: {pair.formula} has rank {place + 1} for {pair.query}, after {names[:TOP]}")
        found += [
            f"{other} ranks above {pair.formula} for {query}"
            for query, other in NOT
            if query == pair.query and other in names[:place]
        ]
    return found


def test_the_suite_has_enough_pairs_of_every_kind() -> None:
    kinds: Sequence[str] = [pair.kind for pair in PAIRS]
    assert len(PAIRS) >= 150
    assert len(NOT) >= 100
    assert {query for query, _ in NOT} <= {pair.query for pair in PAIRS}
    assert set(kinds) == {
        "renamed", "commuted", "binomial", "fraction", "exponential", "root", "subformula", "wildcard", "index", "inequality",
        "notation",
    }  # fmt: skip


def test_among_the_formulas_of_the_suite(tmp_path: Path) -> None:
    assert failures(FormulaIndex.make(tmp_path, PLANTED)) == []


@pytest.mark.shared
def test_among_all_formulas_of_the_slice(tmp_path: Path, shared_data: Path) -> None:
    with open_text(shared_data / "slice" / "formulas.tsv") as table:
        rows = [line.rstrip("\n").split("\t") for line in table]
    column = rows[0].index("latex")
    latex = dict.fromkeys(row[column] for row in rows[1:])
    assert failures(FormulaIndex.make(tmp_path, [*dict.fromkeys((*PLANTED, *latex))])) == []
