from __future__ import annotations

import pytest

from lab_case import LabCase
from porism.errors import PorismError
from porism.lab.judging.agreement import training_results
from porism.lab.judging.assessments import assessments, extra_answers
from porism.lab.judging.assignments import (
    Duty,
    assign_dual,
    assign_extra,
    assign_items,
    assign_topic,
    assign_training,
    assigned_items,
    assignments,
    has_narrative,
    move_topic,
    progress,
    share_topics,
)
from porism.lab.judging.exports import narratives_tsv
from porism.lab.judging.items import TrainingItem, load_pool, load_training, pooled_items
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.record import record_entries
from porism.lab.pooling.pool import PoolItem


def assignment_id(journal: Journal, name: str, purpose: str = "main", task: int = 1) -> int:
    return next(job.id for job in assignments(journal, name) if (job.purpose, job.task) == (purpose, task))


def enter(
    journal: Journal, name: str, job: int, key: str, field: str, value: str, instance: int = 1, at: float = 0.0
) -> None:
    record_entries(
        journal, name, job, [JournalEntry(key, instance, field, value)], f"test-{key}-{instance}-{field}-{at}", at
    )


def test_a_topic_is_assigned_in_pool_order_and_grows_with_the_pool(case: LabCase, journal: Journal) -> None:
    assert assign_topic(journal, "ann", 1, "A.1") == 5
    job = assignment_id(journal, "ann")
    assert [item.item for item in assigned_items(journal, job)] == [
        item.item for item in case.pool(1).items if item.topic == "A.1"
    ]
    assert load_pool(journal, 1, [PoolItem("A.1", "14", 2), PoolItem("A.1", "11", 2)]) == 1
    assert assign_topic(journal, "ann", 1, "A.1") == 1
    assert [(item.position, item.item) for item in assigned_items(journal, job)][-1] == (6, "14")


def test_topics_are_shared_by_number_of_items(journal: Journal) -> None:
    assert share_topics(journal, 1, ["ann", "bob"]) == {"ann": ["A.1"], "bob": ["A.2"]}
    assert share_topics(journal, 1, ["ann", "bob"]) == {"ann": [], "bob": []}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda j: assign_topic(j, "zoe", 1, "A.1"),
            "there is no assessor 'zoe'\n  fix: porism lab assess account JOURNAL zoe",
        ),
        (
            lambda j: assign_topic(j, "olga", 1, "A.1"),
            "there is no assessor 'olga'\n  fix: porism lab assess account JOURNAL olga",
        ),
        (
            lambda j: assign_topic(j, "ann", 1, "A.9"),
            "topic A.9 has no items to judge in task 1\n  fix: load its pool first: porism lab assess load",
        ),
        (
            lambda j: assign_dual(j, "ann", 1, "A.1", 2, 0),
            "nobody judges topic A.1 of task 1 yet\n  fix: porism lab assess assign JOURNAL",
        ),
        (
            lambda j: assign_training(j, "ann", 1, 7),
            "training round 7 of task 1 has no items\n  fix: porism lab assess train JOURNAL --known FILE",
        ),
        (
            lambda j: load_pool(j, 1, [PoolItem("A.77", "1")]),
            "the pool has topics that are not loaded: A.77\n  fix: give the topics file of this pool",
        ),
        (
            lambda j: load_training(j, 1, [TrainingItem(1, "A.1", "11", 3)]),
            "training topics are also in the pool: A.1\n  fix: train on topics of an earlier year",
        ),
        (
            lambda j: load_training(j, 1, [TrainingItem(1, "T.9", "11", 5)]),
            "5 is not a grade (topic T.9, item 11)\n  fix: use 0, 1, 2 or 3",
        ),
    ],
)
def test_invalid_assignments_are_refused(journal: Journal, call: object, message: str) -> None:
    with pytest.raises(PorismError) as error:
        call(journal)  # type: ignore[operator]
    assert str(error.value) == message


def test_two_assessors_cannot_judge_one_topic_for_the_qrels(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    with pytest.raises(PorismError) as error:
        assign_topic(journal, "bob", 1, "A.1")
    assert str(error.value) == "topic A.1 is judged by ann\n  fix: assign second opinions with `porism lab assess dual`"


def test_items_not_judged_yet_can_move_to_a_colleague(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    job = assignment_id(journal, "ann")
    first, second = assigned_items(journal, job)[:2]
    enter(journal, "ann", job, first.key, "grade", "3")
    enter(journal, "ann", job, second.key, "grade", "5")  # not done: the comment is missing
    assert move_topic(journal, "ann", "bob", 1, "A.1") == 4
    assert [item.key for item in assigned_items(journal, job)] == [first.key]
    theirs = assignment_id(journal, "bob")
    assert second.key in {item.key for item in assigned_items(journal, theirs)}
    for item in assigned_items(journal, theirs):
        enter(journal, "bob", theirs, item.key, "grade", "1")
    assert sorted((one.assessor, one.grade) for one in assessments(journal)) == [("ann", 3), *[("bob", 1)] * 4]
    # New items of the pool go to whoever is named; a second opinion covers both parts.
    load_pool(journal, 1, [PoolItem("A.1", "14", 2)])
    assert assign_topic(journal, "bob", 1, "A.1") == 1
    assert assign_dual(journal, "cyd", 1, "A.1", None, 1) == 5
    for call, message in [
        (lambda: move_topic(journal, "cyd", "bob", 1, "A.1"), "cyd does not judge topic A.1 of task 1"),
        (lambda: move_topic(journal, "ann", "zoe", 1, "A.1"), "there is no assessor 'zoe'"),
    ]:
        with pytest.raises(PorismError) as error:
            call()
        assert error.value.message == message


def test_an_item_is_done_when_every_card_has_its_grade_and_comment(journal: Journal) -> None:
    assign_topic(journal, "ann", 2, "B.1")
    job = next(one for one in assignments(journal, "ann"))
    three = next(item for item in assigned_items(journal, job.id) if len(item.cards) == 3)
    for instance in (1, 2):
        enter(journal, "ann", job.id, three.key, "grade", "3", instance)
    assert progress(journal, job).done == 0
    enter(journal, "ann", job.id, three.key, "grade", "5", 3)
    assert progress(journal, job).done == 0
    enter(journal, "ann", job.id, three.key, "comment", " ", 3)
    assert progress(journal, job).done == 0
    enter(journal, "ann", job.id, three.key, "comment", "the formula is cut", 3, at=1.0)
    assert progress(journal, job).done == 1


def test_the_next_item_is_the_first_open_one_after_this_then_from_the_start(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    job = assignments(journal, "ann")[0]
    for item in assigned_items(journal, job.id)[1:4]:
        enter(journal, "ann", job.id, item.key, "grade", "0")
    assert [progress(journal, job, after).next for after in (0, 1, 4, 5)] == [1, 5, 5, 1]
    for item in assigned_items(journal, job.id):
        enter(journal, "ann", job.id, item.key, "grade", "1", at=1.0)
    assert progress(journal, job).next is None


def test_only_the_owner_can_record_and_only_valid_entries(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    assign_topic(journal, "bob", 1, "A.2")
    job = assignment_id(journal, "ann")
    key = assigned_items(journal, job)[0].key
    foreign = assigned_items(journal, assignment_id(journal, "bob"))[0].key
    for name, entry, message in [
        ("bob", JournalEntry(key, 1, "grade", "3"), f"there is no assignment {job}"),
        ("ann", JournalEntry(foreign, 1, "grade", "3"), "the item is not in this assignment"),
        ("ann", JournalEntry(key, 2, "grade", "3"), "the item is not in this assignment"),
        ("ann", JournalEntry(key, 1, "grade", "4"), "'4' is not a valid grade"),
        ("ann", JournalEntry(key, 1, "grade", ""), "'' is not a valid grade"),
        ("ann", JournalEntry(key, 1, "known", "3"), "there is no field 'known'"),
        ("ann", JournalEntry(key, 1, "machine", "1"), "this assignment has no field 'machine'"),
        ("ann", JournalEntry(key, 1, "comment", "x" * 4001), "the comment is too long"),
        ("ann", JournalEntry("", 0, "grade", "3"), "there is no field 'grade'"),
    ]:
        with pytest.raises(PorismError) as error:
            record_entries(journal, name, job, [JournalEntry(key, 1, "comment", "good"), entry], "test-request-1")
        assert error.value.message == message
    with pytest.raises(PorismError, match="the form has no request key"):
        record_entries(journal, "ann", job, [], "")
    assert list(journal.events()) == []


def test_assessments_have_grade_and_time_as_computed_by_hand(journal: Journal) -> None:
    assign_topic(journal, "ann", 2, "B.1")
    job = assignment_id(journal, "ann", task=2)
    item = next(one for one in assigned_items(journal, job) if len(one.cards) == 3)
    enter(journal, "ann", job, item.key, "open", "", at=100.0)
    for instance, grade in enumerate("302", 1):
        enter(journal, "ann", job, item.key, "grade", grade, instance, at=110.0)
    enter(journal, "ann", job, item.key, "submit", "", at=130.0)
    enter(journal, "ann", job, item.key, "open", "", at=500.0)
    enter(journal, "ann", job, item.key, "grade", "1", 2, at=505.0)
    enter(journal, "ann", job, item.key, "submit", "", at=515.0)
    found = assessments(journal)
    assert [(one.instance, one.grade) for one in found] == [(1, 3), (2, 1), (3, 2)]
    # 30 s and 15 s for three cards: 15 s each.
    assert {(one.seconds, one.accepted, one.submitted, one.item) for one in found} == {(15.0, 100.0, 515.0, item.item)}


def test_a_second_opinion_is_a_stratified_sample(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    job = assignment_id(journal, "ann")
    keys = [item.key for item in assigned_items(journal, job)]
    for key, grade in zip(keys, "30000", strict=True):
        enter(journal, "ann", job, key, "grade", grade)
    assert assign_dual(journal, "bob", 1, "A.1", 2, 9) == 2
    drawn = [item.key for item in assigned_items(journal, assignment_id(journal, "bob", "dual"))]
    assert keys[0] in drawn
    assert assign_dual(journal, "cyd", 1, "A.1", None, 9) == 5
    with pytest.raises(PorismError, match=r"ann judges topic A\.1 already"):
        assign_dual(journal, "ann", 1, "A.1", 2, 9)


def test_training_grades_cannot_be_changed_after_the_feedback(journal: Journal) -> None:
    assert assign_training(journal, "ann", 1, 1) == 3
    assert assign_training(journal, "bob", 1, 1) == 3
    for name, grades in (("ann", "301"), ("bob", "300")):
        job = assignment_id(journal, name, "training")
        for item, grade in zip(assigned_items(journal, job), grades, strict=True):
            enter(journal, name, job, item.key, "grade", grade)
            enter(journal, name, job, item.key, "submit", "")
    job = assignment_id(journal, "ann", "training")
    key = assigned_items(journal, job)[0].key
    with pytest.raises(PorismError, match="a training grade cannot be changed after its feedback"):
        record_entries(journal, "ann", job, [JournalEntry(key, 1, "grade", "0")], "test-later-1")
    enter(journal, "ann", job, key, "submit", "")  # the same request again: fine
    ann, bob = training_results(journal)
    # TrainingItem 3 0 1. ann agrees fully. bob says 3 0 0: po = 2/3, pe = (1*1 + 2*1)/9 = 1/3, kappa = 1/2; H+M fully.
    assert (ann.items, ann.same_grade, ann.known_kappa, ann.known_kappa_hm) == (3, 3, 1.0, 1.0)
    assert (bob.items, bob.same_grade, bob.known_kappa, bob.known_kappa_hm) == (3, 2, 0.5, 1.0)
    assert (ann.others_kappa, ann.others_kappa_hm) == (bob.others_kappa, bob.others_kappa_hm) == (0.5, 1.0)


def test_extra_questions_on_posts_and_written_answers(journal: Journal) -> None:
    assert assign_extra(journal, "ann", "A.1", 3, 5) == 3
    job = next(one for one in assignments(journal, "ann"))
    items = {item.item: item.key for item in assigned_items(journal, job.id)}
    assert "d_1" in items
    enter(journal, "ann", job.id, items["d_1"], "machine", "1")
    assert extra_answers(journal) == []
    enter(journal, "ann", job.id, items["d_1"], "unrelated", "0")
    assert extra_answers(journal) == [("A.1", "d_1", 1, 0)]
    assert progress(journal, job).done == 1
    with pytest.raises(PorismError, match="this assignment has no field 'grade'"):
        record_entries(journal, "ann", job.id, [JournalEntry(items["d_1"], 1, "grade", "3")], "test-request-9")


def test_a_narrative_is_complete_with_both_questions_answered(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    job = assignment_id(journal, "ann")
    record_entries(
        journal,
        "ann",
        job,
        [JournalEntry("", 0, "narrative", "A proof."), JournalEntry("", 0, "text_alone", "yes")],
        "test-request-1",
    )
    assert not has_narrative(journal.current_values(job))
    record_entries(journal, "ann", job, [JournalEntry("", 0, "formulas_alone", "no")], "test-request-2")
    assert has_narrative(journal.current_values(job))


@pytest.mark.parametrize("narrative", ["=cmd|' /C calc'!A0", " +1+x", '"=1+1', "\t@SUM(A1)", "\u200b=1+1", "＝1+1"])
def test_a_narrative_is_no_formula_of_a_spreadsheet(journal: Journal, narrative: str) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    record_entries(
        journal, "ann", assignment_id(journal, "ann"), [JournalEntry("", 0, "narrative", narrative)], "test-request-1"
    )
    (_, row) = narratives_tsv(journal).splitlines()
    assert row.split("\t")[-1] == f"'{narrative.strip()}"


def test_only_drawn_items_of_a_sampled_pool_are_assigned(case: LabCase, journal: Journal) -> None:
    items = [PoolItem("A.2", str(number), 2) for number in (11, 12, 13, 14, 15)]
    load_pool(journal, 1, items, sample=0.5, seed=1)
    drawn = journal.read("SELECT count(*) FROM item WHERE topic = 'A.2' AND sampled = 1")[0][0]
    assert 3 < drawn < 8
    assert len([pair for pair in pooled_items(journal, 1) if pair.topic == "A.2"]) == 8
    assert assign_topic(journal, "ann", 1, "A.2") == drawn
    assert all(topic != "T.1" for topic, _ in pooled_items(journal, 1))


def test_an_item_is_assigned_once(journal: Journal) -> None:
    key = journal.read("SELECT key FROM item WHERE topic = 'A.1' LIMIT 1")[0][0]
    assert assign_items(journal, Duty("ann", 1, "A.1", "main"), [key]) == 1
    assert assign_items(journal, Duty("ann", 1, "A.1", "main"), [key]) == 0
