"""A pool enters the journal: topics, items under opaque keys, and training items with their known grades."""

from __future__ import annotations

import csv
import hashlib
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from porism.errors import PorismError
from porism.files import open_text
from porism.lab.judging.journal import Journal
from porism.lab.judging.scale import grade
from porism.lab.pooling.rules import Answer, Instance, PoolItem, topic_key
from porism.lab.seeded import chance
from porism.records import Topic


@dataclass(frozen=True, slots=True)
class Known:
    """A training item: its grade was agreed upon before, and `reason` tells the assessor why."""

    round: int
    topic: str
    item: str
    grade: int
    reason: str = ""
    instance: Instance | None = None


def opaque_key(task: int, topic: str, item: str) -> str:
    """The name of an item in pages and files: it says nothing of run, rank, task or post."""
    return hashlib.sha256(f"porism item {task} {topic} {item}".encode()).hexdigest()[:16]


def topic_threads(path: str | Path | None) -> dict[str, int]:
    """Topic -> its own question on the site, from the year's table of topic formulas (id, topic_id, thread_id, ...)."""
    if path is None:
        return {}
    csv.field_size_limit(sys.maxsize)
    with open_text(path) as stream:
        rows = [row for row in csv.reader(stream, delimiter="\t") if len(row) > 2 and row[2].isdigit()]
    # A.7 and B.7 share their question.
    return {prefix + row[1][1:]: int(row[2]) for row in rows for prefix in "AB"}


def load_topics(journal: Journal, task: int, topics: Iterable[Topic], threads: Mapping[str, int] | None = None) -> int:
    """Store topics (a topic already there is brought up to date); `threads` names the topic's own question, if known."""
    rows = [
        (task, t.id, t.title, t.question, ",".join(t.tags), t.formula_id, t.latex, (threads or {}).get(t.id))
        for t in topics
    ]
    with journal.write() as connection:
        connection.executemany("INSERT OR REPLACE INTO topic VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return len(rows)


def load_pool(
    journal: Journal,
    task: int,
    items: Sequence[PoolItem],
    answers: Iterable[Answer] = (),
    *,
    sample: float = 1.0,
    seed: int = 0,
) -> int:
    """Store the items that are not there yet, and say how many. With `sample` < 1 each item is drawn with that chance;
    the others stay in the journal as pooled but never go to an assessor."""
    texts = {(answer.topic, answer.id): answer.text for answer in answers}
    known = {row["id"] for row in journal.read("SELECT id FROM topic WHERE task = ?", (task,))}
    if missing := sorted({item.topic for item in items} - known, key=topic_key):
        raise PorismError(
            f"the pool has topics that are not loaded: {', '.join(missing[:5])}",
            fix="give the topics file of this pool",
        )
    added = 0
    with journal.write() as connection:
        places = {
            row[0]: row[1]
            for row in connection.execute("SELECT topic, max(place) FROM item WHERE task = ? GROUP BY topic", (task,))
        }
        for item in items:
            place = places.get(item.topic, 0) + 1
            drawn = chance(seed, item.topic, "sample", item.item).random() < sample
            text = texts.get((item.topic, item.item), "")
            if _insert(connection, task, item, place, int(drawn), text):
                places[item.topic] = place
                added += 1
    return added


def _insert(connection: sqlite3.Connection, task: int, item: PoolItem, place: int, drawn: int, text: str) -> bool:
    """One item and its cards; False if it was there."""
    key = opaque_key(task, item.topic, item.item)
    done = connection.execute(
        "INSERT INTO item (key, task, topic, item, round, place, sampled, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (key, task, item.topic, item.item, item.round, place, drawn, text),
    )
    if done.rowcount == 0:
        return False
    cards: Iterable[tuple[int | None, int | None]] = item.instances or [(None, None if text else int(item.item))]
    connection.executemany(
        "INSERT INTO instance VALUES (?, ?, ?, ?)", [(key, n, *card) for n, card in enumerate(cards, 1)]
    )
    return True


def load_training(journal: Journal, task: int, known: Sequence[Known], answers: Iterable[Answer] = ()) -> int:
    """Store training items. Their topics must be loaded, and must not be topics of the pool."""
    texts = {(answer.topic, answer.id): answer.text for answer in answers}
    topics = {one.topic for one in known}
    pooled = {
        row[0] for row in journal.read("SELECT DISTINCT topic FROM item WHERE task = ? AND known IS NULL", (task,))
    }
    if clash := sorted(topics & pooled, key=topic_key):
        raise PorismError(
            f"training topics are also in the pool: {', '.join(clash[:5])}", fix="train on topics of an earlier year"
        )
    if wrong := [one for one in known if (step := grade(one.grade)) is None or not step.graded]:
        raise PorismError(
            f"{wrong[0].grade} is no known grade (topic {wrong[0].topic}, item {wrong[0].item})", fix="use 0, 1, 2 or 3"
        )
    with journal.write() as connection:
        for place, one in enumerate(known, 1):
            cards = (one.instance,) if one.instance else ()
            item = PoolItem(one.topic, one.item, one.round, cards)
            if not _insert(connection, task, item, place, 1, texts.get((one.topic, one.item), "")):
                raise PorismError(
                    f"item {one.item} of topic {one.topic} is there twice", fix="list each training item once"
                )
            key = opaque_key(task, one.topic, one.item)
            connection.execute("UPDATE item SET known = ?, reason = ? WHERE key = ?", (one.grade, one.reason, key))
    return len(known)


def pooled_items(journal: Journal, task: int) -> list[tuple[str, str]]:
    """Every pooled (topic, item), drawn or not, without training items."""
    rows = journal.read("SELECT topic, item FROM item WHERE task = ? AND known IS NULL ORDER BY topic, place", (task,))
    return [(row["topic"], row["item"]) for row in rows]
