from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porism.errors import PorismError
from porism.evaluate.measures.measure import Measure, parse, parse_all
from porism.evaluate.measures.score import AVERAGES, Average, prime_filter, score
from porism.evaluate.qrels import judged_only, read_qrels
from porism.evaluate.runs.run import Run, RunRanking, read_run, write_rankings

from . import definitions
from .random_runs import random_case

EVERY = parse_all(
    [
        "nDCG nDCG' nDCG@5 nDCG'@5 MAP MAP' MAP'@7 P@10 P'@10 P'(rel=1)@3 recall@10 recall'@20 success@1 success'@5 RR RR' Rprec Rprec' bpref infAP infAP' judged@10"
    ]
)


def plain(measure: Measure, grades: list[int | None], pool: list[int]) -> float:
    """The value by the definitions."""
    row: list[int | None] = list(definitions.prime(grades)) if measure.prime else grades
    cut, rel = measure.base.params.get("cutoff", 0), measure.least_relevant
    return {
        "nDCG": lambda: definitions.ndcg(row, pool, cut),
        "MAP": lambda: definitions.average_precision(row, pool, rel, cut),
        "P": lambda: definitions.precision(row, cut, rel),
        "recall": lambda: definitions.recall(row, pool, cut, rel),
        "success": lambda: definitions.success(row, cut, rel),
        "RR": lambda: definitions.reciprocal_rank(row, rel),
        "Rprec": lambda: definitions.r_precision(row, pool, rel),
        "bpref": lambda: definitions.bpref(row, pool, rel),
        "infAP": lambda: definitions.inferred_ap(row, pool, rel),
        "judged": lambda: definitions.judged(row, cut),
    }[re.split(r"\W", str(measure))[0]]()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("average", AVERAGES)
def test_the_plain_definitions_give_the_numbers_of_trec_eval(seed: int, average: Average) -> None:
    qrels, run = random_case(seed)
    scores = score(qrels, run, EVERY, average)
    for topic in scores.topics:
        items = run.rankings[topic].in_score_order().items if topic in run.rankings else []
        grades = [qrels[topic].get(item) for item in items]
        for measure in EVERY:
            # trec_eval's infAP computes in a different order of operations
            assert scores.values[measure][topic] == pytest.approx(
                plain(measure, grades, list(qrels[topic].values())), abs=1e-6
            ), (measure, topic)


def test_inferred_ap_counts_pooled_but_unjudged_items() -> None:
    qrels = {"A.1": {"a": 3, "b": -1, "c": 0, "d": 2, "e": 2}}
    run = Run("r", "trec", {"A.1": RunRanking(list("xbacd"), [5, 4, 3, 2, 1])})
    value = score(qrels, run, [parse("infAP")]).mean(parse("infAP"))
    assert value == pytest.approx(definitions.inferred_ap([None, -1, 3, 0, 2], [3, -1, 0, 2, 2]), abs=1e-6)
    assert score({"A.1": {"a": 3, "b": -1, "c": 0}}, run, [parse("judged@2")]).mean(parse("judged@2")) == 0.0


def test_a_prime_form_of_any_measure_sees_judged_hits_only() -> None:
    qrels = {"A.1": {"a": 3, "b": 0, "c": 2}}
    run = Run("r", "trec", {"A.1": RunRanking(list("xaybc"), [5, 4, 3, 2, 1])})
    filtered = Run("r", "trec", {"A.1": RunRanking(list("abc"), [4, 2, 1])})
    for name in ("Compat{}(p=0.8)", "SetP{}", "RR{}@2", "IPrec{}@0.5"):
        plain, prime = parse(name.format("")), parse(name.format("'"))
        assert score(qrels, run, [prime]).mean(prime) == score(qrels, filtered, [plain]).mean(plain) > 0
        assert score(qrels, run, [plain]).mean(plain) < score(qrels, run, [prime]).mean(prime)


def test_a_measure_without_a_program_to_compute_it_is_reported() -> None:
    run = Run("r", "trec", {"A.1": RunRanking(["a"], [1])})
    with pytest.raises(PorismError, match=r"RBP\(rel=2\).*(?s:.)*\n  fix: install a provider of the measure"):
        score({"A.1": {"a": 3}}, run, [parse("RBP(rel=2)")])


def test_codes_5_and_6_are_not_judged() -> None:
    run = Run("r", "trec", {"A.1": RunRanking(["a", "b"], [2, 1])})
    assert score({"A.1": {"a": 5, "b": 3}}, run, [parse("nDCG'")]).mean(parse("nDCG'")) == 1.0


def test_the_three_ways_to_average() -> None:
    qrels = {"A.1": {"a": 3}, "A.2": {"a": 3}, "A.3": {"a": 3}}
    run = Run(
        "r", "trec", {"A.1": RunRanking(["a"], [1]), "A.2": RunRanking(["x"], [1]), "A.9": RunRanking(["x"], [1])}
    )
    means = {average: score(qrels, run, [parse("nDCG'")], average) for average in AVERAGES}
    assert {average: (len(one.topics), round(one.mean(parse("nDCG'")), 3)) for average, one in means.items()} == {
        "official": (1, 1.0),
        "present": (2, 0.5),
        "complete": (3, 0.333),
    }


def test_only_the_first_1000_hits_count_and_they_are_taken_before_the_filter() -> None:
    items = [str(number) for number in range(1001)]
    run = Run("r", "trec", {"A.1": RunRanking([*items, "a"], [float(-number) for number in range(1002)])})
    with pytest.raises(PorismError, match="run r has no judged hits"):
        score({"A.1": {"a": 3}}, run)


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({}, {"A.1": ["a"]}, "the qrels have no judged item\n  fix: give judgments with grades 0 to 3"),
        (
            {"A.1": {"a": 0}},
            {"A.1": ["a"]},
            "no item in the qrels has grade 1 or higher, so nDCG' cannot be computed\n  fix: give qrels with relevant items, or another rel=",
        ),
        (
            {"A.1": {"a": 1}},
            {"A.1": ["a"]},
            "no item in the qrels has grade 2 or higher, so MAP' cannot be computed\n  fix: give qrels with relevant items, or another rel=",
        ),
        ({"A.1": {"a": 5}}, {"A.1": ["a"]}, "the qrels have no judged item\n  fix: give judgments with grades 0 to 3"),
        (
            {"A.1": {"a": 3}},
            {"B.1": ["a"]},
            "run r and the qrels have no topic in common (run: B.1, qrels: A.1)\n  fix: give the qrels of the run's topics",
        ),
        (
            {"A.1": {"a": 3}},
            {},
            "run r and the qrels have no topic in common (run: none, qrels: A.1)\n  fix: give the qrels of the run's topics",
        ),
        (
            {"A.1": {"a": 3}},
            {"A.1": ["b"]},
            "run r has no judged hits, so it cannot be scored\n"
            "  fix: check that run and qrels use the same ids (Task 2: visual ids; give --collection or --visual-map)",
        ),
    ],
)
def test_what_cannot_be_scored_is_an_error(
    qrels: dict[str, dict[str, int]], run: dict[str, list[str]], message: str
) -> None:
    rankings = {topic: RunRanking(items, [1.0] * len(items)) for topic, items in run.items()}
    with pytest.raises(PorismError, match=f"^{re.escape(message)}$"):
        score(qrels, Run("r", "trec", rankings))


cases = st.lists(st.tuples(st.sampled_from([None, 0, 1, 2, 3]), st.floats(-10, 10, width=32)), min_size=1, max_size=25)


@given(cases, st.lists(st.integers(0, 3), max_size=10))
@settings(max_examples=60, deadline=None)
def test_every_measure_stays_between_0_and_1(rows: list[tuple[int | None, float]], missed: list[int]) -> None:
    grades = {f"d{place}": grade for place, (grade, _) in enumerate(rows) if grade is not None} | {
        f"m{place}": grade for place, grade in enumerate([3, *missed])
    }
    run = Run(
        "r", "trec", {"A.1": RunRanking([f"d{place}" for place in range(len(rows))], [value for _, value in rows])}
    )
    if not any(grade is not None for grade, _ in rows):
        return
    scores = score({"A.1": grades}, run, EVERY)
    assert all(-1e-9 <= scores.mean(measure) <= 1 + 1e-9 for measure in EVERY)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=20), st.data())
@settings(max_examples=60, deadline=None)
def test_moving_a_better_item_up_never_lowers_ndcg(grades: list[int], data: st.DataObject) -> None:
    place = data.draw(st.integers(1, len(grades) - 1))
    qrels = {"A.1": {"missed": 1} | {f"d{number}": grade for number, grade in enumerate(grades)}}
    order = [f"d{number}" for number in range(len(grades))]
    falling = [float(-number) for number in range(len(order))]
    measure = parse("nDCG'")
    before = score(qrels, Run("r", "trec", {"A.1": RunRanking(order, falling)}), [measure]).mean(measure)
    if grades[place] >= grades[place - 1]:
        order[place - 1], order[place] = order[place], order[place - 1]
        assert (
            score(qrels, Run("r", "trec", {"A.1": RunRanking(order, falling)}), [measure]).mean(measure)
            >= before - 1e-12
        )


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_the_prime_filter_is_idempotent(seed: int) -> None:
    qrels, run = random_case(seed, topics=3, items=20)
    once = prime_filter(run, judged_only(qrels))
    assert prime_filter(once, judged_only(qrels)) == once


@pytest.mark.shared
@pytest.mark.parametrize("average", AVERAGES)
def test_published_tangent_s(shared_data: Path, average: Average) -> None:
    scores = score(
        read_qrels(shared_data / "formula-pool-2020/qrels.txt"),
        read_run(shared_data / "runs/tangent-s.task2-2020.trec"),
        average=average,
    )
    assert [f"{scores.mean(measure):.3f}" for measure in scores.measures[:3]] == ["0.691", "0.446", "0.453"]


@pytest.mark.shared
def test_published_linked_posts_are_averaged_over_all_topics(shared_data: Path) -> None:
    scores = score(
        read_qrels(shared_data / "qrels-official/task1-2020.txt"),
        read_run(shared_data / "runs/linked-posts.task1-2020.trec"),
        average="complete",
    )
    assert [scores.mean(measure) for measure in scores.measures[:3]] == pytest.approx([0.279, 0.194, 0.384], abs=0.002)
    assert len(scores.topics) == 77


def test_a_written_run_is_scored_in_the_order_it_was_written(tmp_path: Path) -> None:
    qrels = {"A.1": {"1": 3, "2": 0, "3": 2}}
    write_rankings([("A.1", RunRanking(["1", "2", "3"], [0.0, 0.0, 0.0]))], tmp_path / "r.tsv", "task1", "x")
    assert score(qrels, read_run(tmp_path / "r.tsv"), [parse("nDCG'")]).mean(parse("nDCG'")) == pytest.approx(
        definitions.ndcg([3, 0, 2], [3, 2, 0])
    )
