from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from porism.corpus.topics.files import TopicInfo
from porism.errors import PorismError
from porism.evaluate.measures.measure import parse, parse_all
from porism.evaluate.measures.score import score, score_subsets
from porism.evaluate.reliability import (
    judged_by_depth,
    leave_team_out,
    precision_by_depth,
    recall_by_depth,
    relevant_found,
)
from porism.evaluate.runs.run import Run, RunRanking
from porism.evaluate.significance import (
    bootstrap,
    compare,
    compare_all,
    correlations,
    differences,
    holm,
    kendall,
    pearson,
    randomisation,
    t_test,
)

from .random_runs import random_case

NDCG = parse("nDCG'")


def test_a_run_against_itself() -> None:
    qrels, run = random_case(1)
    scores = score(qrels, run, [NDCG])
    found = compare(scores, scores, NDCG)
    assert (found.difference, found.p_t, found.p_randomisation, found.wins, found.losses, found.ties) == (
        0.0,
        1.0,
        1.0,
        0,
        0,
        len(scores.topics),
    )


def test_small_cases_by_enumeration() -> None:
    values = np.array([0.1, 0.2, 0.3, 0.4])  # of 16 sign patterns two are as far from 0
    assert randomisation(values, 40_000, 1) == pytest.approx(2 / 16, abs=0.01)
    assert t_test(values) == pytest.approx(stats.ttest_rel([0.1, 0.2, 0.3, 0.4], [0.0] * 4).pvalue)
    assert t_test(np.array([0.5, 0.5])) == 0.0


def test_the_bootstrap_agrees_with_scipy_and_is_the_same_each_time() -> None:
    values = np.random.default_rng(3).random(40)
    ours = bootstrap(values, 20_000, 7)
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(8)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert ours == bootstrap(values, 20_000, 7)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(deadline=None)
def test_holm_never_lowers_and_keeps_the_order(values: list[float]) -> None:
    corrected = holm(values)
    assert all(one >= two for one, two in zip(corrected, values, strict=True))
    assert all(value <= 1 for value in corrected)
    order = sorted(range(len(values)), key=lambda place: values[place])
    assert [corrected[place] for place in order] == sorted(corrected)


def test_all_pairs_are_corrected_within_a_measure() -> None:
    qrels, run = random_case(1)
    measures = parse_all(["nDCG' MAP'"])
    every = []
    for step in range(3):  # the same items with the scores turned round
        rankings = {
            topic: RunRanking(row.items, row.scores[step:] + row.scores[:step]) for topic, row in run.rankings.items()
        }
        every.append(score(qrels, Run(f"r{step}", "trec", rankings), measures))
    found = compare_all(every, measures, rounds=500)
    assert len(found) == 6
    assert [pair.p_holm for pair in found[:3]] == holm([pair.p_randomisation for pair in found[:3]])
    assert sum(differences(every[0], every[1], NDCG).values()) / found[0].topics == pytest.approx(found[0].difference)


def test_runs_without_common_topics_cannot_be_compared() -> None:
    one = score({"A.1": {"a": 3}}, Run("one", "trec", {"A.1": RunRanking(["a"], [1.0])}), [NDCG])
    with pytest.raises(
        PorismError,
        match=re.escape("runs one and one have fewer than two topics in common\n  fix: compare runs on the same qrels"),
    ):
        compare(one, one, NDCG)


@pytest.mark.shared
def test_table_6_comes_from_table_5(shared_data: Path) -> None:
    with open(shared_data / "published/table5.tsv") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    columns = {
        name: [float(row[key]) for row in rows]
        for name, key in (("AR", "ar"), ("P@1", "p1"), ("LO", "lo"), ("CS", "cs"))
    }
    found = {"pearson_r": correlations(columns, "Pearson r"), "kendall_tau_b": correlations(columns, "Kendall tau-b")}
    with open(shared_data / "published/table6.tsv") as stream:
        cells = list(csv.DictReader(stream, delimiter="\t"))
    assert len(cells) == 32
    for cell in cells:
        assert f"{found[cell['coefficient']][cell['measure_a'], cell['measure_b']]:.3f}" == cell["value"], cell
    ui = [float(row["ui"]) for row in rows]
    assert (f"{pearson(ui, columns['AR']):.2f}", f"{kendall(ui, columns['AR']):.2f}") == ("-0.97", "-0.88")


def test_equal_values_have_no_correlation() -> None:
    with pytest.raises(PorismError, match="all values are equal, so there is no correlation"):
        pearson([1, 1], [1, 2])
    with pytest.raises(
        PorismError, match=re.escape("unknown coefficient 'x'\n  fix: choose one of Pearson r, Kendall tau-b")
    ):
        correlations({"a": [1, 2]}, "x")
    assert correlations({"a": [1, 2], "b": [3, 3]}, "Pearson r") == {
        ("a", "a"): 1.0,
        ("a", "b"): None,
        ("b", "a"): None,
        ("b", "b"): None,
    }


def test_a_topic_of_two_categories_is_in_both_subsets() -> None:
    infos = {
        "A.1": TopicInfo("A.1", ("proof", "concept")),
        "A.2": TopicInfo("A.2", ("proof",), ("easy",)),
        "A.7": TopicInfo("A.7", ("computation",)),
    }
    qrels = {"B.1": {"a": 3}, "B.2": {"a": 3}}
    scores = score(qrels, Run("r", "trec", {"B.1": RunRanking(["a"], [1.0])}), [NDCG])
    assert [(field, value, part.mean(NDCG)) for field, value, part in score_subsets(scores, infos)] == [
        ("category", "concept", 1.0),
        ("category", "proof", 0.5),
        ("difficulty", "easy", 0.0),
    ]


def test_coverage() -> None:
    qrels = {"A.1": {"a": 3, "b": 0, "z": 2}, "A.2": {"a": 3}}
    run = Run("r", "trec", {"A.1": RunRanking(["a", "x", "b", "y"], [4.0, 3.0, 2.0, 1.0])})
    assert judged_by_depth(run, qrels, (1, 2, 4)) == [(1, 1.0), (2, 0.5), (4, 0.5)]
    assert relevant_found(run, qrels) == pytest.approx(1 / 3)
    assert recall_by_depth(run, qrels)[0] == (1, pytest.approx(0.25))
    assert precision_by_depth(run, qrels)[1] == (2, pytest.approx(0.25))
    with pytest.raises(PorismError, match="run r and the qrels have no topic in common"):
        judged_by_depth(run, {"B.1": {"a": 1}})


def test_leaving_a_team_out_removes_what_only_it_contributed() -> None:
    qrels = {"A.1": {"a": 3, "b": 3, "c": 0}}
    one = Run("one", "trec", {"A.1": RunRanking(["a", "c"], [2.0, 1.0])})
    two = Run("two", "trec", {"A.1": RunRanking(["b", "c"], [2.0, 1.0])})
    rows = leave_team_out(qrels, {"T": [one], "U": [two]}, parse("MAP'"))
    assert [(row.team, row.removed, row.full, row.reduced) for row in rows] == [("T", 1, 0.5, 0.0), ("U", 1, 0.5, 0.0)]
    rows = leave_team_out(qrels, {"T": [one, two], "U": [two]}, parse("MAP'"))
    assert [row.removed for row in rows] == [1, 1, 0]
    alone = Run("alone", "trec", {"A.1": RunRanking(["a"], [1.0])})
    rows = leave_team_out(qrels, {"T": [alone], "U": [two]}, parse("MAP'"))
    assert (rows[0].full, rows[0].reduced, rows[0].change) == (0.5, None, None)  # nothing judged is left of it
