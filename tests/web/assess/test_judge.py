from __future__ import annotations

import re

import pytest

from lab_case import LabCase
from porism.lab.judging.assessments import assessments, extra_answers
from porism.lab.judging.assignments import (
    assign_dual,
    assign_extra,
    assign_topic,
    assign_training,
    assigned_items,
    assignments,
    progress,
)
from porism.lab.judging.journal import Journal

from .client import Person


@pytest.fixture
def ann(case: LabCase, journal: Journal) -> Person:
    assign_topic(journal, "ann", 1, "A.1")
    return Person(case, journal, "ann")


def begin(person: Person, job: int) -> None:
    page = person.get(f"/judge/{job}")
    assert "Before you see any candidate" in page.text
    person.send(page, {"narrative": "A proof.", "text_alone": "yes", "formulas_alone": "no"}, action=f"/topic/{job}")


def test_the_narrative_comes_first(journal: Journal, ann: Person) -> None:
    for path in ("/judge/1", "/judge/1/1", "/judge/1/3"):
        assert "Before you see any candidate" in ann.get(path).text
    answer = ann.send(ann.get("/judge/1"), {"narrative": "x", "text_alone": "yes"}, action="/topic/1")
    assert answer.status_code == 422
    assert "Please write the narrative and answer both questions." in answer.text
    begin(ann, 1)
    assert "Item 1 of 5, 0 done" in ann.get("/judge/1").text


def test_judging_without_scripts_from_first_to_last_item(journal: Journal, ann: Person) -> None:
    begin(ann, 1)
    page = ann.get("/judge/1")
    for number, grade in enumerate("32100", 1):
        assert f"Item {number} of 5" in page.text
        page = ann.send(page, {"grade_1": grade, "comment_1": "", "go": "next"}, action=f"/judge/1/{number}")
    assert "All 5 items are done." in page.text
    assert [one.grade for one in assessments(journal)] == [3, 2, 1, 0, 0]
    assert "You have finished everything that is assigned to you" in ann.get("/").text


def test_back_change_and_resume(case: LabCase, journal: Journal, ann: Person) -> None:
    begin(ann, 1)
    page = ann.send(ann.get("/judge/1/1"), {"grade_1": "0", "go": "next"}, action="/judge/1/1")
    page = ann.send(page, {"go": "back"}, action="/judge/1/2")
    assert "Item 1 of 5" in page.text
    assert re.search(r'value="0"[^>]*checked', page.text)
    ann.send(page, {"grade_1": "3", "go": "next"}, action="/judge/1/1")
    assert [event.value for event in journal.events(1) if event.field == "grade"] == ["0", "3"]
    again = Person(case, journal, "ann")
    assert "Item 2 of 5, 1 done" in again.get("/judge/1").text


def test_codes_need_a_comment_but_the_click_is_saved(journal: Journal, ann: Person) -> None:
    begin(ann, 1)
    page = ann.send(ann.get("/judge/1/1"), {"grade_1": "5", "comment_1": "", "go": "next"}, action="/judge/1/1")
    assert page.status_code == 422
    assert "System failure needs a comment that says why." in page.text
    assert journal.current_values(1)[assigned_items(journal, 1)[0].key, 1, "grade"] == "5"
    page = ann.send(page, {"grade_1": "5", "comment_1": "the sum ∑ is cut", "go": "next"}, action="/judge/1/1")
    assert "Item 2 of 5, 1 done" in page.text
    page = ann.send(page, {"go": "next"}, action="/judge/1/2")
    assert "Please choose a grade." in page.text


@pytest.mark.parametrize("grade", ["***2", "4", "-1", "9" * 5000, "٣", "2 "])
def test_a_forged_grade_is_refused(journal: Journal, ann: Person, grade: str) -> None:
    begin(ann, 1)
    page = ann.send(ann.get("/judge/1/1"), {"grade_1": grade, "go": "next"}, action="/judge/1/1")
    assert page.status_code == 422
    assert not [event for event in journal.events(1) if event.field == "grade"]


def test_a_repeated_click_is_stored_once(journal: Journal, ann: Person) -> None:
    begin(ann, 1)
    token = re.search(r'name="csrf" value="([^"]+)"', ann.get("/judge/1/1").text)[1]  # type: ignore[index]
    for _ in range(3):
        answer = ann.http.post(
            "/judge/1/1/click", data={"csrf": token, "request_key": "click-00000001", "grade_1": "2"}
        )
        assert answer.status_code == 204
    assert [event.value for event in journal.events(1) if event.field == "grade"] == ["2"]
    assert (
        ann.http.post(
            "/judge/1/1/click", data={"csrf": token, "request_key": "click-00000002", "grade_1": "4"}
        ).status_code
        == 422
    )
    # The form that follows the click has the same values: no second event, but the item is submitted.
    page = ann.get("/judge/1/1")
    ann.send(page, {"grade_1": "2", "go": "next"}, action="/judge/1/1")
    fields = [event.field for event in journal.events(1) if event.item]
    assert fields.count("grade") == 1
    assert fields.count("submit") == 1


def test_every_card_of_a_formula_is_rated(case: LabCase, journal: Journal) -> None:
    assign_topic(journal, "ann", 2, "B.1")
    person = Person(case, journal, "ann")
    begin(person, 1)
    position = next(item.position for item in assigned_items(journal, 1) if len(item.cards) == 3)
    page = person.get(f"/judge/1/{position}")
    assert page.text.count('class="card"') == 3
    # Highlighted: the query formula in its question and alone, the found one alone and in each of three posts.
    assert page.text.count('<mark class="formula">') == 2 + 1 + 3
    page = person.send(page, {"grade_1": "3", "grade_2": "0", "go": "next"}, action=f"/judge/1/{position}")
    assert "Please choose a grade for post 3." in page.text
    person.send(page, {"grade_1": "3", "grade_2": "0", "grade_3": "6", "comment_3": "?"}, action=f"/judge/1/{position}")
    assert [(one.instance, one.grade) for one in assessments(journal)] == [(1, 3), (2, 0), (3, 6)]


def test_a_written_answer_has_no_thread(journal: Journal, ann: Person) -> None:
    begin(ann, 1)
    position = next(item.position for item in assigned_items(journal, 1) if item.item == "d_1")
    page = ann.get(f"/judge/1/{position}").text
    assert "A square is a product of" in page
    assert 'class="thread"' not in page
    other = next(item.position for item in assigned_items(journal, 1) if item.item == "11")
    assert 'class="thread" target="_blank" rel="noopener" href="/thread/1#p11"' in ann.get(f"/judge/1/{other}").text


def test_training_shows_the_known_grade_after_the_own_one(case: LabCase, journal: Journal) -> None:
    assign_training(journal, "ann", 1, 1)
    person = Person(case, journal, "ann")
    page = person.get("/judge/1")
    assert "known grade" not in page.text
    page = person.send(page, {"grade_1": "3", "go": "next"}, action="/judge/1/1")
    assert "Same as the known grade: High." in page.text
    assert "It settles both signs." in page.text
    page = person.send(person.get("/judge/1"), {"grade_1": "2", "go": "next"}, action="/judge/1/2")
    assert "The known grade is different: Not relevant." in page.text
    token = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]  # type: ignore[index]
    late = person.http.post("/judge/1/2/click", data={"csrf": token, "request_key": "click-00000009", "grade_1": "0"})
    assert late.status_code == 422
    assert [one.grade for one in assessments(journal)] == [3, 2]


def test_extra_questions(case: LabCase, journal: Journal) -> None:
    assign_extra(journal, "ann", "A.1", 2, 1)
    person = Person(case, journal, "ann")
    page = person.send(person.get("/judge/1"), {"machine_1": "1", "go": "next"}, action="/judge/1/1")
    assert "Please answer both questions." in page.text
    for position in (1, 2):
        page = person.send(
            person.get(f"/judge/1/{position}"), {"machine_1": "1", "unrelated_1": "0"}, action=f"/judge/1/{position}"
        )
    assert {(row.machine_generated, row.unrelated) for row in extra_answers(journal)} == {(1, 0)}
    assert progress(journal, assignments(journal, "ann")[0]).next is None


def test_most_useful_part_and_order_of_preference(journal: Journal, ann: Person) -> None:
    begin(ann, 1)
    positions = {item.item: item.position for item in assigned_items(journal, 1)}
    for name, grade in (("11", "3"), ("12", "3"), ("15", "1")):
        page = ann.get(f"/judge/1/{positions[name]}")
        fields = {"grade_1": grade} | ({"part_1": "2"} if name == "11" else {})
        ann.send(page, fields, action=f"/judge/1/{positions[name]}")
    page = ann.get("/preference/1")
    order = re.findall(r'value="down:([0-9a-f]+)"', page.text)
    assert len(order) == 2
    page = ann.send(page, {"move": f"down:{order[0]}"}, action="/preference/1")
    assert re.findall(r'value="down:([0-9a-f]+)"', page.text) == order[::-1]
    keys = {item.key: item.item for item in assigned_items(journal, 1)}
    assert [keys[key] for key in journal.current_values(1)["", 0, "preference"].split()] == [
        keys[key] for key in order[::-1]
    ]


def test_the_organiser_sees_progress_agreement_and_disagreement(case: LabCase, journal: Journal, ann: Person) -> None:
    begin(ann, 1)
    for number, grade in enumerate("33000", 1):
        ann.send(ann.get(f"/judge/1/{number}"), {"grade_1": grade}, action=f"/judge/1/{number}")
    assign_dual(journal, "bob", 1, "A.1", None, 4)
    bob = Person(case, journal, "bob")
    theirs = {item.key: item.position for item in assigned_items(journal, 2)}
    for item, grade in zip(assigned_items(journal, 1), "30000", strict=True):
        position = theirs[item.key]
        bob.send(
            bob.get(f"/judge/2/{position}"),
            {"grade_1": grade, "comment_1": "my <b>view</b>"},
            action=f"/judge/2/{position}",
        )
    olga = Person(case, journal, "olga")
    assert "5 of 5" in olga.get("/organise?cap=60").text
    # a: 33000, b: 30000. po = .8, pe = (2*1 + 3*4)/25 = .56, kappa = .24/.44 = .545...
    assert "four-way <strong>0.55</strong>, H+M <strong>0.55</strong>" in olga.get("/organise/agreement").text
    page = olga.get("/organise/disagreements").text
    assert page.count('<div class="opinions">') == 1
    assert "my &lt;b&gt;view&lt;/b&gt;" in page
    key = re.search(r"/organise/item/([0-9a-f]+)", page)[1]  # type: ignore[index]
    history = olga.get(f"/organise/item/{key}").text
    assert re.findall(r"<td>(ann|bob)</td><td>grade</td><td>([^<]*)</td>", history) == [
        ("ann", "High"),
        ("bob", "Not relevant"),
    ]
    qrels = olga.get("/organise/export/qrel_task1_official.tsv").text
    assert qrels.count("\n") == 4  # the written answer is Task 3's
    for name in re.findall(r'href="(/organise/export/[^"]+)"', olga.get("/organise/export").text):
        assert olga.get(name).status_code == 200


def test_the_organiser_creates_accounts_and_assigns_items(case: LabCase, journal: Journal) -> None:
    olga = Person(case, journal, "olga")
    page = olga.get("/organise/people")
    olga.send(page, {"name": "dan", "role": "assessor", "password": "long enough one"}, action="/organise/people")
    olga.send(page, {"assessor": "dan", "topic": "1 A.2", "purpose": "main"}, action="/organise/assign")
    assert [job.topic for job in assignments(journal, "dan")] == ["A.2"]
    wrong = olga.send(
        page, {"assessor": "dan", "topic": "1 A.1", "purpose": "dual", "size": "x"}, action="/organise/assign"
    )
    assert wrong.status_code == 422
    assert "size must be a whole number" in wrong.text
    short = olga.send(page, {"name": "eve", "role": "team", "password": "short"}, action="/organise/people")
    assert "the password is too short" in short.text


def test_the_topics_own_thread_is_there_for_assessors(case: LabCase, journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    person = Person(case, journal, "ann", topic_threads=case.collection)
    assert "/topic-thread/1" not in person.get("/topic/1").text
    with journal.write() as connection:
        connection.execute("UPDATE topic SET thread_id = 3 WHERE id = 'A.1'")
    assert 'target="_blank" rel="noopener" href="/topic-thread/1"' in person.get("/topic/1").text
    assert "Square it and use polar coordinates" in person.get("/topic-thread/1").text
