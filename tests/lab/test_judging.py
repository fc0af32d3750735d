from __future__ import annotations

import pytest

from lab_case import LabCase
from porism.errors import PorismError
from porism.lab.judging.assign import (
    assign_dual,
    assign_extra,
    assign_topic,
    assign_training,
    assign_items,
    move_topic,
    share_topics,
)
from porism.lab.judging.journal import Entry, Journal
from porism.lab.judging.loading import TrainingItem, load_pool, load_training, pooled_items
from porism.lab.judging.assignments import assignments, has_narrative, progress, works
from porism.lab.judging.assessments import assessments, extra_answers
from porism.lab.judging.record import record_entries
from porism.lab.judging.training import training_results
from porism.lab.pooling.pool import PoolItem


def job_of(journal: Journal, name: str, purpose: str = "main", task: int = 1) -> int:
    return next(job.id for job in assignments(journal, name) if (job.purpose, job.task) == (purpose, task))


def say(
    journal: Journal, name: str, job: int, key: str, field: str, value: str, instance: int = 1, at: float = 0.0
) -> None:
    record_entries(journal, name, job, [Entry(key, instance, field, value)], f"test-{key}-{instance}-{field}-{at}", at)


def test_a_topic_is_given_in_pool_order_and_grows_with_the_pool(case: LabCase, journal: Journal) -> None:
    assert assign_topic(journal, "ann", 1, "A.1") == 5
    job = job_of(journal, "ann")
    assert [work.item for work in assigned_items(journal, job)] == [
        item.item for item in case.pool(1).items if item.topic == "A.1"
    ]
    assert load_pool(journal, 1, [PoolItem("A.1", "14", 2), PoolItem("A.1", "11", 2)]) == 1
    assert assign_topic(journal, "ann", 1, "A.1") == 1
    assert [(work.place, work.item) for work in assigned_items(journal, job)][-1] == (6, "14")


def test_topics_are_shared_by_the_number_of_items(journal: Journal) -> None:
    assert share_topics(journal, 1, ["ann", "bob"]) == {"ann": ["A.1"], "bob": ["A.2"]}
    assert share_topics(journal, 1, ["ann", "bob"]) == {"ann": [], "bob": []}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda j: assign_topic(j, "zoe", 1, "A.1"),
            "there is no assessor 'zoe'\n  fix: porism assess account JOURNAL zoe",
        ),
        (
            lambda j: assign_topic(j, "olga", 1, "A.1"),
            "there is no assessor 'olga'\n  fix: porism assess account JOURNAL olga",
        ),
        (
            lambda j: assign_topic(j, "ann", 1, "A.9"),
            "topic A.9 has no items to judge in task 1\n  fix: load its pool first: porism assess load",
        ),
        (
            lambda j: assign_dual(j, "ann", 1, "A.1", 2, 0),
            "nobody judges topic A.1 of task 1 yet\n  fix: porism assess assign JOURNAL",
        ),
        (
            lambda j: assign_training(j, "ann", 1, 7),
            "training round 7 of task 1 has no items\n  fix: porism assess train JOURNAL --known FILE",
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
            "5 is no known grade (topic T.9, item 11)\n  fix: use 0, 1, 2 or 3",
        ),
    ],
)
def test_what_cannot_be_given(journal: Journal, call: object, said: str) -> None:
    with pytest.raises(PorismError) as error:
        call(journal)  # type: ignore[operator]
    assert str(error.value) == said


def test_two_people_cannot_have_one_topic(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    with pytest.raises(PorismError) as error:
        assign_topic(journal, "bob", 1, "A.1")
    assert str(error.value) == "topic A.1 is judged by ann\n  fix: give second opinions with `porism assess dual`"


def test_what_is_not_judged_can_move_to_a_colleague(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    job = job_of(journal, "ann")
    first, second = assigned_items(journal, job)[:2]
    say(journal, "ann", job, first.key, "grade", "3")
    say(journal, "ann", job, second.key, "grade", "5")  # not done: the comment is missing
    assert move_topic(journal, "ann", "bob", 1, "A.1") == 4
    assert [work.key for work in assigned_items(journal, job)] == [first.key]
    theirs = job_of(journal, "bob")
    assert second.key in {work.key for work in assigned_items(journal, theirs)}
    for work in assigned_items(journal, theirs):
        say(journal, "bob", theirs, work.key, "grade", "1")
    assert sorted((one.assessor, one.grade) for one in assessments(journal)) == [("ann", 3), *[("bob", 1)] * 4]
    # What the pool brings later goes to whoever is asked; a second opinion covers both parts.
    load_pool(journal, 1, [PoolItem("A.1", "14", 2)])
    assert assign_topic(journal, "bob", 1, "A.1") == 1
    assert assign_dual(journal, "cyd", 1, "A.1", None, 1) == 5
    for call, said in [
        (lambda: move_topic(journal, "cyd", "bob", 1, "A.1"), "cyd does not judge topic A.1 of task 1"),
        (lambda: move_topic(journal, "ann", "zoe", 1, "A.1"), "there is no assessor 'zoe'"),
    ]:
        with pytest.raises(PorismError) as error:
            call()
        assert error.value.message == said


def test_an_item_is_done_when_every_card_is_graded_and_explained(journal: Journal) -> None:
    assign_topic(journal, "ann", 2, "B.1")
    job = next(one for one in assignments(journal, "ann"))
    three = next(work for work in assigned_items(journal, job.id) if len(work.cards) == 3)
    for instance in (1, 2):
        say(journal, "ann", job.id, three.key, "grade", "3", instance)
    assert progress(journal, job).done == 0
    say(journal, "ann", job.id, three.key, "grade", "5", 3)
    assert progress(journal, job).done == 0
    say(journal, "ann", job.id, three.key, "comment", " ", 3)
    assert progress(journal, job).done == 0
    say(journal, "ann", job.id, three.key, "comment", "the formula is cut", 3, at=1.0)
    assert progress(journal, job).done == 1


def test_the_next_item_is_the_first_open_one_after_here_then_from_the_start(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    job = assignments(journal, "ann")[0]
    for work in assigned_items(journal, job.id)[1:4]:
        say(journal, "ann", job.id, work.key, "grade", "0")
    assert [progress(journal, job, after).next for after in (0, 1, 4, 5)] == [1, 5, 5, 1]
    for work in assigned_items(journal, job.id):
        say(journal, "ann", job.id, work.key, "grade", "1", at=1.0)
    assert progress(journal, job).next is None


def test_only_the_owner_writes_and_only_what_is_asked(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    assign_topic(journal, "bob", 1, "A.2")
    job = job_of(journal, "ann")
    key = assigned_items(journal, job)[0].key
    foreign = assigned_items(journal, job_of(journal, "bob"))[0].key
    for name, entry, said in [
        ("bob", Entry(key, 1, "grade", "3"), f"there is no assignment {job}"),
        ("ann", Entry(foreign, 1, "grade", "3"), "the item is not in this assignment"),
        ("ann", Entry(key, 2, "grade", "3"), "the item is not in this assignment"),
        ("ann", Entry(key, 1, "grade", "4"), "'4' cannot be a grade"),
        ("ann", Entry(key, 1, "grade", ""), "'' cannot be a grade"),
        ("ann", Entry(key, 1, "known", "3"), "there is no field 'known'"),
        ("ann", Entry(key, 1, "machine", "1"), "machine is not asked here"),
        ("ann", Entry(key, 1, "comment", "x" * 4001), "the comment is too long"),
        ("ann", Entry("", 0, "grade", "3"), "there is no field 'grade'"),
    ]:
        with pytest.raises(PorismError) as error:
            record_entries(journal, name, job, [Entry(key, 1, "comment", "good"), entry], "test-once-1")
        assert error.value.message == said
    with pytest.raises(PorismError, match="the form lacks its number"):
        record_entries(journal, "ann", job, [], "")
    assert list(journal.events()) == []


def test_assessments_carry_grade_comment_and_time_by_hand(journal: Journal) -> None:
    assign_topic(journal, "ann", 2, "B.1")
    job = job_of(journal, "ann", task=2)
    work = next(one for one in assigned_items(journal, job) if len(one.cards) == 3)
    say(journal, "ann", job, work.key, "open", "", at=100.0)
    for instance, grade in enumerate("302", 1):
        say(journal, "ann", job, work.key, "grade", grade, instance, at=110.0)
    say(journal, "ann", job, work.key, "submit", "", at=130.0)
    say(journal, "ann", job, work.key, "open", "", at=500.0)
    say(journal, "ann", job, work.key, "grade", "1", 2, at=505.0)
    say(journal, "ann", job, work.key, "submit", "", at=515.0)
    found = assessments(journal)
    assert [(one.instance, one.grade) for one in found] == [(1, 3), (2, 1), (3, 2)]
    # 30 s and 15 s for three cards: 15 s each.
    assert {(one.seconds, one.accepted, one.submitted, one.item) for one in found} == {(15.0, 100.0, 515.0, work.item)}


def test_a_second_opinion_is_a_stratified_seeded_sample(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    job = job_of(journal, "ann")
    keys = [work.key for work in assigned_items(journal, job)]
    for key, grade in zip(keys, "30000", strict=True):
        say(journal, "ann", job, key, "grade", grade)
    assert assign_dual(journal, "bob", 1, "A.1", 2, 9) == 2
    drawn = [work.key for work in assigned_items(journal, job_of(journal, "bob", "dual"))]
    assert keys[0] in drawn
    assert assign_dual(journal, "cyd", 1, "A.1", None, 9) == 5
    with pytest.raises(PorismError, match=r"ann judges topic A\.1 already"):
        assign_dual(journal, "ann", 1, "A.1", 2, 9)


def test_training_grades_stand_as_they_were_before_the_feedback(journal: Journal) -> None:
    assert assign_training(journal, "ann", 1, 1) == 3
    assert assign_training(journal, "bob", 1, 1) == 3
    for name, grades in (("ann", "301"), ("bob", "300")):
        job = job_of(journal, name, "training")
        for work, grade in zip(assigned_items(journal, job), grades, strict=True):
            say(journal, name, job, work.key, "grade", grade)
            say(journal, name, job, work.key, "submit", "")
    job = job_of(journal, "ann", "training")
    key = assigned_items(journal, job)[0].key
    with pytest.raises(PorismError, match="a training grade cannot be changed after its feedback"):
        record_entries(journal, "ann", job, [Entry(key, 1, "grade", "0")], "test-later-1")
    say(journal, "ann", job, key, "submit", "")  # the same request again: fine
    ann, bob = training_results(journal)
    # TrainingItem 3 0 1. ann agrees fully. bob says 3 0 0: po = 2/3, pe = (1*1 + 2*1)/9 = 1/3, kappa = 1/2; H+M fully.
    assert (ann.items, ann.exact, ann.known_four, ann.known_binary) == (3, 3, 1.0, 1.0)
    assert (bob.items, bob.exact, bob.known_four, bob.known_binary) == (3, 2, 0.5, 1.0)
    assert (ann.others_four, ann.others_binary) == (bob.others_four, bob.others_binary) == (0.5, 1.0)


def test_extra_questions_on_posts_and_written_answers(journal: Journal) -> None:
    assert assign_extra(journal, "ann", "A.1", 3, 5) == 3
    job = next(one for one in assignments(journal, "ann"))
    items = {work.item: work.key for work in assigned_items(journal, job.id)}
    assert "d_1" in items
    say(journal, "ann", job.id, items["d_1"], "machine", "1")
    assert extra_answers(journal) == []
    say(journal, "ann", job.id, items["d_1"], "unrelated", "0")
    assert extra_answers(journal) == [("A.1", "d_1", 1, 0)]
    assert progress(journal, job).done == 1
    with pytest.raises(PorismError, match="grade is not asked here"):
        record_entries(journal, "ann", job.id, [Entry(items["d_1"], 1, "grade", "3")], "test-once-9")


def test_the_narrative_needs_all_three_answers(journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    job = job_of(journal, "ann")
    record_entries(
        journal, "ann", job, [Entry("", 0, "narrative", "A proof."), Entry("", 0, "text_alone", "yes")], "test-once-1"
    )
    assert not has_narrative(journal.current_values(job))
    record_entries(journal, "ann", job, [Entry("", 0, "formulas_alone", "no")], "test-once-2")
    assert has_narrative(journal.current_values(job))


def test_a_sampled_pool_gives_only_drawn_items_and_remembers_the_rest(case: LabCase, journal: Journal) -> None:
    items = [PoolItem("A.2", str(number), 2) for number in (11, 12, 13, 14, 15)]
    load_pool(journal, 1, items, sample=0.5, seed=1)
    drawn = journal.read("SELECT count(*) FROM item WHERE topic = 'A.2' AND sampled = 1")[0][0]
    assert 3 < drawn < 8
    assert len([pair for pair in pooled_items(journal, 1) if pair[0] == "A.2"]) == 8
    assert assign_topic(journal, "ann", 1, "A.2") == drawn
    assert all(topic != "T.1" for topic, _ in pooled_items(journal, 1))


def test_giving_twice_gives_once(journal: Journal) -> None:
    key = journal.read("SELECT key FROM item WHERE topic = 'A.1' LIMIT 1")[0][0]
    assert assign_items(journal, "ann", 1, "A.1", "main", [key]) == 1
    assert assign_items(journal, "ann", 1, "A.1", "main", [key]) == 0
