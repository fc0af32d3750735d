from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.evaluate.qrels import (
    count,
    from_judgments,
    judged_only,
    read_qrels,
    visual_qrels,
    write_qrels,
)
from porism.records import Judgment


def read(tmp_path: Path, text: str) -> dict[str, dict[str, int]]:
    path = tmp_path / "q"
    path.write_bytes(text.encode())
    return read_qrels(path)


def test_variants_of_the_format(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffA.1\t0\t5\t3\r\n# remark\r\n\r\nA.1 0 6 2.0\r\nA.2\t7\t1") == {
        "A.1": {"5": 3, "6": 2},
        "A.2": {"7": 1},
    }


def test_written_and_read_is_the_same(tmp_path: Path) -> None:
    qrels = {"A.1": {"5": 3, "6": -1}, "A.2": {"7": 0}}
    write_qrels(qrels, tmp_path / "q")
    assert read_qrels(tmp_path / "q") == qrels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{p}: this file has no judgments"),
        (
            "../other/qrel_task1_2020_official.tsv",
            "{p}:1: 1 columns; a judgment has 4 (or 3)",
        ),  # a link stored as a file
        ("A.1 0 5 high", "{p}:1: grade 'high' is not a number"),
        ("A.1 0 5 4", "{p}:1: grade 4 is not 0, 1, 2, 3, 5, 6, -1 or -2"),
        ("A.1 0 5 1.5", "{p}:1: grade 1.5 is not 0, 1, 2, 3, 5, 6, -1 or -2"),
        (
            "A.1 0 5 1\nA.1 0 5 1\nA.1 0 6 nan",
            "{p}:2: 5 is judged twice for topic A.1\n{p}:3: grade nan is not 0, 1, 2, 3, 5, 6, -1 or -2",
        ),
    ],
)
def test_errors(tmp_path: Path, text: str, message: str) -> None:
    wanted = message.format(p=tmp_path / "q") + "\n  fix: write one line per judgment: topic, 0, item, grade (0 to 3)"
    with pytest.raises(PorismError, match=f"^{re.escape(wanted)}$"):
        read(tmp_path, text)


def test_twenty_problems_are_listed_and_the_others_counted(tmp_path: Path) -> None:
    with pytest.raises(PorismError, match="and 5 more"):
        read(tmp_path, "x\n" * 25)


def test_the_highest_grade_of_the_instances_wins_and_codes_count_only_alone() -> None:
    judgments = [
        Judgment("B.1", "v", 1),
        Judgment("B.1", "v", 3),
        Judgment("B.1", "v", 5),
        Judgment("B.1", "w", 6),
        Judgment("B.1", "w", 5),
    ]
    assert from_judgments(judgments) == {"B.1": {"v": 3, "w": 6}}
    assert visual_qrels({"B.1": {"1": 0, "2": 2, "3": 5}}, {"1": "v", "2": "v", "3": "w"}) == {"B.1": {"v": 2}}


def test_what_counts_as_judged_and_as_pooled() -> None:
    qrels = {"A.1": {"a": 3, "b": -1, "c": 5}, "A.2": {"d": 6}}
    assert judged_only(qrels) == {"A.1": {"a": 3}}
    assert judged_only(qrels, lowest=-2) == {"A.1": {"a": 3, "b": -1}}


FILES = {
    "task1-2020.txt": "qrels.arqmath-2020-task1.txt",
    "task1-2021.txt": "qrels.arqmath-2021-task1-official.txt",
    "task2-2020.txt": "qrels.arqmath-2020-task2-visual_ids.v3.txt",
    "task2-2021.txt": "qrels.arqmath-2021-task2-official.v3.txt",
    "task3-2022.txt": "qrels.arqmath-2022-task3-official.txt",
}


@pytest.mark.shared
@pytest.mark.parametrize("name", FILES)
def test_counts_of_the_real_files(shared_data: Path, name: str) -> None:
    with open(shared_data / "published/qrels_counts.tsv") as stream:
        wanted = next(row for row in csv.DictReader(stream, delimiter="\t") if row["file"] == FILES[name])
    found = count(read_qrels(shared_data / "qrels-official" / name))
    assert (str(found.topics), str(found.judged)) == (wanted["topics"], wanted["judged"])
    codes = {0: "g0", 1: "g1", 2: "g2", 3: "g3", 5: "code5", 6: "code6"}
    assert {code: found.grades.get(code, 0) for code in codes} == {
        code: int(wanted[column]) for code, column in codes.items()
    }
    assert (f"{found.judged / found.topics:.2f}", f"{found.average_relevant:.2f}", str(found.least_relevant)) == (
        wanted["avg_judged"],
        wanted["avg_hml"],
        wanted["min_hm"],
    )
    if wanted["max_p10"]:
        assert f"{found.best_p10:.3f}" == wanted["max_p10"]
