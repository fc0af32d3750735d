"""Export assignments as Turkle projects and batches: a template for each screen, a CSV for each assignment.

Three things would break in Turkle and are avoided: cells are pure ASCII (its API miscounts other text and truncates the
download), `${` never occurs in a cell (Turkle would replace it as a field), and no form control or script remains in
the HTML of a post.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from porism.corpus.post import Post
from porism.files import atomic_directory
from porism.lab.judging.assignments import AssignedItem, Assignment, assigned_items, assignments
from porism.lab.judging.content import Content, answer_blocks, formula_html
from porism.lab.judging.items import find_topic
from porism.lab.judging.scale import grades
from porism.lab.judging.storage.journal import Journal
from porism.lab.pooling.formulas import INSTANCES
from porism.records import Topic
from porism.search.display.parsed_formulas import mathml_of

TEMPLATE_LIMIT = 64 * 1024
CARDS = range(1, INSTANCES + 1)
COMMON_COLUMNS = (
    "arq_item",
    "arq_assignment",
    "arq_topic_id",
    "arq_topic_title",
    "arq_topic_body",
    "arq_topic_thread",
)
COLUMNS = {
    "answers": (*COMMON_COLUMNS, "arq_item_html", "arq_item_thread"),
    "extra": (*COMMON_COLUMNS, "arq_item_html", "arq_item_thread"),
    "formulas": (
        *COMMON_COLUMNS,
        "arq_query",
        "arq_n",
        *(f"arq_i{n}_{part}" for n in CARDS for part in ("html", "id", "thread")),
    ),
}


@dataclass(frozen=True, slots=True)
class Batch:
    """A CSV for Turkle: its screen, its assessor and its text."""

    name: str
    screen: str
    assessor: str
    csv_text: str
    tasks: int


def template(screen: str) -> str:
    """Return the HTML template of a Turkle project."""
    folder = resources.files("porism.lab.turkle")
    text = folder.joinpath(f"{screen}.html").read_text(encoding="utf-8")
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    task = 2 if screen == "formulas" else 1
    return environment.from_string(text).render(grades=grades(), task=task, cards=CARDS, style=Markup(style))


def cell(text: str) -> str:
    """Return HTML as a cell: ASCII only, and without `${`."""
    return text.replace("${", "&#36;{").encode("ascii", "xmlcharrefreplace").decode()


def _row(
    item: AssignedItem, assignment: Assignment, topic: Topic, content: Content, posts: Mapping[int, Post]
) -> dict[str, str]:
    """Return one Turkle task."""
    row = dict.fromkeys(COLUMNS[assignment.screen], "")
    row |= {
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


def to_batch(journal: Journal, assignment: Assignment, content: Content) -> Batch:
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
    return Batch(name, assignment.screen, assignment.assessor, out.getvalue(), len(items))


def export(journal: Journal, content: Content, folder: Path) -> list[Batch]:
    """Write the templates, the CSVs, and `turkle.json`, which tells the upload whose batch is whose."""
    batches = [to_batch(journal, assignment, content) for assignment in assignments(journal)]
    with atomic_directory(folder) as target:
        for screen in sorted({batch.screen for batch in batches}):
            (target / f"{screen}.html").write_text(template(screen), encoding="utf-8")
        for batch in batches:
            (target / f"{batch.name}.csv").write_bytes(batch.csv_text.encode("ascii"))
        listing = [
            {"name": batch.name, "screen": batch.screen, "assessor": batch.assessor, "tasks": batch.tasks}
            for batch in batches
        ]
        (target / "turkle.json").write_text(
            json.dumps({"format": 1, "batches": listing}, indent=1) + "\n", encoding="utf-8"
        )
    return batches
