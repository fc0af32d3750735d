from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from lab_case import ATTACK, LabCase
from porism.errors import PorismError
from porism.lab.judging.assessments import assessments
from porism.lab.judging.assignments import assign_extra, assign_topic, assigned_items, assignments
from porism.lab.judging.content import ContentRenderer
from porism.lab.judging.exports import format_time, parse_time, results_csv
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.record import record_entries
from porism.lab.turkle.client import is_complete
from porism.lab.turkle.files import COLUMNS, cell, export, import_results, template, to_batch


@pytest.fixture
def content(case: LabCase) -> ContentRenderer:
    return ContentRenderer(case.collection, lambda thread, post: f"https://lab.example/thread/{thread}#p{post}")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("screen", ["answers", "formulas", "extra"])
def test_templates_meet_the_requirements_of_turkle(screen: str) -> None:
    text = template(screen)
    assert len(text.encode()) < 64 * 1024  # Turkle's limit
    assert not re.search(r"<(html|head|body|form)\b", text)
    fields = set(re.findall(r"\$\{(\w+)\}", text))
    assert fields <= set(COLUMNS[screen])
    assert set(COLUMNS[screen]) - fields <= {
        "arq_assignment",
        "arq_topic_id",
        "arq_item_thread",
        "arq_topic_thread",
        *(f"arq_i{n}_id" for n in range(1, 6)),
    }
    assert "{{" not in text
    assert "{%" not in text
    assert all(name.startswith("arq_") for name in fields)


def test_cells_are_ascii_without_fields_and_form_controls(
    case: LabCase, journal: Journal, content: ContentRenderer
) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    assign_topic(journal, "bob", 1, "A.2")
    assign_topic(journal, "ann", 2, "B.1")
    for assignment in assignments(journal):
        made = to_batch(journal, assignment, content)
        assert made.csv_text.isascii()
        assert "${" not in made.csv_text
        assert not re.search(r"<\s*/?(form|input|script|textarea|button|select|iframe|style)\b", made.csv_text, re.I)
        rows = rows_of(made.csv_text)
        assert [row["arq_item"] for row in rows] == [item.key for item in assigned_items(journal, assignment.id)]
        assert len(rows) == made.tasks
    assert "&#8721;" in to_batch(journal, assignments(journal, "bob")[0], content).csv_text
    assert cell("${x}$ ∑") == "&#36;{x}$ &#8721;"
    assert "arq_topic_title" in ATTACK


def test_an_export_reveals_no_run_and_no_document_id(
    case: LabCase, journal: Journal, content: ContentRenderer, tmp_path: Path
) -> None:
    assign_topic(journal, "ann", 1, "A.1")
    assign_extra(journal, "ann", "A.1", 2, 1)
    export(journal, content, tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [
        "answers.html",
        "extra-task1-A.1-round1-ann.csv",
        "extra.html",
        "main-task1-A.1-round1-ann.csv",
        "turkle.json",
    ]
    text = (tmp_path / "out" / "main-task1-A.1-round1-ann.csv").read_text()
    assert "d_1" not in text
    assert not any(run in text for run in case.runs)


def result_rows(journal: Journal, name: str = "ann", **changes: str) -> list[dict[str, str]]:
    assignment = assignments(journal, name)[0]
    rows = []
    for number, item in enumerate(assigned_items(journal, assignment.id), 1):
        rows.append(
            {
                "HITId": str(number), "AssignmentId": str(100 + number), "AcceptTime": "Sun Nov 15 18:04:30 UTC 2026",
                "SubmitTime": f"Sun Nov 15 18:05:{number:02d} UTC 2026", "WorkTimeInSeconds": "30", "Input.arq_item": item.key,
                "Input.arq_assignment": str(assignment.id), "Answer.arq_item_echo": item.key, "Answer.relevance": "2", "Answer.comment": "ok ∑",
                "Turkle.Username": name,
            }
            | changes
        )  # fmt: skip
    return rows


def as_csv(rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


@pytest.fixture
def given(journal: Journal) -> Journal:
    assign_topic(journal, "ann", 1, "A.1")
    return journal


def test_results_become_assessments(given: Journal) -> None:
    summary = import_results(given, as_csv(result_rows(given)), "r.csv")
    assert (summary.results, summary.problems, summary.replaced) == (5, [], 0)
    found = assessments(given)
    assert [(one.grade, one.comment, one.assessor) for one in found] == [(2, "ok ∑", "ann")] * 5
    assert [one.seconds for one in found] == [31.0, 32.0, 33.0, 34.0, 35.0]
    assert found[0].accepted == parse_time("Sun Nov 15 18:04:30 UTC 2026") == 1794765870.0
    again = import_results(given, as_csv(result_rows(given)), "r.csv")
    assert (again.results, again.events) == (5, 0)


def test_of_two_answers_by_one_person_the_later_counts(given: Journal) -> None:
    rows = result_rows(given)[:1]
    later = rows[0] | {"AssignmentId": "999", "SubmitTime": "Sun Nov 15 19:00:00 UTC 2026", "Answer.relevance": "0"}
    summary = import_results(given, as_csv([later, *rows]), "r.csv")
    assert summary.replaced == 1
    assert [one.grade for one in assessments(given)] == [0]


def test_a_colleague_who_answers_gives_a_second_opinion(given: Journal) -> None:
    import_results(given, as_csv(result_rows(given)), "r.csv")
    rows = [row | {"Turkle.Username": "bob", "Answer.relevance": "0"} for row in result_rows(given)]
    import_results(given, as_csv(rows), "r.csv")
    assert {(one.assessor, one.purpose, one.grade) for one in assessments(given)} == {
        ("ann", "main", 2),
        ("bob", "dual", 0),
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"Answer.arq_item_echo": "zzz"}, "arq_item_echo is 'zzz', but the item is"),
        ({"Turkle.Username": "zoe"}, "there is no assessor 'zoe'"),
        ({"Answer.relevance": "4"}, "relevance is '4', not one of 0, 1, 2, 3, 5, 6"),
        ({"Answer.relevance": "['2', '3']"}, "relevance is \"['2', '3']\", not one of 0, 1, 2, 3, 5, 6"),
        ({"Answer.relevance": ""}, "relevance is '', not one of 0, 1, 2, 3, 5, 6"),
        ({"Input.arq_assignment": "77"}, "there is no assignment 77"),
        ({"SubmitTime": "yesterday"}, "'yesterday' is not a time in Turkle's format"),
    ],
)
def test_an_invalid_row_is_reported_and_the_others_are_imported(
    given: Journal, change: dict[str, str], problem: str
) -> None:
    rows = result_rows(given)
    rows[2] |= change
    summary = import_results(given, as_csv(rows), "r.csv")
    assert summary.results == 4
    assert len(summary.problems) == 1
    assert problem in summary.problems[0]
    assert summary.problems[0].startswith("r.csv:4: ")
    with pytest.raises(PorismError, match="1 results were refused:"):
        summary.raise_problems()


def test_a_truncated_file_is_refused_completely(given: Journal) -> None:
    text = as_csv(result_rows(given))
    # Turkle's API truncates by the difference between bytes and characters, here ten.
    cut = text.encode()[: len(text)].decode(errors="replace")
    assert not is_complete(cut, 5)
    assert is_complete(text, 5)
    assert not is_complete(text, 6)
    for short in (text[:-40], text[: text.rindex("Sun")]):
        with pytest.raises(PorismError, match="the file was cut short"):
            import_results(given, short, "r.csv")
    assert assessments(given) == []
    with pytest.raises(PorismError, match=r"r.csv: not a results file: no column AssignmentId"):
        import_results(given, "a,b\n1,2\n", "r.csv")


@pytest.mark.parametrize("comment", ['quoted "∑",\nline', "=HYPERLINK(1)", "\t@x", "'=1", "''-x", "-1", "ok"])
def test_the_results_of_our_own_server_can_be_imported_too(
    case: LabCase, given: Journal, tmp_path: Path, comment: str
) -> None:
    assign_topic(given, "bob", 2, "B.1")
    for assignment in assignments(given):
        for item in assigned_items(given, assignment.id):
            entries = [JournalEntry(item.key, n, "grade", str(n % 4)) for n in range(1, len(item.cards) + 1)]
            entries += [JournalEntry(item.key, 1, "comment", comment)]
            record_entries(
                given,
                assignment.assessor,
                assignment.id,
                [JournalEntry(item.key, 1, "open", "")],
                f"open-{item.key}",
                at=1000.0,
            )
            record_entries(
                given,
                assignment.assessor,
                assignment.id,
                [*entries, JournalEntry(item.key, 1, "submit", "")],
                f"done-{item.key}",
                at=1042.0,
            )
    text = results_csv(given)
    assert rows_of(text)[0]["WorkTimeInSeconds"] == "42"
    written = rows_of(text)[0]["Answer.comment"]
    assert written == (f"'{comment}" if comment in ("=HYPERLINK(1)", "\t@x", "'=1", "''-x") else comment)
    other = case.journal(tmp_path / "other")
    assign_topic(other, "ann", 1, "A.1")
    assign_topic(other, "bob", 2, "B.1")
    assert import_results(other, text, "own.csv").problems == []
    assert assessments(other) == assessments(given)
    assert len(assessments(given)) == 10


def test_times_are_parsed_as_they_are_formatted() -> None:
    assert format_time(1794765870.0) == "Sun Nov 15 18:04:30 UTC 2026"
    assert parse_time(format_time(951_782_400.0)) == 951_782_400.0
