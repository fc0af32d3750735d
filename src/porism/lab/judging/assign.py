"""Assign items to assessors: topics, second opinions on a stratified sample, training rounds, extra questions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from porism.errors import PorismError
from porism.lab.judging.assignments import Assignment, Duty, assigned_items, assignments, is_done
from porism.lab.judging.journal import Journal
from porism.lab.judging.people import check_purpose, require_assessor
from porism.lab.pooling.pool import is_written_answer
from porism.lab.sampling import stratified_sample
from porism.records import topic_key

# The items of a topic that somebody has to judge.
TO_JUDGE = "FROM item WHERE task = ? AND topic = ? AND sampled = 1 AND known_grade IS NULL"


def assign_items(journal: Journal, duty: Duty, keys: Iterable[str]) -> int:
    """Append items to an assessor's list, which is created if needed; return how many of them are new in it."""
    require_assessor(journal, duty.assessor)
    check_purpose(duty.assessor, duty.purpose)
    wanted = list(keys)
    with journal.write() as connection:
        assignment_id = _assignment_id(connection, duty)
        query = "SELECT position, item FROM assigned WHERE assignment = ?"
        rows = connection.execute(query, (assignment_id,)).fetchall()
        present = {row["item"] for row in rows}
        last = max((row["position"] for row in rows), default=0)
        new = [key for key in wanted if key not in present]
        connection.executemany(
            "INSERT INTO assigned (assignment, position, item) VALUES (?, ?, ?)",
            [(assignment_id, last + i, key) for i, key in enumerate(new, 1)],
        )
    return len(new)


def _assignment_id(connection: sqlite3.Connection, duty: Duty) -> int:
    """Return the id of an assignment, which is created if it does not exist."""
    columns = ", ".join(Duty._fields)
    connection.execute(f"INSERT INTO assignment ({columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", duty)
    found = connection.execute(f"SELECT id FROM assignment WHERE ({columns}) = (?, ?, ?, ?, ?)", duty).fetchone()
    return int(found["id"])


def _main_assignments(journal: Journal, task: int, topic: str, assessor: str = "") -> list[Assignment]:
    """Return the assignments whose judgments of a topic become qrels."""
    wanted = (task, topic, "main")
    return [given for given in assignments(journal, assessor) if (given.task, given.topic, given.purpose) == wanted]


def assign_topic(journal: Journal, assessor: str, task: int, topic: str) -> int:
    """Assign the items of a topic that nobody has yet, in pool order. After the pool grew, this adds the new items."""
    if not journal.read(f"SELECT 1 {TO_JUDGE} LIMIT 1", (task, topic)):
        fact = f"topic {topic} has no items to judge in task {task}"
        raise PorismError(fact, fix="load its pool first: porism lab assess load")
    assigned = "SELECT assigned.item FROM assigned JOIN assignment ON id = assignment WHERE purpose = 'main'"
    rows = journal.read(f"SELECT key {TO_JUDGE} AND key NOT IN ({assigned}) ORDER BY position", (task, topic))
    owners = [given.assessor for given in _main_assignments(journal, task, topic)]
    if not rows and owners and assessor not in owners:
        fact = f"topic {topic} is judged by {owners[0]}"
        raise PorismError(fact, fix="assign second opinions with `porism lab assess dual`")
    return assign_items(journal, Duty(assessor, task, topic, "main"), [row["key"] for row in rows])


def move_topic(journal: Journal, giver: str, taker: str, task: int, topic: str) -> int:
    """Move the items of a topic that an assessor has not judged to a colleague. What was judged stays theirs."""
    mine = _main_assignments(journal, task, topic, giver)
    if not mine:
        fact = f"{giver} does not judge topic {topic} of task {task}"
        raise PorismError(fact, fix="see who does: porism lab assess progress JOURNAL")
    require_assessor(journal, taker)
    assignment = mine[0]
    values = journal.current_values(assignment.id)
    open_keys = [
        item.key
        for item in assigned_items(journal, assignment.id)
        if not is_done(item.key, len(item.cards), assignment.purpose, values)
    ]
    with journal.write() as connection:
        connection.executemany(
            "DELETE FROM assigned WHERE assignment = ? AND item = ?", [(assignment.id, key) for key in open_keys]
        )
    return assign_items(journal, Duty(taker, task, topic, "main"), open_keys)


def share_topics(journal: Journal, task: int, names: list[str]) -> dict[str, list[str]]:
    """Assign every unassigned topic to the assessor with the fewest items; return the new topics of each assessor."""
    rows = journal.read(
        "SELECT topic, count(*) AS items FROM item "
        "WHERE task = ? AND sampled = 1 AND known_grade IS NULL GROUP BY topic",
        (task,),
    )
    sizes = {row["topic"]: row["items"] for row in rows}
    loads = dict.fromkeys(names, 0)
    for given in assignments(journal):
        if given.purpose == "main" and given.task == task:
            size = sizes.pop(given.topic, 0)
            loads[given.assessor] = loads.get(given.assessor, 0) + size
    shared: dict[str, list[str]] = {name: [] for name in names}
    for topic in sorted(sizes, key=topic_key):
        name = min(names, key=loads.__getitem__)
        assign_topic(journal, name, task, topic)
        loads[name] += sizes[topic]
        shared[name].append(topic)
    return shared


def _best_grades(journal: Journal, assignment: Assignment) -> dict[str, int]:
    """Return the highest grade of every judged item of an assignment."""
    mine = {item.key for item in assigned_items(journal, assignment.id)}
    best: dict[str, int] = {}
    for key, value in journal.current_values(assignment.id).items():
        if key.field == "grade" and key.item in mine:
            best[key.item] = max(int(value), best.get(key.item, 0))
    return best


def assign_dual(journal: Journal, assessor: str, task: int, topic: str, size: int | None, seed: int) -> int:
    """Assign a second opinion on a topic that a colleague judged.

    The sample is stratified by the colleague's grades; without `size` it is the whole topic. The order is shuffled
    again, so that neither the grade nor the position in the colleague's list can be guessed.
    """
    owners = _main_assignments(journal, task, topic)
    if not owners:
        raise PorismError(f"nobody judges topic {topic} of task {task} yet", fix="porism lab assess assign JOURNAL")
    others = [given for given in owners if given.assessor != assessor]
    if not others:
        raise PorismError(f"{assessor} judges topic {topic} already", fix="name a colleague for the second opinion")
    best = {key: grade for given in others for key, grade in _best_grades(journal, given).items()}
    strata: dict[int, list[str]] = {}
    for key, highest in sorted(best.items()):
        strata.setdefault(highest, []).append(key)
    if not strata:
        fact = f"{others[0].assessor} has judged nothing of topic {topic} yet"
        raise PorismError(fact, fix="draw second opinions after the first")
    drawn = stratified_sample(dict(sorted(strata.items())), len(best) if size is None else size, seed, topic, "dual")
    return assign_items(journal, Duty(assessor, task, topic, "dual"), drawn)


def assign_training(journal: Journal, assessor: str, task: int, round_number: int) -> int:
    """Assign every training item of a round, topic by topic."""
    rows = journal.read(
        "SELECT key, topic FROM item WHERE task = ? AND round = ? AND known_grade IS NOT NULL ORDER BY position",
        (task, round_number),
    )
    if not rows:
        fact = f"training round {round_number} of task {task} has no items"
        raise PorismError(fact, fix="porism lab assess train JOURNAL --known FILE")
    topics: dict[str, list[str]] = {}
    for row in rows:
        topics.setdefault(row["topic"], []).append(row["key"])
    duty = Duty(assessor, task, "", "training", round_number)
    return sum(assign_items(journal, duty._replace(topic=topic), keys) for topic, keys in topics.items())


def assign_extra(journal: Journal, assessor: str, topic: str, size: int, seed: int) -> int:
    """Assign the two yes/no questions on a sample of a topic: half posts, half written answers if possible."""
    rows = journal.read(f"SELECT key, item {TO_JUDGE} ORDER BY key", (1, topic))
    if not rows:
        fact = f"topic {topic} has no items to judge in task 1"
        raise PorismError(fact, fix="load its pool first: porism lab assess load")
    written = [row["key"] for row in rows if is_written_answer(row["item"])]
    posts = [row["key"] for row in rows if not is_written_answer(row["item"])]
    half = min(len(written), (size + 1) // 2)
    drawn = stratified_sample({"written": written}, half, seed, topic, "extra") + stratified_sample(
        {"post": posts}, min(len(posts), size - half), seed, topic, "extra"
    )
    # Shuffled again: otherwise all written answers would come first.
    mixed = stratified_sample({"": drawn}, len(drawn), seed, topic, "extra mix")
    return assign_items(journal, Duty(assessor, 1, topic, "extra"), mixed)
