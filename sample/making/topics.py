"""Write topics in the lab's XML, their formulas as TSV and their metadata as CSV."""

from __future__ import annotations

import csv
import html
import re
from dataclasses import dataclass
from pathlib import Path

from .markup import to_html

MATH = re.compile(r"\$\$.+?\$\$|\$[^$]+?\$", flags=re.S)
FIRST_THREAD = 20001  # the threads of the topics are newer than every post of the dump
METADATA = ("Category", "Difficulty", "Dependency", "Multi-Part", "Complexity")


@dataclass
class Formula:
    """A formula of a topic: id, field (title or question) and LaTeX."""

    id: str
    place: str
    latex: str


@dataclass
class Topic:
    """A topic of Tasks 1 and 3 (`A.n`) and of Task 2 (`B.n`, which asks for one of its formulas)."""

    number: int
    title: str
    question: str
    tags: list[str]
    metadata: list[str]
    formulas: list[Formula]
    chosen: Formula


def read_topics(path: Path) -> list[Topic]:
    """Read all topics; formula ids are numbered through the whole file."""
    topics: list[Topic] = []
    count = 0
    for chunk in re.split(r"^(?==== )", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, title, body = chunk.split("\n", 2)
        name, tags, *metadata, chosen = (cell.strip() for cell in head[4:].split("|"))
        formulas: list[Formula] = []
        marked_title = _mark(html.escape(title, quote=False), "title", count, formulas)
        text = to_html(body.strip("\n"), lambda key: key)
        marked_body = _mark(text, "question", count, formulas)
        count += len(formulas)
        number = int(name.removeprefix("A."))
        picked = formulas[int(chosen) - 1]
        topics.append(Topic(number, marked_title, marked_body, tags.split(), metadata, formulas, picked))
    return topics


def _mark(text: str, place: str, before: int, formulas: list[Formula]) -> str:
    """Wrap each formula in a span with its id, from left to right, and add it to the list."""

    def span(found: re.Match[str]) -> str:
        ident = f"q_{before + len(formulas) + 1}"
        formulas.append(Formula(ident, place, html.unescape(found[0].strip("$"))))
        return f'<span class="math-container" id="{ident}">{found[0]}</span>'

    return MATH.sub(span, text.replace("\n", " ")).strip()


def write_topics(topics: list[Topic], folder: Path) -> None:
    """Write `task1.xml` (also for Task 3), `task2.xml`, the formulas and the metadata."""
    folder.mkdir(parents=True, exist_ok=True)
    for task, letter in ((1, "A"), (2, "B")):
        lines = ['<?xml version="1.0" encoding="utf-8"?>', "<Topics>"]
        for topic in topics:
            lines += _element(topic, letter)
        (folder / f"task{task}.xml").write_text("\n".join([*lines, "</Topics>"]) + "\n", encoding="utf-8", newline="\n")
    rows = ["id\ttopic_id\tthread_id\ttype\tformula"]
    rows += [
        f"{f.id}\tA.{topic.number}\t{FIRST_THREAD + 3 * topic.number}\t{f.place}\t{f.latex}"
        for topic in topics
        for f in topic.formulas
    ]
    (folder / "formulas_latex.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8", newline="\n")
    with (folder / "metadata.csv").open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(("Topic", *METADATA))
        table.writerows((f"A.{topic.number}", *topic.metadata) for topic in topics)


def _element(topic: Topic, letter: str) -> list[str]:
    inner = [("Title", topic.title), ("Question", topic.question), ("Tags", ",".join(topic.tags))]
    if letter == "B":
        inner = [("Formula_Id", topic.chosen.id), ("Latex", topic.chosen.latex), *inner]
    lines = [f"      <{name}>{html.escape(text)}</{name}>" for name, text in inner]
    return [f'   <Topic number="{letter}.{topic.number}">', *lines, "   </Topic>"]
