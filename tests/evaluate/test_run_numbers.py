"""Ranks and scores of any size are read or are problems of their line; found by fuzzing."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.evaluate.qrels import read_qrels
from porism.evaluate.runs.check import check_run
from porism.evaluate.runs.run import read_run


@pytest.mark.parametrize("rank", ["9" * 400, "1" * 5000, "-1", "9223372036854775808", "٣"])
@pytest.mark.parametrize("first", ["", "\ufeffnot a run\n"])
def test_a_rank_of_any_size_is_no_raw_error(tmp_path: Path, rank: str, first: str) -> None:
    path = tmp_path / "Team-task1-run-auto-both-P.tsv"
    path.write_text(f"{first}A.1\t12\t{rank}\t3.5\trun\nA.1\t13\t2\t3.4\trun\n", "utf-8")
    check_run(str(path))
    with contextlib.suppress(PorismError):
        read_run(path)


@pytest.mark.filterwarnings("error")
def test_a_score_beyond_32_bits_gives_no_warning(tmp_path: Path) -> None:
    path = tmp_path / "Team-task1-run-auto-both-P.tsv"
    path.write_text("A.1\t12\t1\t1e300\trun\nA.1\t13\t2\t3.4\trun\n", "utf-8")
    check_run(str(path))
    assert read_run(path).rankings["A.1"].in_score_order().items == ["12", "13"]


def test_byte_order_marks_of_joined_judgments_are_no_part_of_ids(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("\ufeffA.1\t0\t12\t3\n \ufeffA.2\t0\t13\t1\n", "utf-8")
    assert read_qrels(path) == {"A.1": {"12": 3}, "A.2": {"13": 1}}
