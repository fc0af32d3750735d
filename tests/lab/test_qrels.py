from __future__ import annotations

from pathlib import Path

import pytest

from porism.evaluate.measures.measure import parse
from porism.evaluate.measures.score import score
from porism.evaluate.qrels import read_qrels
from porism.evaluate.runs.run import Run, RunRanking
from porism.lab.judging.assessments import Assessment
from porism.lab.judging.qrels import QrelsVariants, kept_topics, merge, variants, with_unjudged, write_variants
from porism.lab.pooling.pool import ItemId
from porism.records import Judgment


def judgment(
    topic: str,
    item: str,
    grade: int,
    *,
    task: int = 1,
    instance: int = 1,
    who: str = "a",
    at: float = 0.0,
    purpose: str = "main",
) -> Assessment:
    return Assessment(task, topic, item, instance, who, grade, submitted=at, purpose=purpose)


def test_task_1_omits_the_codes_and_sorts_by_number() -> None:
    given = [
        judgment("A.10", "5", 3),
        judgment("A.9", "40", 0),
        judgment("A.9", "7", 2),
        judgment("A.9", "8", 5),
        judgment("A.9", "9", 6),
        judgment("A.9", "d_1", 3),
    ]
    assert merge(given, 1) == [Judgment("A.9", "7", 2), Judgment("A.9", "40", 0), Judgment("A.10", "5", 3)]


def test_task_2_takes_the_best_instance_and_omits_formulas_with_codes_only() -> None:
    given = [judgment("B.1", "10", grade, task=2, instance=n) for n, grade in enumerate([0, 2, 5, 1], 1)]
    given += [judgment("B.1", "20", 5, task=2, instance=1), judgment("B.1", "20", 6, task=2, instance=2)]
    given += [judgment("B.1", "30", 0, task=2, instance=1), judgment("B.1", "30", 6, task=2, instance=2)]
    assert merge(given, 2) == [Judgment("B.1", "10", 2), Judgment("B.1", "30", 0)]


def test_task_3_keeps_codes_in_complete_and_counts_them_as_zero_in_official() -> None:
    given = [
        judgment("A.1", "1", 3),
        judgment("A.1", "2", 2),
        judgment("A.1", "d_10", 5),
        judgment("A.1", "d_9", 3),
        judgment("A.2", "d_1", 3),
        judgment("A.2", "3", 2),
    ]
    found = variants(given, 3)
    assert found.files["complete"] == [Judgment("A.1", "d_9", 3), Judgment("A.1", "d_10", 5)]
    assert found.files["official"] == [Judgment("A.1", "d_9", 3), Judgment("A.1", "d_10", 0)]
    assert [one.topic for one in found.files["all"]] == ["A.1", "A.1", "A.2"]
    assert found.removed == ("A.2",)


def test_only_main_judgments_count_and_of_two_the_later_one() -> None:
    given = [judgment("A.1", "1", 0, who="b", at=2.0), judgment("A.1", "1", 3, who="a", at=1.0)]
    given += [judgment("A.1", "1", 2, who="c", at=9.0, purpose="dual"), judgment("A.1", "2", 3, purpose="training")]
    assert merge(given, 1) == [Judgment("A.1", "1", 0)]


def test_a_topic_with_fewer_than_two_relevant_items_is_removed() -> None:
    judged = [Judgment("A.1", "1", 3), Judgment("A.1", "2", 1), Judgment("A.2", "1", 2), Judgment("A.2", "2", 3)]
    assert kept_topics(judged) == {"A.2"}
    assert kept_topics(judged, 1) == {"A.1", "A.2"}


def test_a_sampled_pool_marks_unjudged_items() -> None:
    judged = [Judgment("A.1", "2", 3)]
    assert with_unjudged(judged, [ItemId("A.1", "1"), ItemId("A.1", "2")]) == [
        Judgment("A.1", "1", -1),
        Judgment("A.1", "2", 3),
    ]
    given = [judgment("A.1", "1", 3), judgment("A.1", "2", 2)]
    found = variants(
        given, 1, pooled=[ItemId("A.1", "1"), ItemId("A.1", "3"), ItemId("A.1", "d_1"), ItemId("A.7", "1")]
    )
    assert found.files["sampled"] == [Judgment("A.1", "1", 3), Judgment("A.1", "2", 2), Judgment("A.1", "3", -1)]


def test_files_are_in_the_labs_format(tmp_path: Path) -> None:
    paths = write_variants(QrelsVariants({"official": [Judgment("A.1", "7", 3)], "all": []}, ()), 1, tmp_path, "2022")
    assert [path.name for path in paths] == ["qrel_task1_2022_official.tsv", "qrel_task1_2022_all.tsv"]
    assert paths[0].read_bytes() == b"A.1\t0\t7\t3\n"
    assert paths[1].read_bytes() == b""


def test_infap_infers_from_a_sampled_pool(tmp_path: Path) -> None:
    """Of three pooled items the second was not drawn: infAP infers it (about 1), AP would count it as not relevant
    (5/6)."""
    given = [judgment("A.1", "1", 3), judgment("A.1", "3", 2)]
    pooled = [ItemId("A.1", item) for item in "123"]
    write_variants(variants(given, 1, pooled=pooled), 1, tmp_path)
    qrels = read_qrels(tmp_path / "qrel_task1_sampled.tsv")
    assert qrels == {"A.1": {"1": 3, "2": -1, "3": 2}}
    run = Run("r", "task1", {"A.1": RunRanking(["1", "2", "3"], [3.0, 2.0, 1.0])})
    measure = parse("infAP")
    # rank 1: 1; rank 3: 1/3 + 2/3 * 2/2 * (1 + e)/(1 + 2e) with e = .00001; half of their sum.
    expected = (1 + 1 / 3 + 2 / 3 * (1 + 1e-5) / (1 + 2e-5)) / 2
    assert score(qrels, run, [measure]).mean(measure) == pytest.approx(expected, abs=1e-6)
