"""The curve over the judgments, and the hint when to stop."""

from __future__ import annotations

import numpy as np
import pytest

from porism.errors import PorismError
from porism.evaluate.measures.measure import parse
from porism.evaluate.reliability import Stability, StabilityPoint, _taus, stability
from porism.evaluate.runs.run import Run, RunRanking
from porism.evaluate.significance import kendall
from porism.lab.sampling import shuffled
from porism.records import Judgment

TOPICS = [f"A.{number}" for number in range(1, 31)]
ITEMS = [str(number) for number in range(1, 11)]
NDCG = parse("nDCG'")


def run(name: str, misplaced: int) -> Run:
    """A run that ranks the one relevant item of each topic, item 1, at this place."""
    order = [*ITEMS[1 : misplaced + 1], ITEMS[0], *ITEMS[misplaced + 1 :]]
    return Run(name, "task1", {topic: RunRanking(order, [float(10 - at) for at in range(10)]) for topic in TOPICS})


def judgments() -> list[Judgment]:
    return shuffled([Judgment(topic, item, 3 if item == "1" else 0) for topic in TOPICS for item in ITEMS], 7, "test")


def test_an_order_without_doubt_becomes_stable_before_the_last_judgment() -> None:
    found = stability(judgments(), [run("good", 0), run("fair", 3), run("poor", 8)], NDCG)
    assert found.points[-1].tau == found.points[-1].low == found.points[-1].final == 1.0
    assert (found.points[-1].judgments, found.points[-1].topics) == (300, 30)
    assert found.stable_from is not None
    assert found.stable_from < 300
    assert found.hint.startswith("The order of the systems has been stable since")


def test_random_systems_never_become_stable() -> None:
    runs = []
    for name in "abcdef":
        rankings = {
            topic: RunRanking(shuffled(ITEMS, 3, name, topic), [float(10 - at) for at in range(10)]) for topic in TOPICS
        }
        runs.append(Run(name, "task1", rankings))
    found = stability(judgments(), runs, NDCG)
    assert found.stable_from is None
    assert "not stable after 300 judgments" in found.hint


def test_the_same_seed_gives_the_same_curve() -> None:
    runs = [run("a", 1), run("b", 2)]
    assert stability(judgments(), runs, NDCG, seed=5) == stability(judgments(), runs, NDCG, seed=5)


def test_the_hint_asks_for_topics_when_more_judgments_no_longer_help() -> None:
    flat = [StabilityPoint(10 * at, 5, 0.7, 0.5, 0.9) for at in range(1, 21)]
    assert "Judge more topics" in Stability(tuple(flat), None).hint
    rising = [StabilityPoint(10 * at, 5, 0.04 * at, 0.0, 0.9) for at in range(1, 21)]
    assert Stability(tuple(rising), None).hint.endswith("go on judging.")


def test_tau_is_that_of_scipy() -> None:
    generator = np.random.default_rng(1)
    rows, reference = generator.integers(0, 5, (20, 8)).astype(float), np.arange(8.0)
    assert _taus(rows, reference) == pytest.approx([kendall(row, reference) for row in rows])


@pytest.mark.parametrize(
    ("given", "runs", "message"),
    [([], 2, "there are no judgments yet"), ([Judgment("A.1", "1", 3)], 1, "takes at least two runs")],
)
def test_too_little_to_compare_is_an_error(given: list[Judgment], runs: int, message: str) -> None:
    with pytest.raises(PorismError, match=message):
        stability(given, [run(str(number), number) for number in range(runs)], NDCG)


def test_early_points_without_two_topics_have_no_tau() -> None:
    given = [Judgment("A.1", item, 3 if item == "1" else 0) for item in ITEMS]
    found = stability(given, [run("a", 0), run("b", 4)], NDCG)
    assert {point.tau for point in found.points} == {None}
    assert found.stable_from is None
