"""Topics and items as the journal stores them, and how topics, pools and training items are loaded into it."""

from __future__ import annotations

import csv
import hashlib
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from porism.errors import PorismError
from porism.files import open_text, report_unreadable
from porism.lab.judging.assignments import Card
from porism.lab.judging.journal import Journal
from porism.lab.judging.scale import grade
from porism.lab.pooling.pool import FormulaInstance, ItemId, PooledAnswer, PoolItem
from porism.lab.sampling import seeded_random
from porism.records import Topic, topic_key


class StoredItem(NamedTuple):
    """A pooled item: its opaque key, its place in the pool and its cards; `text` is that of a written answer."""

    key: str
    task: int
    topic: str
    item: str
    text: str
    cards: tuple[Card, ...]


class JudgedItem(NamedTuple):
    """An item across tasks."""

    task: int
    topic: str
    item: str


class TopicAssignment(NamedTuple):
    """A topic of the pool: how many items it has to judge, and who judges them (names between commas)."""

    task: int
    topic: str
    item_count: int
    assessors: str | None


def find_topic(journal: Journal, task: int, topic_id: str) -> Topic:
    """Return a topic as it was loaded."""
    row = journal.read("SELECT * FROM topic WHERE task = ? AND id = ?", (task, topic_id))[0]
    tags = tuple(row["tags"].split(",")) if row["tags"] else ()
    return Topic(row["id"], row["title"], row["question"], tags, formula_id=row["formula_id"], latex=row["latex"])


def topic_thread_id(journal: Journal, task: int, topic_id: str) -> int | None:
    """Return the id of the topic's own question on the site, if it is known."""
    rows = journal.read("SELECT thread_id FROM topic WHERE task = ? AND id = ?", (task, topic_id))
    return rows[0]["thread_id"] if rows else None


def find_item(journal: Journal, key: str) -> StoredItem | None:
    """Return the item with this key, or None."""
    rows = journal.read("SELECT key, task, topic, item, text FROM item WHERE key = ?", (key,))
    query = "SELECT formula_id, post_id FROM instance WHERE item = ? ORDER BY number"
    return StoredItem(**rows[0], cards=tuple(journal.records(Card, query, (key,)))) if rows else None


def item_keys(journal: Journal) -> dict[JudgedItem, str]:
    """Return the opaque key of every item."""
    rows = journal.read("SELECT task, topic, item, key FROM item")
    return {JudgedItem(row["task"], row["topic"], row["item"]): row["key"] for row in rows}


def pooled_items(journal: Journal, task: int) -> list[ItemId]:
    """Return every pooled item, drawn for judging or not, without training items."""
    query = "SELECT topic, item FROM item WHERE task = ? AND known_grade IS NULL ORDER BY topic, position"
    return journal.records(ItemId, query, (task,))


def topic_assignments(journal: Journal) -> list[TopicAssignment]:
    """Return every topic of the pool with the assessors who judge it."""
    found = journal.records(
        TopicAssignment,
        "SELECT item.task, item.topic, count(*) AS item_count, (SELECT group_concat(assessor, ', ') FROM assignment "
        "WHERE assignment.task = item.task AND assignment.topic = item.topic AND purpose = 'main') AS assessors "
        "FROM item WHERE sampled = 1 AND known_grade IS NULL GROUP BY item.task, item.topic",
    )
    return sorted(found, key=lambda row: (row.task, topic_key(row.topic)))


def opaque_key(task: int, topic: str, item: str) -> str:
    """Return the key of an item in pages and files. It reveals neither run, rank, task nor post."""
    return hashlib.sha256(f"porism item {task} {topic} {item}".encode()).hexdigest()[:16]


def topic_threads(path: str | Path | None) -> dict[str, int]:
    """Read the thread id of each topic from the year's table of topic formulas (id, topic_id, thread_id, ...)."""
    if path is None:
        return {}
    with open_text(path) as stream:
        rows = [row for row in csv.reader(stream, delimiter="\t") if re.fullmatch("[0-9]{1,15}", "".join(row[2:3]))]
    # A.7 and B.7 come from the same question.
    return {prefix + row[1][1:]: int(row[2]) for row in rows for prefix in "AB"}


def load_topics(journal: Journal, task: int, topics: Iterable[Topic], threads: Mapping[str, int] | None = None) -> int:
    """Store topics, updating those that exist; `threads` gives the id of a topic's own question, if known."""
    rows = [
        (task, t.id, t.title, t.question, ",".join(t.tags), t.formula_id, t.latex, (threads or {}).get(t.id))
        for t in topics
    ]
    columns = "task, id, title, question, tags, formula_id, latex, thread_id"
    with journal.write() as connection:
        connection.executemany(f"INSERT OR REPLACE INTO topic ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return len(rows)


def load_pool(
    journal: Journal,
    task: int,
    items: Sequence[PoolItem],
    answers: Iterable[PooledAnswer] = (),
    *,
    sample: float = 1.0,
    seed: int = 0,
) -> int:
    """Store the new items, and return how many. Each is drawn for judging with probability `sample`, or only pooled."""
    texts = {(answer.topic, answer.id): answer.text for answer in answers}
    known = {row["id"] for row in journal.read("SELECT id FROM topic WHERE task = ?", (task,))}
    if missing := sorted({item.topic for item in items} - known, key=topic_key):
        fact = f"the pool has topics that are not loaded: {', '.join(missing[:5])}"
        raise PorismError(fact, fix="give the topics file of this pool")
    added = 0
    with journal.write() as connection:
        query = "SELECT topic, max(position) AS last FROM item WHERE task = ? GROUP BY topic"
        last = {row["topic"]: row["last"] for row in connection.execute(query, (task,))}
        for item in items:
            position = last.get(item.topic, 0) + 1
            drawn = seeded_random(seed, item.topic, "sample", item.item).random() < sample
            text = texts.get((item.topic, item.item), "")
            if _insert_item(connection, task, item, position, drawn, text):
                last[item.topic] = position
                added += 1
    return added


def _insert_item(
    connection: sqlite3.Connection, task: int, item: PoolItem, position: int, drawn: bool, text: str
) -> bool:
    """Insert one item and its cards; return False if the item exists already."""
    key = opaque_key(task, item.topic, item.item)
    inserted = connection.execute(
        "INSERT INTO item (key, task, topic, item, round, position, sampled, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (key, task, item.topic, item.item, item.round, position, int(drawn), text),
    )
    if inserted.rowcount == 0:
        return False
    cards: Iterable[tuple[int | None, int | None]] = item.instances or [(None, None if text else int(item.item))]
    connection.executemany(
        "INSERT INTO instance (item, number, formula_id, post_id) VALUES (?, ?, ?, ?)",
        [(key, number, *card) for number, card in enumerate(cards, 1)],
    )
    return True


TRAINING_HEADER = ["round", "topic", "item", "grade", "reason"]
TASK2_HEADER = [*TRAINING_HEADER, "formula", "post"]
TRAINING_FIX = (
    "one line per item: round, topic, item, grade, reason (Task 2 adds formula, post), between tabs, with this header"
)


class TrainingItem(NamedTuple):
    """An item with a known grade; `reason` explains the grade to the assessor."""

    round: int
    topic: str
    item: str
    grade: int
    reason: str = ""
    instance: FormulaInstance | None = None


@report_unreadable(TRAINING_FIX)
def read_training_items(path: str | Path) -> list[TrainingItem]:
    """Read a table of training items; report an invalid line with its number."""
    with open_text(path) as stream:
        lines = [line.rstrip("\n").split("\t") for line in stream]
    if not lines or lines[0] not in (TRAINING_HEADER, TASK2_HEADER):
        raise PorismError("not a table of training items", where=str(path), fix=TRAINING_FIX)
    found = []
    for number, cells in enumerate(lines[1:], 2):
        row = dict(zip(lines[0], cells, strict=False))
        if len(cells) != len(lines[0]) or not row["round"].isdigit() or not row["grade"].isdigit():
            raise PorismError("not a training item", where=f"{path}:{number}", fix=TRAINING_FIX)
        instance = FormulaInstance(int(row["formula"]), int(row["post"])) if "post" in row else None
        found.append(
            TrainingItem(int(row["round"]), row["topic"], row["item"], int(row["grade"]), row["reason"], instance)
        )
    return found


def load_training(journal: Journal, task: int, items: Sequence[TrainingItem]) -> int:
    """Store training items. Their topics must be loaded, and must not be topics of the pool."""
    pooled = journal.read("SELECT DISTINCT topic FROM item WHERE task = ? AND known_grade IS NULL", (task,))
    if clash := sorted({item.topic for item in items} & {row["topic"] for row in pooled}, key=topic_key):
        fact = f"training topics are also in the pool: {', '.join(clash[:5])}"
        raise PorismError(fact, fix="train on topics of an earlier year")
    for training in items:
        step = grade(training.grade)
        if step is None or not step.graded:
            fact = f"{training.grade} is not a grade (topic {training.topic}, item {training.item})"
            raise PorismError(fact, fix="use 0, 1, 2 or 3")
    with journal.write() as connection:
        for position, training in enumerate(items, 1):
            cards = (training.instance,) if training.instance else ()
            item = PoolItem(training.topic, training.item, training.round, cards)
            if not _insert_item(connection, task, item, position, True, ""):
                fact = f"item {training.item} of topic {training.topic} occurs twice"
                raise PorismError(fact, fix="list each training item once")
            known = (training.grade, training.reason, opaque_key(task, training.topic, training.item))
            connection.execute("UPDATE item SET known_grade = ?, reason = ? WHERE key = ?", known)
    return len(items)
