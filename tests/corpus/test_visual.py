"""Visual ids and their repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.build.visual import Assigned, recluster, visual_key, visual_text
from porism.formula import parse
from porism.formula.parsed import opaque

from .small import built


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("e^{x}", "e^x"),
        ("f''", r"f^{\prime\prime}"),
        (r"f:C\to B", r"f\colon C\to B"),
        (r"\binom{3}{1}", r"3\choose 1"),
        (r"a\,b", "ab"),
        (r"\infty", "∞"),
    ],
)
def test_formulas_that_share_a_visual_id_in_the_lab(one: str, other: str) -> None:
    assert visual_text(parse(one)) == visual_text(parse(other))


def test_the_key_of_a_square() -> None:
    assert visual_text(parse("x^2")) == ("slt", "[V!x,a[N!2]]")


def test_layout_keys_and_latex_keys_never_mix() -> None:
    assert visual_text(opaque("a b")) == ("latex", "ab")
    assert visual_text(parse(r"\newcommand{\a}{b}")) == ("latex", r"\newcommand{\a}{b}")
    assert visual_key(parse("x")) != visual_key(parse("y"))


def test_spaces_of_any_width_share_a_key_but_removed_content_does_not() -> None:
    assert visual_text(parse(r"\quad")) == visual_text(parse(r"\ \ \\"[:-1])) == ("slt", "[W!]")
    assert visual_text(parse("</p><p>")) == ("latex", "</p><p>")


A, B, C = ("slt", "[V!a]"), ("slt", "[V!b]"), ("latex", "c")


def test_sound_clusters_stay() -> None:
    assert recluster([Assigned(1, 10, A), Assigned(2, 10, A), Assigned(3, 11, B)]) == {1: 10, 2: 10, 3: 11}


def test_the_larger_part_keeps_the_id_and_the_rest_joins_equal_keys() -> None:
    formulas = [Assigned(1, 10, B), Assigned(2, 10, A), Assigned(3, 10, A), Assigned(4, 11, B)]
    assert recluster(formulas) == {2: 10, 3: 10, 1: 11, 4: 11}


def test_a_part_without_a_cluster_gets_a_new_id_shared_by_equal_keys() -> None:
    formulas = [
        Assigned(1, 10, A),
        Assigned(2, 10, A),
        Assigned(3, 10, C),
        Assigned(4, 11, B),
        Assigned(5, 11, B),
        Assigned(6, 11, C),
    ]
    assert recluster(formulas) == {1: 10, 2: 10, 4: 11, 5: 11, 3: 12, 6: 12}
    assert recluster(formulas, first_new=100)[3] == 100


def test_a_tie_goes_to_the_larger_cumulative_relevance() -> None:
    formulas = [Assigned(1, 10, A), Assigned(2, 10, A), Assigned(3, 10, B), Assigned(4, 10, B)]
    # One grade of 3 against two of 2: the sum decides, not the highest grade.
    assert recluster(formulas, {1: 3, 3: 2, 4: 2})[3] == 10
    assert recluster(formulas, {1: 3, 3: 2, 4: 2})[1] == 11


def test_a_second_tie_goes_to_the_lowest_formula_id() -> None:
    assert recluster([Assigned(2, 10, A), Assigned(1, 10, B)]) == {1: 10, 2: 11}


def test_a_collection_can_be_repaired(tmp_path: Path) -> None:
    table = tmp_path / "formulas.tsv"
    table.write_text("id\tvisual_id\tlatex\n1\t5\tx\n2\t5\tx\n3\t5\ty\n4\t6\t{y}\n")
    made = built(tmp_path / "c", table)
    assert recluster(Assigned(*row) for row in made.visual_keys()) == {1: 5, 2: 5, 3: 6, 4: 6}


def test_mixed_keys_of_one_text_are_split() -> None:
    formulas = [Assigned(1, 10, ("slt", "x")), Assigned(2, 10, ("latex", "x"))]
    assert recluster(formulas) == {1: 10, 2: 11}
