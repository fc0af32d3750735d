"""The engine behind the small interface: weights, counts, required terms, adding, removing."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.index.postings import Postings, PostingsWriter, Term

FIELDS = ("words", "tuples")
DOCUMENTS = {
    7: {"words": "prime number prime", "tuples": "(v!x,+,n) (+,n!1,n)"},
    9: {"words": "number"},
    11: {"words": "group"},
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with PostingsWriter(tmp_path / "terms", FIELDS) as writer:
        for key, fields in DOCUMENTS.items():
            writer.add(key, fields)
    return tmp_path / "terms"


def bm25(tf: int, df: int, length: int, documents: int, average: float) -> float:
    idf = math.log(1 + (documents - df + 0.5) / (df + 0.5))
    return idf * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / average))


def test_scores_are_bm25(directory: Path) -> None:
    found = Postings.open(directory).search([Term("words", "prime")], 10)
    assert found.keys.tolist() == [7]
    assert found.scores[0] == pytest.approx(bm25(2, 1, 3, 3, 5 / 3), rel=1e-5)


def test_weights_multiply_and_terms_add(directory: Path) -> None:
    postings = Postings.open(directory)
    one = postings.search([Term("words", "prime")], 10).scores[0]
    two = postings.search([Term("words", "number")], 10)
    both = postings.search([Term("words", "prime", 3.0), Term("words", "number", 0.5)], 10)
    assert both.keys.tolist() == [7, 9]
    assert both.scores[0] == pytest.approx(3 * one + 0.5 * two.scores[two.keys.tolist().index(7)], rel=1e-5)


def test_terms_with_punctuation_stay_whole(directory: Path) -> None:
    postings = Postings.open(directory)
    assert postings.search([Term("tuples", "(v!x,+,n)")], 10).keys.tolist() == [7]
    assert postings.search([Term("tuples", "v!x")], 10).keys.tolist() == []
    assert postings.document_frequency("tuples", "(+,n!1,n)") == 1
    assert len(postings) == 3


def test_required_terms_narrow_and_do_not_score(directory: Path) -> None:
    postings = Postings.open(directory)
    free = postings.search([Term("words", "number")], 10)
    bound = postings.search([Term("words", "number")], 10, required=[Term("words", "prime")])
    assert bound.keys.tolist() == [7]
    assert bound.scores[0] == pytest.approx(free.scores[free.keys.tolist().index(7)])


def test_equal_scores_come_by_key(tmp_path: Path) -> None:
    with PostingsWriter(tmp_path / "terms", ("words",)) as writer:
        for key in (5, 3, 8):
            writer.add(key, {"words": "same"})
    assert Postings.open(tmp_path / "terms").search([Term("words", "same")], 10).keys.tolist() == [3, 5, 8]


def test_adding_and_removing_are_seen_by_new_readers_only(directory: Path) -> None:
    old = Postings.open(directory)
    with PostingsWriter(directory, FIELDS) as writer:
        writer.remove(9)
        writer.add(12, {"words": "number"})
    assert sorted(old.search([Term("words", "number")], 10).keys.tolist()) == [7, 9]
    assert sorted(Postings.open(directory).search([Term("words", "number")], 10).keys.tolist()) == [7, 12]


def test_a_failed_block_leaves_the_postings_as_they_were(directory: Path) -> None:
    with contextlib.suppress(ZeroDivisionError), PostingsWriter(directory, FIELDS) as writer:
        writer.add(12, {"words": "number"})
        1 / 0  # noqa: B018
    assert len(Postings.open(directory)) == 3


def test_nothing_asked_nothing_found(directory: Path) -> None:
    assert Postings.open(directory).search([], 10).keys.tolist() == []


def test_a_directory_without_postings_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(PorismError) as caught:
        Postings.open(tmp_path)
    assert caught.value.where == str(tmp_path)
    assert caught.value.fix == "build the index again: porism index"
