"""Questions to the organiser, and items that are judged in order."""

from __future__ import annotations

import re

import httpx

from lab_case import LabCase
from porism.lab.judging.assignments import assign_topic
from porism.lab.judging.journal import Journal

from .client import Person
from .test_judge import begin


def test_a_question_about_an_item_is_answered_beside_it(case: LabCase, journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    ann, olga = Person(case, journal, "ann"), Person(case, journal, "olga")
    begin(ann, 1)
    assert "No assessor has asked" in olga.get("/organise/questions").text
    ann.send(ann.get("/judge/1/2"), {"question": "Is <b>this</b> on topic?"}, action="/judge/1/2/question")
    assert "Is &lt;b&gt;this&lt;/b&gt; on topic?" in ann.get("/judge/1/2").text
    page = olga.get("/organise/questions")
    assert "waits for an answer" in page.text
    olga.send(page, {"answer": "Yes, grade it."}, action=_answer_address(page.text))
    assert "Yes, grade it." in ann.get("/judge/1/2").text
    assert "Yes, grade it." not in ann.get("/judge/1/1").text
    assert "waits for an answer" not in olga.get("/organise/questions").text


def _answer_address(page: str) -> str:
    return page.split('action="')[2].split('"')[0]  # the first form is that of logging out


def test_an_empty_question_and_another_persons_item_are_refused(case: LabCase, journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    ann, bob, olga = (Person(case, journal, name) for name in ("ann", "bob", "olga"))
    begin(ann, 1)
    answer = ann.send(ann.get("/judge/1/1"), {"question": "  "}, action="/judge/1/1/question")
    assert (answer.status_code, "the text is empty" in answer.text) == (422, True)
    assert _post(bob, "/judge/1/1/question", question="x").status_code == 404
    assert "nobody asked about this item" in _post(olga, "/organise/questions/1/none", answer="x").text


def _post(person: Person, address: str, **fields: str) -> httpx.Response:
    """Send a form that the person's pages do not have."""
    csrf = re.search(r'name="csrf" value="([^"]*)"', person.get("/").text)
    assert csrf is not None
    return person.http.post(address, data={"csrf": csrf[1], "request_key": "12345678", **fields})


def test_items_in_order_cannot_be_skipped(case: LabCase, journal: Journal) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    ann = Person(case, journal, "ann", in_order=True)
    begin(ann, 1)
    assert "Item 1 of 5" in ann.get("/judge/1/4").text
    assert 'href="/judge/1/2"' not in ann.get("/items/1").text
    ann.send(ann.get("/judge/1/1"), {"grade_1": "2", "go": "next"}, action="/judge/1/1")
    assert "Item 2 of 5" in ann.get("/judge/1/4").text
    assert "Item 1 of 5" in ann.get("/judge/1/1").text
