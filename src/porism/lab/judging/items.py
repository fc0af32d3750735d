"""Topics and items as the journal stores them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from porism.lab.judging.assignments import Card
from porism.lab.judging.storage.journal import Journal
from porism.lab.pooling.pool import ItemId, topic_key
from porism.records import Topic


@dataclass(frozen=True, slots=True)
class StoredItem:
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


@dataclass(frozen=True, slots=True)
class TopicAssignment:
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
