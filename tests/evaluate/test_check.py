from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from porism.corpus.post import Formula
from porism.errors import PorismError
from porism.evaluate.runs.check import check_files, check_run, check_submission, clean_run, fix_file
from porism.evaluate.runs.problems import RunProblem, counts, kinds, summary
from porism.evaluate.runs.run import read_run, write_run

NAME1, NAME2, NAME3 = "T-task1-x-auto-both-P.tsv", "T-task2-x-auto-math-P.tsv", "T-task3-x-auto-both-extract-P.tsv"
TOPICS = {1: ("A.1", "A.2"), 2: ("B.1", "B.2"), 3: ("A.1", "A.2")}


class FakeLookup:
    """Posts below 100 are answers, those of 100..199 questions; formulas by hand."""

    known: ClassVar = {
        1: Formula(1, 10, 5, "answer", "x", 1),
        2: Formula(2, 10, 5, "comment", "x", 1, comment_id=3),
        3: Formula(3, 10, 5, "answer", "x", 1, issue="dv"),
        4: Formula(4, 10, 5, "question", "x", 1, issue="v"),
    }

    def post_kinds(self, ids: Iterable[int]) -> dict[int, str]:
        return {post: "answer" if post < 100 else "question" for post in ids if post < 200}

    def formulas(self, ids: Iterable[int]) -> dict[int, Formula]:
        return {number: self.known[number] for number in ids if number in self.known}


GOOD1 = ["A.1\t10\t1\t2.5\tx", "A.1\t11\t2\t1.5\tx", "A.2\t12\t1\t2.5\tx"]
GOOD2 = ["B.1\t1\t10\t1\t2.5\tx", "B.1\t4\t10\t2\t1.5\tx", "B.2\t1\t10\t1\t2.5\tx"]
GOOD3 = ["A.1\t1\t1.0\tx\tGPT3\tLet $x$ be \\$ 5.", "A.2\t1\t1.0\tx\tGPT3\tYes."]


def put(lines: list[str], place: int, line: str) -> str:
    return "\n".join([*lines[:place], line, *lines[place + 1 :]]) + "\n"


def add(lines: list[str], *more: str) -> str:
    return "\n".join([*lines, *more]) + "\n"


LONG = (
    "\n".join(f"A.1\t{number}\t{number}\t{-number}\tx" for number in range(1, 91))
    + "\nA.1\t95\t1001\t-2000\tx\nA.2\t12\t1\t1\tx\n"
)
# One planted defect for each kind of problem: kind, file name, text, line of the problem, message.
PLANTED: list[tuple[str, str, str | bytes, int, str]] = [
    ("undecodable", NAME1, b"A.1\t10\t1\t2.5\tx\nA.2\t1\xff\t1\t2.5\tx\n", 2, "byte 0xff at column 6 is not UTF-8"),
    ("columns", NAME1, add(GOOD1, "A.2\t13\t2\t1.5"), 4, "4 columns where a task1 run has 5"),
    ("unknown-topic", NAME1, add(GOOD1, "A.7\t13\t1\t1.5\tx"), 4, "there is no topic A.7"),
    ("task-mix", NAME1, add(GOOD1, "B.1\t13\t1\t1.5\tx"), 4, "topic B.1 in a run of A topics"),
    ("not-a-number", NAME1, add(GOOD1, "A.2\t13\t2\tNaN\tx"), 4, "score is 'NaN'"),
    ("not-a-number", NAME1, add(GOOD1, "A.2\t13\ttwo\t1\tx"), 4, "rank is 'two'"),
    (
        "answer-too-long",
        NAME3,
        put(GOOD3, 1, "A.2\t1\t1.0\tx\t\t" + "x" * 1201),
        2,
        "the answer has 1201 characters, 1200 are allowed",
    ),
    ("second-answer", NAME3, add(GOOD3, "A.1\t1\t1.0\tx\t\tNo."), 3, "a second answer for topic A.1 (first at line 1)"),
    ("name", "run.tsv", add(GOOD1), 0, "the name run does not give group, task, id, run type, data and eval"),
    (
        "name-deviation",
        "T-Task1-x-auto-both-p-2022.tsv",
        add(GOOD1),
        0,
        "the name is read as T-task1-x-auto-both-P (a year at the end; Task1 for task1; p for P)",
    ),
    ("header", NAME1, add(["Query_Id\tPost_Id\tRank\tScore\tRun_Number", *GOOD1]), 1, "the first line is a header"),
    ("bom", NAME1, b"\xef\xbb\xbf" + add(GOOD1).encode(), 1, "the file starts with a byte order mark"),
    ("bom", NAME1, b"\xef\xbb\xbf" * 2 + add(GOOD1).encode(), 1, "the file starts with a byte order mark"),
    ("crlf", NAME1, add(GOOD1).replace("\n", "\r\n"), 1, "lines end with CR LF"),
    ("blank-field", NAME1, put(GOOD1, 2, "A.2\t12\t1\t2.5\t"), 3, "a field is empty or has spaces around it"),
    ("blank-separated", NAME1, put(GOOD1, 2, "A.2 12 1 2.5 x"), 3, "columns are separated by spaces, not by tabs"),
    ("rank-zero", NAME1, "A.1\t10\t0\t2.5\tx\nA.1\t11\t1\t1.5\tx\nA.2\t12\t0\t2.5\tx\n", 1, "ranks start at 0"),
    ("rank-gap", NAME1, put(GOOD1, 1, "A.1\t11\t3\t1.5\tx"), 2, "ranks of topic A.1 have gaps or repeats (first: 3)"),
    ("rank-gap", NAME1, put(GOOD1, 1, "A.1\t11\t1\t1.5\tx"), 2, "ranks of topic A.1 have gaps or repeats (first: 1)"),
    ("score-order", NAME1, put(GOOD1, 1, "A.1\t11\t2\t3.5\tx"), 2, "scores of topic A.1 rise at 1 ranks"),
    (
        "tied-scores",
        NAME1,
        put(GOOD1, 1, "A.1\t11\t2\t2.5000000001\tx"),
        2,
        "1 scores of topic A.1 are tied (as 32-bit numbers); trec_eval will order them by id",
    ),
    ("missing-topics", NAME1, add(GOOD1[:2]), 0, "1 of 2 topics are missing: A.2"),
    ("run-id", NAME1, put(GOOD1, 2, "A.2\t12\t1\t2.5\ty"), 3, "run id 'y' differs from 'x' at line 1"),
    ("answer-rank", NAME3, put(GOOD3, 1, "A.2\t2\t1.0\tx\t\tYes."), 2, "rank 2; the only answer of a topic has rank 1"),
    (
        "odd-dollars",
        NAME3,
        put(GOOD3, 1, "A.2\t1\t1.0\tx\t\tLet $x$ and $y"),
        2,
        "3 dollar signs: a formula is not closed",
    ),
    ("empty-answer", NAME3, put(GOOD3, 1, "A.2\t1\t1.0\tx\t\t"), 2, "the answer to topic A.2 is empty"),
    ("unknown-post", NAME1, put(GOOD1, 1, "A.1\t999\t2\t1.5\tx"), 2, "there is no post 999"),
    (
        "question-post",
        NAME1,
        put(GOOD1, 1, "A.1\t111\t2\t1.5\tx"),
        2,
        "post 111 is a question; Task 1 returns answers",
    ),
    (
        "duplicate",
        NAME1,
        put(GOOD1, 1, "A.1\t10\t2\t1.5\tx"),
        2,
        "answer 10 appears twice for topic A.1 (first at line 1)",
    ),
    ("unknown-formula", NAME2, put(GOOD2, 1, "B.1\t77\t10\t2\t1.5\tx"), 2, "there is no formula 77"),
    ("comment-formula", NAME2, put(GOOD2, 1, "B.1\t2\t10\t2\t1.5\tx"), 2, "formula 2 is in a comment"),
    ("withdrawn-formula", NAME2, put(GOOD2, 1, "B.1\t3\t10\t2\t1.5\tx"), 2, "formula 3 is withdrawn (issue dv)"),
    ("wrong-post", NAME2, put(GOOD2, 1, "B.1\t4\t11\t2\t1.5\tx"), 2, "formula 4 is in post 10, not 11"),
    ("beyond-limit", NAME1, LONG, 91, "rank 1001 of topic A.1 is beyond 1000"),
]
# Problems that a defect causes besides its own.
COMPANIONS = {"beyond-limit": {"rank-gap"}, "undecodable": {"unknown-post"}}


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check(path: Path, task: int) -> list[RunProblem]:
    return check_run(path, TOPICS[task], FakeLookup()).problems


@pytest.mark.parametrize(
    ("kind", "name", "text", "line", "message"),
    PLANTED,
    ids=lambda value: value if isinstance(value, str) and "-" in value and len(value) < 20 else "",
)
def test_every_planted_defect_is_found_and_no_other(
    tmp_path: Path, kind: str, name: str, text: str | bytes, line: int, message: str
) -> None:
    task = 2 if "task2" in name else 3 if "task3" in name else 1
    problems = check(write(tmp_path, name, text), task)
    found = [problem for problem in problems if problem.kind == kind]
    assert [(problem.line, problem.message) for problem in found] == [(line, message)]
    assert {problem.kind for problem in problems} - {kind} <= COMPANIONS.get(kind, set())


def test_every_kind_is_planted() -> None:
    together = {"two-primaries", "too-many-runs", "no-primary"}
    assert {kind for kind, *_ in PLANTED} | together == set(kinds())


@pytest.mark.parametrize(("name", "lines", "task"), [(NAME1, GOOD1, 1), (NAME2, GOOD2, 2), (NAME3, GOOD3, 3)])
def test_good_runs_have_no_problem(tmp_path: Path, name: str, lines: list[str], task: int) -> None:
    assert check(write(tmp_path, name, add(lines)), task) == []
    assert summary([]) == "no problem found\n"


def test_problems_name_file_line_and_fix(tmp_path: Path) -> None:
    path = write(tmp_path, NAME1, put(GOOD1, 1, "A.1\t10\t2\t1.5\tx"))
    assert (
        str(check(path, 1)[0])
        == f"{path}:2: F duplicate: answer 10 appears twice for topic A.1 (first at line 1)\n  fix: porism run fix {path}"
    )
    path = write(tmp_path, NAME1, add(GOOD1, "A.2\t13\t2\t1.5"))
    assert check(path, 1)[0].fix == "one line has topic, item, rank, score, tag, separated by one tab"


def submission(tmp_path: Path, names: list[str]) -> list[tuple[str, str]]:
    checked = [check_run(write(tmp_path, name, add(GOOD1))) for name in names]
    return [(problem.kind, problem.message.replace(f"{tmp_path}/", "")) for problem in check_submission(checked)]


def test_the_rules_for_the_files_of_a_team(tmp_path: Path) -> None:
    runs = [f"T-task1-{letter}-auto-both-A.tsv" for letter in "abcdef"]
    assert submission(tmp_path, [*runs[:4], NAME1, "U-task1-a-auto-both-P.tsv"]) == []
    assert submission(tmp_path, [NAME1, "T-task1-y-auto-both-P.tsv"]) == [
        ("two-primaries", f"a second primary run of T for task1 (first: {NAME1})")
    ]
    assert submission(tmp_path, runs) == [
        ("no-primary", "none of the 6 runs of T for task1 is primary"),
        ("too-many-runs", "6 runs of T for task1; 5 are allowed"),
    ]
    assert {problem.kind for problem in check_files([str(tmp_path / name) for name in runs])} == {
        "no-primary",
        "too-many-runs",
    }


FIXABLE = [
    (kind, text)
    for kind, name, text, _, _ in PLANTED
    if name == NAME1 and kinds()[kind].fix.startswith("porism run fix")
]


@pytest.mark.parametrize(("kind", "text"), FIXABLE, ids=[kind for kind, _ in FIXABLE])
def test_fix_corrects_every_problem_that_names_it(tmp_path: Path, kind: str, text: str | bytes) -> None:
    fixed = tmp_path / "fixed" / NAME1
    checked = check_run(write(tmp_path, NAME1, text), TOPICS[1], FakeLookup())
    assert kind in counts(checked.problems)
    write_run(clean_run(checked), fixed)
    assert check(fixed, 1) == []


def test_fix_refuses_a_file_with_errors_and_reports_what_it_did(tmp_path: Path) -> None:
    path = write(tmp_path, NAME1, add(GOOD1, "A.2\t13\t2\t1.5"))
    with pytest.raises(PorismError, match=re.escape(f"{path}:4: 4 columns where a task1 run has 5")):
        fix_file(str(path))
    path = write(tmp_path, NAME1, put(GOOD1, 1, "A.1\t10\t2\t1.5\tx"))
    fixed = fix_file(str(path))
    assert fixed.message == f"{path}: 1 duplicate; 1 hit dropped"
    assert read_run(fixed.path).rankings["A.1"].items == ["10"]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "topics"), [("submission-format.task1-2020.tsv", 20), ("submission-format.task2-2020.tsv", 20)]
)
def test_problems_of_real_submission_files(shared_data: Path, name: str, topics: int) -> None:
    """The files have CR LF, zero scores in every topic and names of our own; nothing else is wrong."""
    path = shared_data / "runs" / name
    found = check_run(path).problems
    assert counts(found) == {"name": 1, "crlf": 1, "tied-scores": topics}
    assert path.read_bytes().count(b"\r\n") == path.read_bytes().count(b"\n")
    assert sum(1 for line in path.read_text().splitlines() if line.split("\t")[-2] == "0.0") > 1000
