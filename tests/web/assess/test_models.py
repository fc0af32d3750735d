"""The organiser's pages label language models and compare them with people."""

from __future__ import annotations

from lab_case import LabCase
from porism.lab.judging.assignments import assign_dual, assign_topic, assigned_items, assignments
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.people import add_model_account

from .client import Person


def test_a_model_is_labelled_and_compared_with_people(case: LabCase, journal: Journal) -> None:
    olga = Person(case, journal, "olga")
    assert "Models" not in olga.get("/organise/agreement").text
    assign_topic(journal, "ann", 1, "A.1")
    add_model_account(journal, "model.small")
    for name, grades in (("ann", "3210"), ("model.small", "2210")):
        if name != "ann":
            assign_dual(journal, name, 1, "A.1", None, 0)
        for job in assignments(journal, name):
            for at, item in enumerate(sorted(assigned_items(journal, job.id), key=lambda item: item.key)):
                entries = [JournalEntry(item.key, 1, "grade", grades[at % 4]), JournalEntry(item.key, 1, "submit", "")]
                journal.append(name, job.id, entries, f"done-{name}-{item.key}")
    page = olga.get("/organise/agreement").text
    assert '<h3>model.small <span class="quiet">(a model)</span></h3>' in page
    assert "No item has been judged by two assessors yet" in page  # a model is not a second person
    assert "Model: High" in page
    assert "<td>model.small</td><td>model</td>" in olga.get("/organise/people").text
    assert "model.small" in olga.get("/organise").text


def test_the_page_of_people_creates_no_models(case: LabCase, journal: Journal) -> None:
    olga = Person(case, journal, "olga")
    fields = {"name": "model.big", "role": "assessor", "password": "a long password"}
    page = olga.send(olga.get("/organise/people"), fields, action="/organise/people")
    assert "names that begin with model. belong to models" in page.text
