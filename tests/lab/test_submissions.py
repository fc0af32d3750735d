from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab_case import LabCase
from porism.cli import main
from porism.errors import PorismError
from porism.evaluate.runs.lines import RunName
from porism.lab.submissions import RECEIPTS, CheckResult, Submissions, _one_of_few_checks, topic_ids


@pytest.fixture
def submissions(case: LabCase, tmp_path: Path) -> Submissions:
    return Submissions(
        tmp_path / "submissions", topic_ids([case.topics1, case.topics2]), case.ids, clock=lambda: 1_000_000.0
    )


def line(topic: str = "A.1", post: int = 11, rank: int = 1) -> bytes:
    return f"{topic}\t{post}\t{rank}\t{100 - rank}\tx\n".encode()


def test_a_valid_run_is_kept_with_a_receipt(submissions: Submissions) -> None:
    receipt = submissions.submit("Red", "Red-task1-a-auto-both-P.tsv", line() + line("A.2", 16))
    assert (receipt.number, receipt.verdict, receipt.task, receipt.primary, receipt.size) == (
        1,
        "accepted",
        "task1",
        True,
        28,
    )
    assert receipt.report == ()
    assert submissions.runs() == [submissions.folder / "Red" / "Red-task1-a-auto-both-P.tsv"]
    assert submissions.receipts() == [receipt]


def test_the_report_names_line_and_fix(submissions: Submissions) -> None:
    receipt = submissions.submit("Red", "Red-task1-a-auto-both-P.tsv", line() + line("A.9") + line("A.2", 1))
    assert receipt.verdict == "refused"
    assert receipt.report[0] == (
        "Red-task1-a-auto-both-P.tsv:2: E unknown-topic: there is no topic A.9\n  fix: use the topic ids of the task's topics"
    )
    assert (
        "Red-task1-a-auto-both-P.tsv:3: F question-post: post 1 is a question; Task 1 returns answers"
        in receipt.report[1]
    )
    assert submissions.runs() == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("run.tsv", "run.tsv: the name does not give group, task, id, run type, data and eval"),
        (
            "Blue-task1-a-auto-both-P.tsv",
            "Blue-task1-a-auto-both-P.tsv: the group is Blue, but you are Red\n  fix: begin the name with Red-",
        ),
        ("Red-task1-a b-auto-both-P.tsv", "the name has characters other than letters"),
        ("Red-task1-a-auto-both-P.exe", "or does not end in .tsv"),
        ("Red-task2-a-auto-math-P.tsv", "the name says task2, but the columns are those of task1"),
    ],
)
def test_invalid_names_are_refused(submissions: Submissions, name: str, problem: str) -> None:
    receipt = submissions.submit("Red", name, line())
    assert receipt.verdict == "refused"
    assert problem in receipt.report[0]


@pytest.mark.parametrize(
    "name", ["../../evil-task1-a-auto-both-P.tsv", "/etc/Red-task1-a-auto-both-P.tsv", "..\\x.tsv"]
)
def test_a_name_cannot_leave_the_folder(submissions: Submissions, name: str) -> None:
    submissions.submit("Red", name, line())
    assert {path.parent.parent for path in submissions.runs()} <= {submissions.folder}
    assert not list(submissions.folder.parent.glob("*.tsv"))


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"\x00" * 100, b"no run at all\n"])
def test_invalid_content_is_refused_with_a_reason(submissions: Submissions, data: bytes) -> None:
    receipt = submissions.submit("Red", "Red-task1-a-auto-both-P.tsv", data)
    assert receipt.verdict == "refused"
    assert receipt.report
    assert str(submissions.folder) not in "".join(receipt.report)


def test_a_team_has_at_most_five_runs_per_task_and_one_primary(submissions: Submissions) -> None:
    for name in "abcde":
        assert submissions.submit("Red", f"Red-task1-{name}-auto-both-A.tsv", line()).verdict == "accepted"
    assert submissions.missing_primaries() == [("Red", "task1")]
    sixth = submissions.submit("Red", "Red-task1-f-auto-both-P.tsv", line())
    assert sixth.verdict == "refused"
    assert "6 runs of Red for task1; 5 are allowed" in sixth.report[0]
    submissions.withdraw("Red", "Red-task1-a-auto-both-A.tsv")
    assert submissions.submit("Red", "Red-task1-f-auto-both-P.tsv", line()).verdict == "accepted"
    assert submissions.missing_primaries() == []
    submissions.withdraw("Red", "Red-task1-b-auto-both-A.tsv")
    second = submissions.submit("Red", "Red-task1-g-auto-both-P.tsv", line())
    assert second.verdict == "refused"
    assert "a second primary run of Red for task1" in second.report[0]
    assert (
        submissions.submit("Red", "Red-task3-g-auto-both-generate-P.tsv", b"A.1\t1\t1.0\tg\tnone\tBecause.\n").verdict
        == "accepted"
    )


def test_a_new_version_replaces_the_old_one_which_is_kept(submissions: Submissions) -> None:
    name = "Red-task1-a-auto-both-P.tsv"
    submissions.submit("Red", name, line())
    submissions.submit("Red", name, line(post=12))
    assert (submissions.folder / "Red" / name).read_bytes() == line(post=12)
    assert [path.read_bytes() for path in (submissions.folder / "replaced" / "Red").iterdir()] == [line()]
    assert [receipt.number for receipt in submissions.receipts("Red")] == [1, 2]
    assert submissions.receipts("Blue") == []
    with pytest.raises(PorismError, match=r"Blue has no run Red-task1-a-auto-both-P\.tsv"):
        submissions.withdraw("Blue", name)


def test_the_command(case: LabCase, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(path) for path in case.runs.values()]
    arguments = ["lab", "submissions", "add", str(tmp_path / "d"), "--collection", str(case.collection_path)]
    arguments += ["--topics", str(case.topics1), str(case.topics2), "--files"]
    assert main([*arguments, *runs]) == 0
    assert [row.split("\t")[3] for row in capsys.readouterr().out.splitlines()] == ["accepted"] * 4
    bad = tmp_path / "nameless.tsv"
    bad.write_bytes(line())
    assert main([*arguments, str(bad)]) == 1
    assert main(["lab", "submissions", "list", str(tmp_path / "d"), "--team", "Blue"]) == 0
    assert "Blue-task1-two-auto-text-A.tsv\taccepted" in capsys.readouterr().out
    assert main(["lab", "submissions", "withdraw", str(tmp_path / "d"), "Blue", "Blue-task1-two-auto-text-A.tsv"]) == 0


def test_a_long_check_does_not_delay_other_submissions(
    submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, entered, release = Submissions._check_content, threading.Event(), threading.Event()

    def slow_check(self: Submissions, path: Path, run_name: RunName | None) -> CheckResult:
        if path.name.startswith("Red"):
            entered.set()
            assert release.wait(60)
        return check(self, path, run_name)

    monkeypatch.setattr(Submissions, "_check_content", slow_check)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(submissions.submit, "Red", "Red-task1-a-auto-both-P.tsv", line())
        assert entered.wait(60)
        quick = submissions.submit("Blue", "Blue-task1-a-auto-both-P.tsv", line())
        release.set()
        assert (quick.number, quick.verdict) == (1, "accepted")
        assert (slow.result().number, slow.result().verdict) == (2, "accepted")
    assert sorted(path.name for path in submissions.folder.iterdir() if path.name.startswith(".inc")) == []


def test_only_few_runs_are_checked_at_the_same_time(submissions: Submissions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("porism.lab.submissions._checks", threading.BoundedSemaphore(1))
    monkeypatch.setattr("porism.lab.submissions.CHECK_WAIT_SECONDS", 0.01)
    with _one_of_few_checks(), pytest.raises(PorismError, match="busy checking other runs"):
        submissions.submit("Red", "Red-task1-a-auto-both-P.tsv", line())


def test_other_accounts_read_neither_receipts_nor_runs(submissions: Submissions) -> None:
    before = os.umask(0o022)
    try:
        submissions.submit("Red", "Red-task1-a-auto-both-P.tsv", line() + line("A.2", 16))
        (submissions.folder / RECEIPTS).chmod(0o644)  # as an earlier version made it
        submissions.submit("Red", "Red-task1-b-auto-both-A.tsv", line())
    finally:
        os.umask(before)
    assert submissions.runs()
    for path in (submissions.folder, submissions.folder / RECEIPTS, *submissions.runs()):
        assert not path.stat().st_mode & 0o007, path
