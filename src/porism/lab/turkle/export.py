"""Assignments as Turkle projects and batches: one template for each screen, one CSV for each assignment.

What Turkle would trip over is kept out: cells are pure ASCII (its API miscounts other text and cuts the download), `${` never
stands in a cell (it would be taken for a field), and no form control or script survives in post HTML.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from porism.files import atomic_directory
from porism.lab.judging.content import Content, mathml, written_blocks
from porism.lab.judging.journal import Journal
from porism.lab.judging.queue import Assignment, Work, assignments, works
from porism.lab.judging.scale import grades
from porism.lab.pooling.formulas import INSTANCES
from porism.records import Topic

TEMPLATE_LIMIT = 64 * 1024
CARDS = range(1, INSTANCES + 1)
COMMON = ("arq_item", "arq_assignment", "arq_topic_id", "arq_topic_title", "arq_topic_body", "arq_topic_thread")
COLUMNS = {
    "answers": (*COMMON, "arq_item_html", "arq_item_thread"),
    "extra": (*COMMON, "arq_item_html", "arq_item_thread"),
    "formulas": (
        *COMMON,
        "arq_query",
        "arq_n",
        *(f"arq_i{n}_{part}" for n in CARDS for part in ("html", "id", "thread")),
    ),
}


@dataclass(frozen=True, slots=True)
class Batch:
    """A CSV for Turkle: which screen, whose, and its text."""

    name: str
    screen: str
    assessor: str
    csv_text: str
    tasks: int


def screen_of(job: Assignment) -> str:
    """Which template an assignment needs."""
    return "extra" if job.purpose == "extra" else "formulas" if job.task == 2 else "answers"


def template(screen: str) -> str:
    """The HTML of a project."""
    text = resources.files("porism.lab").joinpath("turkle", f"{screen}.html").read_text(encoding="utf-8")
    style = resources.files("porism.lab").joinpath("turkle", "style.css").read_text(encoding="utf-8")
    made = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    task = 2 if screen == "formulas" else 1
    return made.from_string(text).render(grades=grades(), task=task, cards=CARDS, style=Markup(style))


def cell(text: str) -> str:
    """HTML as a cell: ASCII only, and no `${`."""
    return text.replace("${", "&#36;{").encode("ascii", "xmlcharrefreplace").decode()


def topic_of(journal: Journal, job: Assignment) -> Topic:
    """The topic of an assignment as it was loaded."""
    row = journal.read("SELECT * FROM topic WHERE task = ? AND id = ?", (job.task, job.topic))[0]
    tags = tuple(row["tags"].split(",")) if row["tags"] else ()
    return Topic(row["id"], row["title"], row["question"], tags, formula_id=row["formula_id"], latex=row["latex"])


def _row(work: Work, job: Assignment, topic: Topic, content: Content, columns: tuple[str, ...]) -> dict[str, str]:
    """One task for Turkle."""
    row = dict.fromkeys(columns, "")
    row |= {
        "arq_item": work.key,
        "arq_assignment": str(job.id),
        "arq_topic_id": topic.id,
        "arq_topic_title": content.render(topic.title, topic.formula_id),
        "arq_topic_body": content.render(topic.question, topic.formula_id),
    }
    if job.task == 2:
        row |= {"arq_query": mathml(topic.latex), "arq_n": str(len(work.cards))}
        for number, (formula_id, post_id) in enumerate(work.cards, 1):
            row[f"arq_i{number}_id"] = f"{work.key}.{number}"
            row[f"arq_i{number}_html"] = formula_card(content, formula_id or 0, post_id or 0)
            row[f"arq_i{number}_thread"] = content.post_address(post_id or 0)
    else:
        post_id = work.cards[0][1]
        row["arq_item_html"] = "".join(answer_blocks(content, work))
        row["arq_item_thread"] = content.post_address(post_id) if post_id else ""
    return {name: cell(value) for name, value in row.items()}


def answer_blocks(content: Content, work: Work) -> list[str]:
    """The candidate of Task 1 or 3 as blocks; nothing tells a post from a written answer here."""
    post_id = work.cards[0][1]
    return content.blocks(content.collection.post(post_id).body) if post_id else written_blocks(work.text)


def formula_card(content: Content, formula_id: int, post_id: int) -> str:
    """A post of Task 2 with its formula lit; a question comes with its title."""
    post = content.collection.post(post_id)
    lit = str(formula_id)
    title = f"<h4>{content.render(post.title, lit)}</h4>" if post.title else ""
    return title + content.render(post.body, lit)


def batch(journal: Journal, job: Assignment, content: Content) -> Batch:
    """One assignment as a batch; tasks stand in the order of the assignment, since Turkle serves rows in order."""
    screen = screen_of(job)
    columns = COLUMNS[screen]
    topic = topic_of(journal, job)
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\r\n")
    writer.writeheader()
    items = works(journal, job.id)
    writer.writerows(_row(work, job, topic, content, columns) for work in items)
    name = f"{job.purpose}-task{job.task}-{job.topic}-round{job.round}-{job.assessor}"
    return Batch(name, screen, job.assessor, out.getvalue(), len(items))


def export(journal: Journal, content: Content, folder: Path) -> list[Batch]:
    """Write templates, CSVs and `turkle.json` (what belongs to whom), which upload reads."""
    batches = [batch(journal, job, content) for job in assignments(journal)]
    with atomic_directory(folder) as place:
        for screen in sorted({one.screen for one in batches}):
            (place / f"{screen}.html").write_text(template(screen), encoding="utf-8")
        for one in batches:
            (place / f"{one.name}.csv").write_bytes(one.csv_text.encode("ascii"))
        listing = [
            {"name": one.name, "screen": one.screen, "assessor": one.assessor, "tasks": one.tasks} for one in batches
        ]
        (place / "turkle.json").write_text(
            json.dumps({"format": 1, "batches": listing}, indent=1) + "\n", encoding="utf-8"
        )
    return batches
