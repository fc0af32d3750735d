"""The files of Turkle: export assignments as projects and batches, import results CSVs as events of the journal.

A project is a template for each screen, a batch a CSV for each assignment. Three things would break in Turkle and are
avoided: cells are pure ASCII (its API miscounts other text and truncates the download), `${` never occurs in a cell
(Turkle would replace it as a field), and no form control or script remains in the HTML of a post.

A row of results, from Turkle or from our own server, is accepted only if it is complete and consistent: its echo names
its item, its grades are valid, its worker is an assessor.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from porism.corpus.post import Post
from porism.errors import PorismError, listed
from porism.evaluate.table import text_of_cell
from porism.files import atomic_directory
from porism.lab.judging.assignments import (
    EXTRA_QUESTIONS,
    AssignedItem,
    Assignment,
    assign_items,
    assigned_items,
    assignments,
    find_assignment,
    submitted_items,
)
from porism.lab.judging.content import ContentRenderer, answer_blocks, formula_html
from porism.lab.judging.exports import answer_fields, parse_time
from porism.lab.judging.items import find_topic
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.people import accounts
from porism.lab.judging.scale import grade, grades
from porism.lab.pooling.pool import INSTANCES
from porism.records import Topic
from porism.search.display.post_formulas import mathml_of

CARDS = range(1, INSTANCES + 1)
COMMON_COLUMNS = ("arq_item", "arq_assignment", "arq_topic_id", "arq_topic_title", "arq_topic_body", "arq_topic_thread")
CARD_COLUMNS = tuple(f"arq_i{number}_{part}" for number in CARDS for part in ("html", "id", "thread"))
COLUMNS = {
    "answers": (*COMMON_COLUMNS, "arq_item_html", "arq_item_thread"),
    "extra": (*COMMON_COLUMNS, "arq_item_html", "arq_item_thread"),
    "formulas": (*COMMON_COLUMNS, "arq_query", "arq_n", *CARD_COLUMNS),
}


class TurkleBatch(NamedTuple):
    """A CSV for Turkle: its screen, its assessor and its text."""

    name: str
    screen: str
    assessor: str
    csv_text: str
    tasks: int


def template(screen: str) -> str:
    """Return the HTML template of a Turkle project."""
    folder = resources.files("porism.lab.turkle")
    text, style = ((folder / name).read_text(encoding="utf-8") for name in (f"{screen}.html", "style.css"))
    strict = jinja2.StrictUndefined
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=strict)
    task = 2 if screen == "formulas" else 1
    return environment.from_string(text).render(grades=grades(), task=task, cards=CARDS, style=Markup(style))


def cell(text: str) -> str:
    """Return HTML as a cell: ASCII only, and without `${`."""
    return text.replace("${", "&#36;{").encode("ascii", "xmlcharrefreplace").decode()


def _row(
    item: AssignedItem, assignment: Assignment, topic: Topic, content: ContentRenderer, posts: Mapping[int, Post]
) -> dict[str, str]:
    """Return one Turkle task."""
    row = {
        "arq_item": item.key,
        "arq_assignment": str(assignment.id),
        "arq_topic_id": topic.id,
        "arq_topic_title": content.render(topic.title, topic.formula_id),
        "arq_topic_body": content.render(topic.question, topic.formula_id),
    }
    if assignment.task == 2:
        row |= {"arq_query": mathml_of(topic.latex), "arq_n": str(len(item.cards))}
        for number, card in enumerate(item.cards, 1):
            row[f"arq_i{number}_id"] = f"{item.key}.{number}"
            row[f"arq_i{number}_html"] = formula_html(content, card, posts)
            row[f"arq_i{number}_thread"] = content.address(posts[card.post_id or 0].thread_id, card.post_id or 0)
    else:
        card = item.cards[0]
        row["arq_item_html"] = "".join(answer_blocks(content, card, item.text, posts))
        if card.post_id:
            row["arq_item_thread"] = content.address(posts[card.post_id].thread_id, card.post_id)
    return {name: cell(value) for name, value in row.items()}


def to_batch(journal: Journal, assignment: Assignment, content: ContentRenderer) -> TurkleBatch:
    """Turn an assignment into a batch. Rows keep the order of the assignment, since Turkle serves them in order."""
    topic = find_topic(journal, assignment.task, assignment.topic)
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS[assignment.screen], lineterminator="\r\n")
    writer.writeheader()
    items = assigned_items(journal, assignment.id)
    named = [card.post_id or 0 for item in items for card in item.cards if card.post_id or assignment.task == 2]
    posts = content.collection.posts_by_id(named)
    writer.writerows(_row(item, assignment, topic, content, posts) for item in items)
    where = f"task{assignment.task}-{assignment.topic}-round{assignment.round}"
    name = f"{assignment.purpose}-{where}-{assignment.assessor}"
    return TurkleBatch(name, assignment.screen, assignment.assessor, out.getvalue(), len(items))


def export(journal: Journal, content: ContentRenderer, folder: Path) -> list[TurkleBatch]:
    """Write the templates, the CSVs, and `turkle.json`, which tells the upload whose batch is whose."""
    batches = [to_batch(journal, assignment, content) for assignment in assignments(journal)]
    with atomic_directory(folder) as target:
        for screen in sorted({batch.screen for batch in batches}):
            (target / f"{screen}.html").write_text(template(screen), encoding="utf-8")
        for batch in batches:
            (target / f"{batch.name}.csv").write_bytes(batch.csv_text.encode("ascii"))
        keys = ("name", "screen", "assessor", "tasks")
        listing = {"format": 1, "batches": [{key: getattr(batch, key) for key in keys} for batch in batches]}
        (target / "turkle.json").write_text(json.dumps(listing, indent=1) + "\n", encoding="utf-8")
    return batches


REQUIRED_COLUMNS = (
    *("AssignmentId", "AcceptTime", "SubmitTime", "Input.arq_item", "Input.arq_assignment"),
    *("Answer.arq_item_echo", "Turkle.Username"),
)


class ResultRow(NamedTuple):
    """A row of a results CSV with its line number."""

    line: int
    cells: dict[str, str]


class Result(NamedTuple):
    """A worker's completed task: the entries for one item, and when it was accepted and submitted."""

    line: int
    key: str
    assignment: int
    worker: str
    accepted: float
    submitted: float
    entries: tuple[JournalEntry, ...]
    request_key: str


@dataclass(slots=True)
class ImportSummary:
    """What an import did: results accepted, new events, results replaced by a later answer, and problems."""

    results: int = 0
    events: int = 0
    replaced: int = 0
    problems: list[str] = field(default_factory=list)

    def raise_problems(self) -> None:
        """Raise an error that lists up to 20 refused rows, if there are any."""
        if self.problems:
            message = f"{len(self.problems)} results were refused:\n{listed(self.problems)}"
            raise PorismError(message, fix="check that the accounts and the pool of this journal belong to the batch")


def read_rows(text: str, where: str) -> list[ResultRow]:
    """Read the rows. A row with too few cells means that the download was cut short; then the whole file is refused."""
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    rows = []
    try:
        header: list[str] = next(reader, [])
        if missing := [name for name in REQUIRED_COLUMNS if name not in header]:
            fact = f"not a results file: no column {', '.join(missing)}"
            raise PorismError(fact, where=where, fix="name the results CSV of a Porism batch")
        for cells in reader:
            if len(cells) != len(header):
                fact = f"the row has {len(cells)} cells where the header has {len(header)}: the file was cut short"
                fix = "porism lab turkle download, or download it from the admin page"
                raise PorismError(fact, where=f"{where}:{reader.line_num}", fix=fix)
            rows.append(ResultRow(reader.line_num, dict(zip(header, cells, strict=True))))
    except csv.Error as error:
        where = f"{where}:{reader.line_num}"
        raise PorismError(f"not a CSV file: {error}", where=where, fix="download it again") from None
    return rows


def _entries(cells: dict[str, str], item: AssignedItem, screen: str) -> Iterator[JournalEntry]:
    """Yield the checked entries of a row."""
    for column, key in answer_fields(item, screen).items():
        value = cells.get(f"Answer.{column}", "")
        if key.field in EXTRA_QUESTIONS and value not in ("0", "1"):
            raise PorismError(f"{column} is {value!r}, not 0 or 1")
        if key.field == "grade" and (not value.isdigit() or grade(int(value)) is None):
            raise PorismError(f"{column} is {value!r}, not one of 0, 1, 2, 3, 5, 6")
        if value:  # a comment may be empty
            yield JournalEntry(*key, text_of_cell(value) if key.field == "comment" else value)


def _result(row: ResultRow, journal: Journal, assessors: set[str]) -> Result:
    """Turn a row into a result, or raise an error that says why it is refused."""
    cells = row.cells
    key, worker = cells["Input.arq_item"], cells["Turkle.Username"]
    if cells["Answer.arq_item_echo"] != key:
        raise PorismError(f"arq_item_echo is {cells['Answer.arq_item_echo']!r}, but the item is {key!r}")
    if worker not in assessors:
        raise PorismError(f"there is no assessor {worker!r}")
    number = cells["Input.arq_assignment"]
    assignment = find_assignment(journal, int(number) if number.isdigit() else -1)
    item = next((found for found in assigned_items(journal, assignment.id) if found.key == key), None)
    if item is None:
        raise PorismError(f"the item {key!r} is not in assignment {assignment.id}")
    entries = tuple(_entries(cells, item, assignment.screen))
    request_key = f"result:{cells.get('HITId', '')}:{cells['AssignmentId']}:{worker}"
    accepted, submitted = parse_time(cells["AcceptTime"]), parse_time(cells["SubmitTime"])
    return Result(row.line, key, assignment.id, worker, accepted, submitted, entries, request_key)


def import_results(journal: Journal, text: str, where: str) -> ImportSummary:
    """Store every valid row. Importing a file again changes nothing; of two answers by one person the later counts."""
    summary = ImportSummary()
    assessors = {account.name for account in accounts(journal, "assessor")}
    found: list[Result] = []
    for row in read_rows(text, where):
        try:
            found.append(_result(row, journal, assessors))
        except PorismError as error:
            summary.problems.append(f"{where}:{row.line}: {error.message}")
    seen: set[tuple[str, str, int]] = set()
    for result in sorted(found, key=lambda result: (result.submitted, result.line)):
        answered = (result.key, result.worker, result.assignment)
        summary.replaced += answered in seen
        seen.add(answered)
        summary.results += 1
        summary.events += _store(journal, result)
    return summary


def _store(journal: Journal, result: Result) -> int:
    """Append one result. Who answered a colleague's batch gets an own assignment: for a main one, a second opinion."""
    assignment = find_assignment(journal, result.assignment)
    if assignment.assessor != result.worker:
        purpose = "dual" if assignment.purpose == "main" else assignment.purpose
        duty = assignment.duty._replace(assessor=result.worker, purpose=purpose)
        assign_items(journal, duty, [result.key])
        assignment = next(mine for mine in assignments(journal, result.worker) if mine.duty == duty)
    if assignment.purpose == "training" and result.key in submitted_items(journal, assignment.id):
        return 0
    opening = [JournalEntry(result.key, 1, "open", "")]
    new = journal.append(result.worker, assignment.id, opening, result.request_key, at=result.accepted)
    closing = [*result.entries, JournalEntry(result.key, 1, "submit", "")]
    return new + journal.append(result.worker, assignment.id, closing, result.request_key, at=result.submitted)
