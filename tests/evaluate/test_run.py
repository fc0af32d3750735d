from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porism.errors import PorismError
from porism.evaluate.runs.lines import RunName, parse_name
from porism.evaluate.runs.lookup import read_visual_map, to_visual_ids
from porism.evaluate.runs.run import Run, RunAnswer, RunRanking, break_ties, read_run, write_rankings, write_run
from porism.records import Hit

LINES = {
    "task1": "A.1\t10\t1\t2.5\tx\nA.1\t11\t2\t1.5\tx\n",
    "task2": "B.1\t10\t7\t1\t2.5\tx\nB.1\t11\t8\t2\t1.5\tx\n",
    "trec": "A.1\tQ0\t10\t1\t2.5\tx\nA.1 Q0 11 2 1.5 x\n",
    "task3": 'A.1\t1\t1.0\tGPT\tGPT3\t"Let $x$ be ""it"".\nThen"\nA.2\t1\t1.0\tGPT\t\tnone\n',
}


@pytest.mark.parametrize("kind", LINES)
def test_the_content_decides_the_kind(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "some.tsv"
    path.write_text(LINES[kind], encoding="utf-8", newline="")
    run = read_run(path)
    assert run.kind == kind
    if kind == "task3":
        assert run.answers["A.1"].text == 'Let $x$ be "it".\nThen'
    else:
        assert next(iter(run.rankings.values())).items == ["10", "11"]


def test_a_task2_run_of_visual_ids_has_a_dash_for_the_post(tmp_path: Path) -> None:
    path = tmp_path / "v.tsv"
    path.write_text("B.1\t10\t-\t1\t2.5\tx\n", encoding="utf-8")
    assert (read_run(path).kind, read_run(path).rankings["B.1"].posts) == ("task2", ["-"])


def test_topics_in_several_places_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "r.tsv"
    path.write_text("A.1\t1\t1\t9\tx\nA.2\t5\t1\t9\tx\nA.1\t2\t2\t8\tx\n", encoding="utf-8")
    assert read_run(path).rankings["A.1"] == RunRanking(["1", "2"], [9.0, 8.0])


def test_all_errors_of_a_file_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "r.tsv"
    path.write_text("A.1\t1\t1\t9\tx\nA.1\t2\t2\tnan\tx\nA.1\t3\tx\nA.1\t4\tfour\t1\tx\n", encoding="utf-8")
    message = (
        f"{path}:2: score is 'nan'\n{path}:3: 3 columns where a task1 run has 5\n{path}:4: rank is 'four'\n"
        "  fix: write rank as a whole number and score as a finite decimal number"
    )
    with pytest.raises(PorismError, match=f"^{re.escape(message)}$"):
        read_run(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "the file is empty"), ("hello\n", "not a run file: no line has the columns of Task 1, 2, 3 or trec_eval")],
)
def test_files_that_are_no_runs(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PorismError, match=re.escape(f"{path}: {message}")):
        read_run(path)


scores = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40)


@given(scores)
@settings(deadline=None)
def test_scores_without_ties_fall_as_32_bit_numbers_and_stay_close(values: list[float]) -> None:
    falling = sorted(values, reverse=True)
    spaced = break_ties(falling)
    assert np.all(np.diff(np.float32(spaced)) < 0)
    assert break_ties(spaced) == spaced
    assert np.allclose(spaced, falling, rtol=1e-5, atol=1e-4 * max(1, *map(abs, falling)) / 1e3)


@given(
    st.dictionaries(st.sampled_from(["A.1", "A.2", "A.30"]), scores, min_size=1),
    st.sampled_from(["task1", "task2", "trec"]),
)
@settings(deadline=None, max_examples=40)
def test_a_run_written_and_read_is_the_same_run(
    tmp_path_factory: pytest.TempPathFactory, lists: dict[str, list[float]], kind: str
) -> None:
    rankings = {}
    for topic, values in lists.items():
        items = [str(1000 + place) for place in range(len(values))]
        rankings[topic] = RunRanking(
            items, break_ties(sorted(values, reverse=True)), ["7"] * len(items) if kind == "task2" else []
        )
    run = Run("r", kind, rankings, "tag")  # type: ignore[arg-type]
    path = tmp_path_factory.mktemp("run") / "r.tsv"
    write_run(run, path)
    assert read_run(path) == run


def test_answers_written_and_read_are_the_same(tmp_path: Path) -> None:
    run = Run(
        "r",
        "task3",
        tag="t",
        answers={"A.1": RunAnswer("A.1", 'a "b"\n\tc $x$', "web"), "A.2": RunAnswer("A.2", "", "")},
    )
    write_run(run, tmp_path / "r.tsv")
    assert read_run(tmp_path / "r.tsv") == run


def test_the_writer_numbers_ranks_limits_hits_and_breaks_ties(tmp_path: Path) -> None:
    hits = [Hit(number, 1.0) for number in range(1500)]
    write_rankings([("A.1", RunRanking.of(hits))], tmp_path / "r.tsv", "task1", "x")
    lines = (tmp_path / "r.tsv").read_text().splitlines()
    assert lines[:2] == ["A.1\t999\t1\t1.0\tx", "A.1\t998\t2\t0.9999999\tx"]
    assert len(lines) == 1000
    with pytest.raises(PorismError, match="the run id '' is empty"):
        write_rankings([], tmp_path / "s.tsv", "task1", "")
    with pytest.raises(PorismError, match="a score is not a finite 32-bit number"):
        break_ties([float("inf")])


def test_score_order_is_that_of_trec_eval() -> None:
    ranking = RunRanking(["9", "10", "8", "9"], [1.0, 1.0, 2.0, 5.0])
    assert ranking.in_score_order() == RunRanking(["8", "9", "10"], [2.0, 1.0, 1.0])
    assert ranking.in_score_order(2) == RunRanking(["8", "9"], [2.0, 1.0])


def test_formulas_become_visual_ids_at_their_best_rank(tmp_path: Path) -> None:
    table = tmp_path / "map.tsv"
    table.write_text('id\tpost\tvisual_id\n1\t7\tv1\n2\t7\tv2\n3\t8\tv1\n4\t"\tv3\n', encoding="utf-8")
    visual = read_visual_map(table)
    assert visual == {"1": "v1", "2": "v2", "3": "v1", "4": "v3"}
    run = Run(
        "r", "task2", {"B.1": RunRanking(["2", "3", "1", "99", "v9"], [1, 3, 2, 9, 0.5], ["7", "8", "7", "7", "-"])}
    )
    assert to_visual_ids(run, visual).rankings["B.1"] == RunRanking(["v1", "v2", "v9"], [3, 1, 0.5])
    with pytest.raises(PorismError, match="the map has none of the formula ids of run r"):
        to_visual_ids(Run("r", "task2", {"B.1": RunRanking(["5"], [1], ["7"])}), visual)
    table.write_text("1\tv1\n2\tv2\n", encoding="utf-8")
    assert read_visual_map(table) == {"1": "v1", "2": "v2"}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("DPRL-task1-SVM-auto-both-P.tsv", RunName("DPRL", "task1", "SVM", "auto", "both", "P")),
        (
            "Baseline2022-task3-GPT3-auto-both-generate-P",
            RunName("Baseline2022", "task3", "GPT3", "auto", "both", "P", "generate"),
        ),
        (
            "XYPhoc-task2-xy5-auto-math-a-2022",
            RunName("XYPhoc", "task2", "xy5", "auto", "math", "A", "", ("a year at the end", "a for A")),
        ),
        (
            "JU_NITS-task2-formulaL-auto-formula-P",
            RunName("JU_NITS", "task2", "formulaL", "auto", "math", "P", "", ("formula for math",)),
        ),
        (
            "Baseline-task2-TangentS-auto-math-p",
            RunName("Baseline", "task2", "TangentS", "auto", "math", "P", "", ("p for P",)),
        ),
        (
            "DPRL-Task3-SVMBERT-auto-both-extract-P",
            RunName("DPRL", "task3", "SVMBERT", "auto", "both", "P", "extract", ("Task3 for task3",)),
        ),
        (
            "my-team-task2NOC-a-b-manual-text-A",
            RunName("my-team", "task2NOC", "a-b", "manual", "text", "A", "", ("a - in the group", "a - in the id")),
        ),
        ("run.tsv", None),
        ("task1-x-auto-both-P", None),
    ],
)
def test_names(name: str, found: RunName | None) -> None:
    assert parse_name(name) == found
