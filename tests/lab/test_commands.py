"""The commands of the lab, in the order in which an organiser uses them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from lab_case import PASSWORD, LabCase
from porism.cli import main
from porism.lab.judging.assignments import assigned_items, assignments
from porism.lab.judging.items import topic_threads
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.record import record_entries


@pytest.fixture
def journal_path(case: LabCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cheap_passwords: None) -> Path:
    path = tmp_path / "lab.journal"
    runs = [str(run) for name, run in case.runs.items() if "task2" not in name]
    assert (
        main(
            [
                "lab",
                "pool",
                "build",
                str(case.collection_path),
                "--task",
                "1",
                "--topics",
                str(case.topics1),
                "-o",
                str(tmp_path / "pool"),
                "--runs",
                *runs,
            ]
        )
        == 0
    )
    assert main(["lab", "assess", "create", str(path)]) == 0
    for name in ("ann", "bob"):
        monkeypatch.setattr("sys.stdin", io.StringIO(PASSWORD + "\n"))
        assert main(["lab", "assess", "account", str(path), name]) == 0
    assert (
        main(["lab", "assess", "load", str(path), "--pool", str(tmp_path / "pool"), "--topics", str(case.topics1)]) == 0
    )
    return path


def judge(path: Path, name: str, grades: str) -> None:
    journal = Journal.open(path)
    for assignment in assignments(journal, name):
        for item, grade in zip(assigned_items(journal, assignment.id), grades, strict=False):
            record_entries(
                journal, name, assignment.id, [JournalEntry(item.key, 1, "open", "")], f"open-{item.key}", at=10.0
            )
            record_entries(
                journal,
                name,
                assignment.id,
                [JournalEntry(item.key, 1, "grade", grade), JournalEntry(item.key, 1, "submit", "")],
                f"done-{item.key}",
                at=40.0,
            )


def test_from_assignment_to_qrels(journal_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["lab", "assess", "assign", str(journal_path)]) == 0
    assert capsys.readouterr().out == "ann\tA.1\nbob\tA.2\n"
    judge(journal_path, "ann", "33210")
    judge(journal_path, "bob", "300")
    assert main(["lab", "assess", "dual", str(journal_path), "bob", "A.1", "--size", "3", "--seed", "4"]) == 0
    assert capsys.readouterr().out == "A.1\t3\n"
    assert main(["lab", "assess", "extra", str(journal_path), "bob", "A.1", "--size", "2"]) == 0
    assert main(["lab", "assess", "progress", str(journal_path), "--cap", "20"]) == 0
    assert "ann\tmain\t1\tA.1\t5\t5\t20.0\t20.0" in capsys.readouterr().out
    assert (
        main(
            ["lab", "qrels", str(journal_path), "--task", "1", "-o", str(tmp_path / "q"), "--name", "test", "--sampled"]
        )
        == 0
    )
    said = capsys.readouterr()
    assert said.out.split() == [
        str(tmp_path / "q" / f"qrel_task1_test_{name}.tsv") for name in ("official", "all", "sampled")
    ]
    assert said.err == "left out of the official file (fewer than 2 High or Medium): A.2\n"
    assert main(["lab", "agreement", str(journal_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "pairs": [],
        "mean": {"items": 0, "ungraded": 0, "kappa": None, "kappa_hm": None, "kappa_weighted": None},
        "alpha": None,
    }
    for what in ("results", "narratives", "extra", "preferences"):
        assert main(["lab", "assess", "export", str(journal_path), what]) == 0
        assert capsys.readouterr().out.count("\n") == (9 if what == "results" else 1)
    assert main(["lab", "assess", "backup", str(journal_path), str(tmp_path / "copy")]) == 0
    assert len(list(Journal.open(tmp_path / "copy").events())) == len(list(Journal.open(journal_path).events()))


def test_training_from_a_table(
    journal_path: Path, case: LabCase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "known.tsv"
    topics = tmp_path / "old.xml"
    topics.write_text(case.topics1.read_text().replace("A.1", "A.901").replace("A.2", "A.902"))
    table.write_text(
        "round\ttopic\titem\tgrade\treason\n1\tA.901\t11\t3\tboth signs\n1\tA.901\t15\t0\t\n2\tA.902\t16\t3\t\n"
    )
    assert main(["lab", "assess", "train", str(journal_path), "--topics", str(topics), "--known", str(table)]) == 0
    capsys.readouterr()
    for name in ("ann", "bob"):
        assert main(["lab", "assess", "training", str(journal_path), name, "--round", "1"]) == 0
    assert capsys.readouterr().out == "2\n2\n"
    judge(journal_path, "ann", "30")
    assert main(["lab", "agreement", str(journal_path), "--training"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "1\t1\tann\t2\t2\t1.0000\t1.0000\t\t"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", "{path}: not a table of training items"),
        ("round\ttopic\titem\tgrade\treason\n1\tA.901\t11\thigh\t\n", "{path}:2: not a training item"),
        ("round\ttopic\titem\tgrade\treason\n1\tA.901\t11\n", "{path}:2: not a training item"),
    ],
)
def test_an_invalid_training_table_is_reported_with_its_line(
    journal_path: Path, case: LabCase, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    table = tmp_path / "known.tsv"
    table.write_text(text)
    capsys.readouterr()
    assert (
        main(["lab", "assess", "train", str(journal_path), "--topics", str(case.topics1), "--known", str(table)]) == 1
    )
    assert capsys.readouterr().err.startswith(
        f"porism: {message.format(path=table)}\n  fix: one line per item: round, topic, item, grade, reason"
    )


def test_topic_threads_come_from_the_table_of_formulas(tmp_path: Path) -> None:
    table = tmp_path / "formulas.tsv"
    table.write_text("id\ttopic_id\tthread_id\ttype\tformula\nq_1\tA.7\t4242\ttitle\tx\nq_2\tA.7\t4242\tbody\ty\n")
    assert topic_threads(table) == {"A.7": 4242, "B.7": 4242}
    assert topic_threads(None) == {}
