"""A language model as an assessor: strict replies, nothing half-made, always labelled, never in qrels. Endpoints are
real processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from endpoints import endpoint_server
from lab_case import LabCase
from porism.cli import main
from porism.errors import PorismError
from porism.lab.judging.agreement import model_agreements, pair_agreements, training_results
from porism.lab.judging.assessments import Assessment, assessments
from porism.lab.judging.assignments import (
    assign_dual,
    assign_extra,
    assign_topic,
    assign_training,
    assigned_items,
    assignments,
)
from porism.lab.judging.exports import results_csv
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.model_judge import ModelJudge, RetryPolicy, instructions, parse_reply, total_usage
from porism.lab.judging.people import accounts, add_account, add_model_account
from porism.lab.judging.qrels import variants
from porism.lab.judging.record import record_entries
from porism.search.generation.endpoint import Endpoint

MODEL = "model.small"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with endpoint_server() as url:
        yield url


@pytest.fixture
def ready(journal: Journal) -> Journal:
    """A journal in which ann has judged a topic of each task, and a model is assigned second opinions on both."""
    for task, topic in ((1, "A.1"), (2, "B.1")):
        assign_topic(journal, "ann", task, topic)
    for job in assignments(journal, "ann"):
        for at, item in enumerate(assigned_items(journal, job.id)):
            entries = [
                JournalEntry(item.key, n, "grade", str((3, 2, 0)[at % 3])) for n in range(1, len(item.cards) + 1)
            ]
            record_entries(
                journal, "ann", job.id, [*entries, JournalEntry(item.key, 1, "submit", "")], f"person-{item.key}"
            )
    add_model_account(journal, MODEL)
    for task, topic in ((1, "A.1"), (2, "B.1")):
        assign_dual(journal, MODEL, task, topic, None, 0)
    return journal


def judge(journal: Journal, case: LabCase, url: str, attempts: int = 3, seconds: float = 30.0) -> int:
    endpoint = Endpoint(url, "small-7b", "", seconds)
    return ModelJudge(journal, case.collection, MODEL, endpoint, RetryPolicy(attempts, 0.01)).run(lambda _: None)


def own(journal: Journal) -> list[Assessment]:
    return [given for given in assessments(journal) if given.assessor == MODEL]


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("Grade: 3\nReason: complete", (3, "complete")),
        (" grade: 6 \nreason: I cannot\x1b decide\n", (6, "I cannot decide")),
        ("3", None),
        ("Grade: 4\nReason: no such grade", None),
        ("Grade: 3", None),
        ("Grade: 3\nReason:  \n", None),
        ("Grade: 3 or 2\nReason: both", None),
        ("Sure!\nGrade: 3\nReason: x", None),
        ("Grade: 3\nReason: x\nGrade: 0\nReason: y", None),
        ("", None),
    ],
)
def test_only_the_exact_form_is_a_grade(reply: str, found: tuple[int, str] | None) -> None:
    assert parse_reply(reply) == found


def test_the_model_gets_the_same_definitions_as_people() -> None:
    assert "3 (High): Complete on its own" in instructions(1)
    assert "Grade the formula within its post" in instructions(2)


def test_a_model_judges_what_is_assigned_and_is_labelled_everywhere(ready: Journal, case: LabCase, server: str) -> None:
    cards = sum(len(item.cards) for job in assignments(ready, MODEL) for item in assigned_items(ready, job.id))
    before = variants(assessments(ready, "main"), 1).files, pair_agreements(assessments(ready, "main", "dual"))
    assert judge(ready, case, f"{server}/grade/v1") > 0
    given = own(ready)
    assert len(given) == cards
    assert {(one.grade, one.comment, one.purpose) for one in given} == {(2, "It shows the way.", "dual")}
    assert variants(assessments(ready, "main"), 1).files == before[0]
    assert MODEL in results_csv(ready)
    usage = [event for event in ready.events() if event.field == "usage"]
    assert {event.assessor for event in usage} == {MODEL}
    assert json.loads(usage[0].value)["model"] == "small-7b"
    assert total_usage(ready, MODEL).requests == cards
    assert total_usage(ready, MODEL).prompt_tokens == 100 * cards
    assert judge(ready, case, f"{server}/fail/v1") == 0  # all is done: nothing is requested again


def test_replies_without_a_grade_are_asked_for_again(ready: Journal, case: LabCase, server: str) -> None:
    assert judge(ready, case, f"{server}/grade-on-second-try/v1") > 0
    assert total_usage(ready, MODEL).requests == 2 * len(own(ready))


@pytest.mark.parametrize(
    ("behaviour", "fact"),
    [
        ("good", "none of 3 replies about item"),
        ("nonsense", "the reply is not JSON"),
        ("other-json", "has no text"),
        ("fail", "status 500: out of memory"),
        ("refuse", "status 401: no key"),
        ("hang", "no complete answer within 0.5 seconds"),
        ("half-body", ""),
    ],
)
def test_a_bad_endpoint_leaves_nothing(ready: Journal, case: LabCase, server: str, behaviour: str, fact: str) -> None:
    events = len(list(ready.events()))
    with pytest.raises(PorismError) as error:
        judge(ready, case, f"{server}/{behaviour}/v1", seconds=0.5 if behaviour == "hang" else 30.0)
    assert fact in str(error.value)
    assert "the endpoint http://127.0.0.1" in str(error.value)
    assert len(list(ready.events())) == events


def test_an_interrupted_run_continues_with_whole_items(ready: Journal, case: LabCase, server: str) -> None:
    with pytest.raises(PorismError, match="gives a grade"):
        judge(ready, case, f"{server}/three-grades/v1")
    done = len(own(ready))
    assert 0 < done <= 3
    judge(ready, case, f"{server}/grade/v1")
    jobs = assignments(ready, MODEL)
    assert len(own(ready)) == sum(len(item.cards) for job in jobs for item in assigned_items(ready, job.id))


def test_a_model_is_never_assigned_what_becomes_qrels(ready: Journal) -> None:
    with pytest.raises(PorismError, match="never become qrels"):
        assign_topic(ready, MODEL, 1, "A.2")
    with pytest.raises(PorismError, match="never become qrels"):
        assign_extra(ready, MODEL, "A.1", 2, 0)
    assert assign_training(ready, MODEL, 1, 1)
    with pytest.raises(PorismError, match="belong to models"):
        add_account(ready, "model.big", "assessor", "a long password")
    with pytest.raises(PorismError, match=r"name it model\.big"):
        add_model_account(ready, "big")
    assert (MODEL, "assessor") in accounts(ready)


def test_even_a_main_judgment_of_a_model_is_left_out_of_qrels() -> None:
    given = [Assessment(1, "A.1", "5", 1, name, 3) for name in ("ann", MODEL)]
    given += [Assessment(1, "A.1", "6", 1, MODEL, 3)]
    assert [judgment.item for judgment in variants(given, 1).files["all"]] == ["5"]


def test_a_model_in_a_training_round_does_not_count_as_a_colleague(ready: Journal) -> None:
    for name, grades in (("ann", "311"), ("bob", "311"), (MODEL, "000")):
        assign_training(ready, name, 1, 1)
        job = next(job for job in assignments(ready, name) if job.purpose == "training")
        for item, grade in zip(sorted(assigned_items(ready, job.id), key=lambda item: item.key), grades, strict=True):
            entries = [JournalEntry(item.key, 1, "grade", grade), JournalEntry(item.key, 1, "submit", "")]
            ready.append(name, job.id, entries, f"training-{name}-{item.key}")
    results = {result.assessor: result for result in training_results(ready)}
    assert results["ann"].others_kappa == 1.0
    assert results[MODEL].others_kappa != 1.0


def test_agreement_with_people_by_grade() -> None:
    grades = [(3, 3), (3, 2), (2, 2), (0, 0), (0, 0), (0, 1), (1, 6)]
    given = []
    for number, (person, model) in enumerate(grades):
        given.append(Assessment(1, "A.1", str(number), 1, "ann", person))
        given.append(Assessment(1, "A.1", str(number), 1, MODEL, model, purpose="dual"))
    (found,) = model_agreements(given)
    assert (found.model, found.items, found.ungraded) == (MODEL, 6, 1)
    high, medium, low, none = found.grades
    assert (high.items, high.by_model, high.share) == (2, (1, 1, 0, 0), 0.5)
    assert (medium.by_model, low.by_model, low.ungraded) == ((0, 1, 0, 0), (0, 0, 0, 0), 1)
    assert (none.items, none.by_model) == (3, (0, 0, 1, 2))
    assert found.kappa == pytest.approx(0.5385, abs=1e-4)
    assert found.kappa_weighted is not None
    assert found.alpha is not None


def test_the_commands(
    ready: Journal, case: LabCase, server: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(ready.path)
    assert main(["lab", "assess", "account", path, "model.other", "--role", "model"]) == 0
    judging = ["--collection", str(case.collection_path), "--endpoint", f"{server}/grade/v1"]
    assert main(["lab", "assess", "judge-model", path, "model.other", *judging]) == 1
    assert "nothing is assigned to model.other" in capsys.readouterr().err
    assert main(["lab", "assess", "judge-model", path, "ann", *judging]) == 1
    assert "ann is not a model" in capsys.readouterr().err
    assert main(["lab", "assess", "judge-model", path, MODEL, *judging]) == 0
    assert "items judged now; all judgments of model.small:" in capsys.readouterr().err
    assert main(["lab", "agreement", path, "--models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("model\tpeople\titems\tmodel_3\tmodel_2\tmodel_1\tmodel_0\tungraded\tsame\tkappa")
    assert [line.split("\t")[1] for line in lines[1:]] == ["3", "2", "1", "0", "all"]
    assert main(["lab", "agreement", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == []
    assert main(["lab", "assess", "assign", path]) == 0
    assert "model." not in capsys.readouterr().out
