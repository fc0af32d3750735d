from __future__ import annotations

import pytest

from porism.lab.judging.agreement import (
    alpha,
    disagreements,
    kappa,
    mean_agreement,
    overall_alpha,
    pair_agreements,
    weighted_kappa,
)
from porism.lab.judging.assessments import Assessment


def judgment(assessor: str, item: str, grade: int, instance: int = 1) -> Assessment:
    return Assessment(1, "A.1", item, instance, assessor, grade)


def test_kappa_of_a_two_by_two_table_computed_by_hand() -> None:
    # po = 35/50 = .7; pe = (25*30 + 25*20)/2500 = .5; (.7 - .5)/.5 = .4
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert kappa(pairs) == 0.4


def test_kappa_of_four_grades_computed_by_hand() -> None:
    # Items 1..10. Grades of a: 3 3 2 2 1 1 0 0 0 0; of b: 3 2 2 1 1 0 0 0 0 3.
    # Same: 3, 2, 1, 0, 0, 0 -> po = 6/10. Marginals a: 4 2 2 2 (0 1 2 3), b: 4 2 2 2 -> pe = (16 + 4 + 4 + 4)/100 =
    # .28. kappa = .32 / .72 = 4/9.
    pairs = list(zip([3, 3, 2, 2, 1, 1, 0, 0, 0, 0], [3, 2, 2, 1, 1, 0, 0, 0, 0, 3], strict=True))
    assert kappa(pairs) == pytest.approx(4 / 9, abs=1e-15)
    # H+M: a 1111000000, b 1110000001 -> po = .8, pe = .16 + .36 = .52, kappa = .28/.48 = 7/12.
    assert kappa([(a >= 2, b >= 2) for a, b in pairs]) == pytest.approx(7 / 12, abs=1e-15)


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([], None),
        ([(0, 0)], 1.0),
        ([(0, 0)] * 5, 1.0),
        ([(0, 1)] * 5, 0.0),
        ([(0, 1), (1, 0)], -1.0),
        ([(0, 0), (0, 1)], 0.0),
    ],
)
def test_kappa_of_degenerate_tables(pairs: list[tuple[int, int]], value: float | None) -> None:
    assert kappa(pairs) == value


def test_weighted_kappa_computed_by_hand() -> None:
    # Observed: 1 + 1, times n = 5. Expected over the two marginals: 4 + 36 + 1 + 8 + 4 + 2 + 2 + 9 + 8 = 74.
    assert weighted_kappa([(0, 0), (1, 1), (2, 3), (3, 3), (0, 1)]) == pytest.approx(1 - 10 / 74, abs=1e-15)
    # A far miss weighs more than a near one; plain kappa does not see the difference.
    near, far = [(3, 3), (0, 0), (3, 2), (0, 0)], [(3, 3), (0, 0), (3, 0), (0, 0)]
    assert (weighted_kappa(near) or 0) > (weighted_kappa(far) or 0)
    assert [weighted_kappa(pairs) for pairs in ([], [(2, 2)], [(0, 3), (3, 0)])] == [None, 1.0, -1.0]


def test_alpha_of_the_example_in_krippendorffs_paper() -> None:
    # Four observers, twelve units, with gaps (Krippendorff 2011, section E): ordinal alpha is .815.
    observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[int(grade) for grade in column if grade != "."] for column in zip(*observers, strict=True)]
    assert alpha(units) == pytest.approx(0.815, abs=5e-4)
    assert [alpha(units) for units in ([], [[2]], [[1, 1], [1, 1]], [[0, 1], [1, 0]])] == [
        None,
        None,
        1.0,
        pytest.approx(-0.5),
    ]


def test_alpha_takes_all_assessors_together_and_leaves_codes_out() -> None:
    given = [
        judgment(name, item, grade)
        for name, row in {"a": "3015", "b": "3010", "c": "30"}.items()
        for item, grade in zip("1234", map(int, row), strict=False)
    ]
    assert overall_alpha(given) == 1.0
    assert overall_alpha([judgment("a", "1", 3)]) is None


def test_pairs_use_items_that_both_graded_and_count_codes_separately() -> None:
    given = [
        judgment("a", "1", 3),
        judgment("b", "1", 3),
        judgment("a", "2", 0),
        judgment("b", "2", 0),
        judgment("a", "3", 5),
        judgment("b", "3", 1),
    ]
    given += [judgment("a", "4", 2), judgment("c", "9", 1)]
    (pair,) = pair_agreements(given)
    assert (pair.first, pair.second, pair.items, pair.kappa, pair.kappa_hm, pair.ungraded) == ("a", "b", 2, 1.0, 1.0, 1)


def test_each_instance_of_a_formula_is_a_judgment_of_its_own() -> None:
    given = [judgment("a", "10", 3, 1), judgment("a", "10", 0, 2), judgment("b", "10", 0, 1), judgment("b", "10", 3, 2)]
    (pair,) = pair_agreements(given)
    assert (pair.items, pair.kappa) == (2, -1.0)


def test_the_mean_is_over_pairs_not_pooled() -> None:
    given = [
        judgment(name, item, grade)
        for name, row in {"a": [3, 0], "b": [3, 0], "c": [0, 3]}.items()
        for item, grade in zip("12", row, strict=True)
    ]
    pairs = pair_agreements(given)
    assert [(pair.first, pair.second, pair.kappa) for pair in pairs] == [
        ("a", "b", 1.0),
        ("a", "c", -1.0),
        ("b", "c", -1.0),
    ]
    assert mean_agreement(pairs) == (pytest.approx(-1 / 3),) * 3
    assert mean_agreement(pairs, "a") == (0.0, 0.0, 0.0)
    assert mean_agreement([], "a") == (None, None, None)


def test_disagreements_with_the_largest_spread_come_first() -> None:
    given = [
        judgment("a", "1", 3),
        judgment("b", "1", 3),
        judgment("a", "2", 3),
        judgment("b", "2", 2),
        judgment("a", "3", 0),
        judgment("b", "3", 3),
    ]
    assert [(one.item, one.spread) for one in disagreements(given)] == [("3", 3), ("2", 1)]
