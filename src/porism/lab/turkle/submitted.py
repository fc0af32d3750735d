"""What was handed in on our own server as a result CSV in the form of Turkle's, so that both come back through one door."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from porism.lab.judging.journal import Journal
from porism.lab.judging.queue import Assignment, Work, assignments, works
from porism.lab.pooling.formulas import INSTANCES
from porism.lab.turkle.export import screen_of
from porism.lab.turkle.results import EXTRA, written_moment

HEADER = (
    *(
        "HITId",
        "HITTypeId",
        "Title",
        "CreationTime",
        "MaxAssignments",
        "AssignmentDurationInSeconds",
        "AssignmentId",
        "WorkerId",
    ),
    *("AcceptTime", "SubmitTime", "WorkTimeInSeconds"),
    *(
        "Input.arq_assignment",
        "Input.arq_item",
        "Input.arq_purpose",
        "Input.arq_topic_id",
        "Answer.arq_item_echo",
        "Answer.comment",
    ),
    *(f"Answer.comment_{n}" for n in range(1, INSTANCES + 1)),
    *("Answer.machine_generated", "Answer.relevance"),
    *(f"Answer.relevance_{n}" for n in range(1, INSTANCES + 1)),
    *("Answer.unrelated", "Turkle.Username"),
)


def results_csv(journal: Journal) -> str:
    """Everything that was handed in on our own server, in the form of Turkle's results."""
    out = io.StringIO()
    writer = csv.DictWriter(out, HEADER, restval="", quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writeheader()
    for job in assignments(journal):
        writer.writerows(_own_rows(journal, job))
    return out.getvalue()


def _own_rows(journal: Journal, job: Assignment) -> Iterator[dict[str, str]]:
    moments: dict[str, tuple[float, float]] = {}
    opened: dict[str, float] = {}
    for event in journal.events(job.id):
        if event.field == "open":
            opened[event.item] = event.at
        elif event.field == "submit":
            moments[event.item] = (opened.get(event.item, event.at), event.at)
    standing = journal.last(job.id)
    screen = screen_of(job)
    for work in works(journal, job.id):
        if work.key not in moments:
            continue
        start, end = moments[work.key]
        row = {
            "HITId": work.key, "HITTypeId": screen, "Title": f"Porism {screen}", "MaxAssignments": "1", "AssignmentId": f"{job.id}-{int(end * 1000)}",
            "WorkerId": job.assessor, "AcceptTime": written_moment(start), "SubmitTime": written_moment(end),
            "WorkTimeInSeconds": str(round(end - start)), "Input.arq_assignment": str(job.id), "Input.arq_item": work.key,
            "Input.arq_purpose": job.purpose, "Input.arq_topic_id": job.topic, "Answer.arq_item_echo": work.key,
            "Turkle.Username": job.assessor,
        }  # fmt: skip
        yield row | _own_answers(work, screen, standing)


def _own_answers(work: Work, screen: str, standing: dict[tuple[str, int, str], str]) -> dict[str, str]:
    if screen == "extra":
        return {f"Answer.{name}": standing.get((work.key, 1, field_name), "") for name, field_name in EXTRA.items()}
    names: Sequence[str] = [f"_{n}" for n in range(1, len(work.cards) + 1)] if screen == "formulas" else [""]
    cells = {}
    for number, suffix in enumerate(names, 1):
        cells[f"Answer.relevance{suffix}"] = standing.get((work.key, number, "grade"), "")
        cells[f"Answer.comment{suffix}"] = standing.get((work.key, number, "comment"), "")
    return cells
