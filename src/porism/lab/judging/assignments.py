"""Assignments: who judges what (topics, second opinions, training rounds, extra questions), and how much is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from porism.errors import PorismError
from porism.lab.judging.journal import FieldKey, Journal, Values, topic_field
from porism.lab.judging.people import PURPOSES, is_model, require_assessor
from porism.lab.judging.scale import grade
from porism.lab.pooling.pool import is_written_answer
from porism.lab.sampling import stratified_sample
from porism.records import topic_key

EXTRA_QUESTIONS = ("machine", "unrelated")
ASSIGNMENT_COLUMNS = "id, assessor, task, topic, purpose, round"
# The items of a topic that somebody has to judge.
TO_JUDGE = "FROM item WHERE task = ? AND topic = ? AND sampled = 1 AND known_grade IS NULL"


class Duty(NamedTuple):
    """One assessor judges items of one topic for one purpose: main, dual, training (in rounds) or extra."""

    assessor: str
    task: int
    topic: str
    purpose: str
    round: int = 1


@dataclass(frozen=True, slots=True)
class Assignment:
    """A list of items that one assessor judges: see `Duty`."""

    id: int
    assessor: str
    task: int
    topic: str
    purpose: str
    round: int

    @property
    def duty(self) -> Duty:
        """Everything but the id."""
        return Duty(self.assessor, self.task, self.topic, self.purpose, self.round)

    @property
    def screen(self) -> str:
        """The kind of page on which the items are judged: answers, formulas or extra (the two yes/no questions)."""
        return "extra" if self.purpose == "extra" else "formulas" if self.task == 2 else "answers"


class Card(NamedTuple):
    """One thing to rate: a post (Task 1), a formula in a post (Task 2), or neither (a written answer)."""

    formula_id: int | None
    post_id: int | None


class AssignedItem(NamedTuple):
    """An item of an assignment and its cards; a written answer has a `text`, a training item a `known_grade`."""

    position: int
    key: str
    item: str
    cards: tuple[Card, ...]
    text: str
    known_grade: int | None
    reason: str


class AssignmentProgress(NamedTuple):
    """How many items of an assignment are done, and the position to continue at (None when all are done)."""

    done: int
    total: int
    next: int | None


def find_assignment(journal: Journal, assignment_id: int) -> Assignment:
    """Return the assignment with this id."""
    query = f"SELECT {ASSIGNMENT_COLUMNS} FROM assignment WHERE id = ?"
    found = journal.records(Assignment, query, (assignment_id,))
    if not found:
        raise PorismError(f"there is no assignment {assignment_id}", fix="go back to your list")
    return found[0]


def assignments(journal: Journal, assessor: str = "") -> list[Assignment]:
    """Return the assignments of one assessor, or of all; training comes first."""
    return journal.records(
        Assignment,
        f"SELECT {ASSIGNMENT_COLUMNS} FROM assignment WHERE ? IN ('', assessor) ORDER BY assessor, "
        "CASE purpose WHEN 'training' THEN 0 WHEN 'main' THEN 1 WHEN 'dual' THEN 2 ELSE 3 END, round, id",
        (assessor,),
    )


def assigned_items(journal: Journal, assignment_id: int, position: int | None = None) -> list[AssignedItem]:
    """Return the items of an assignment in order, or only the one at a position."""
    rows = journal.read(
        "SELECT assigned.position, key, item.item, formula_id, post_id, text, known_grade, reason FROM assigned "
        "JOIN item ON item.key = assigned.item JOIN instance ON instance.item = item.key "
        "WHERE assignment = ? AND (? IS NULL OR assigned.position = ?) ORDER BY assigned.position, number",
        (assignment_id, position, position),
    )
    items = []
    for _, group in groupby(rows, key=lambda row: row["position"]):
        values = [dict(row) for row in group]
        cards = tuple(Card(row.pop("formula_id"), row.pop("post_id")) for row in values)
        items.append(AssignedItem(cards=cards, **values[0]))
    return items


def is_done(key: str, cards: int, purpose: str, values: Values) -> bool:
    """Return whether every card has its grade (and a comment where the grade needs one), or its extra answers."""
    if purpose == "extra":
        return all(values.get(FieldKey(key, 1, question)) for question in EXTRA_QUESTIONS)
    for number in range(1, cards + 1):
        code = values.get(FieldKey(key, number, "grade"), "")
        step = grade(code)
        if step is None or (step.comment and not values.get(FieldKey(key, number, "comment"), "").strip()):
            return False
    return True


def progress(
    journal: Journal, assignment: Assignment, after: int = 0, values: Values | None = None
) -> AssignmentProgress:
    """Count what is done. The next position is the first open one after `after`, then from the start."""
    values = journal.current_values(assignment.id) if values is None else values
    rows = journal.read(
        "SELECT position, assigned.item AS key, count(*) AS cards FROM assigned "
        "JOIN instance ON instance.item = assigned.item "
        "WHERE assignment = ? GROUP BY position, assigned.item ORDER BY position",
        (assignment.id,),
    )
    # A training item also has to be submitted, since only then the assessor sees the known grade.
    submitted = submitted_items(journal, assignment.id) if assignment.purpose == "training" else None
    still_open = [
        row["position"]
        for row in rows
        if not is_done(row["key"], row["cards"], assignment.purpose, values)
        or (submitted is not None and row["key"] not in submitted)
    ]
    following = next((position for position in still_open if position > after), still_open[0] if still_open else None)
    return AssignmentProgress(len(rows) - len(still_open), len(rows), following)


def submitted_items(journal: Journal, assignment_id: int) -> set[str]:
    """Return the keys of the items of an assignment that were submitted at least once."""
    rows = journal.read("SELECT DISTINCT item FROM event WHERE assignment = ? AND field = 'submit'", (assignment_id,))
    return {row["item"] for row in rows}


def has_narrative(values: Values) -> bool:
    """Return whether the narrative of the topic is written and both questions about the topic are answered."""
    return all(values.get(topic_field(field), "").strip() for field in ("narrative", "text_alone", "formulas_alone"))


def needs_narrative(assignment: Assignment) -> bool:
    """Return whether the assessor writes a narrative first: only those who judge for the qrels do."""
    return assignment.purpose == "main"


def assign_items(journal: Journal, duty: Duty, keys: Iterable[str]) -> int:
    """Append items to an assessor's list, which is created if needed; return how many of them are new in it."""
    require_assessor(journal, duty.assessor)
    if is_model(duty.assessor) and duty.purpose not in PURPOSES:
        fact = f"{duty.assessor} is a model, whose judgments never become qrels"
        raise PorismError(fact, fix=f"assign a second opinion: porism lab assess dual JOURNAL {duty.assessor} TOPIC")
    columns = ", ".join(Duty._fields)
    with journal.write() as connection:
        connection.execute(f"INSERT INTO assignment ({columns}) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", duty)
        found = connection.execute(f"SELECT id FROM assignment WHERE ({columns}) = (?, ?, ?, ?, ?)", duty).fetchone()
        query = "SELECT position, item FROM assigned WHERE assignment = ?"
        present = {row["item"]: row["position"] for row in connection.execute(query, (found["id"],))}
        last = max(present.values(), default=0)
        new = [key for key in keys if key not in present]
        connection.executemany(
            "INSERT INTO assigned (assignment, position, item) VALUES (?, ?, ?)",
            [(found["id"], last + i, key) for i, key in enumerate(new, 1)],
        )
    return len(new)


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
    number = mine[0].id
    items, values = assigned_items(journal, number), journal.current_values(number)
    open_keys = [item.key for item in items if not is_done(item.key, len(item.cards), "main", values)]
    with journal.write() as connection:
        query = "DELETE FROM assigned WHERE assignment = ? AND item = ?"
        connection.executemany(query, [(number, key) for key in open_keys])
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
    best: dict[str, int] = {}  # the highest grade of every judged item
    for given in others:
        mine = {item.key for item in assigned_items(journal, given.id)}
        for key, value in journal.current_values(given.id).items():
            if key.field == "grade" and key.item in mine:
                best[key.item] = max(int(value), best.get(key.item, 0))
    strata: dict[int, list[str]] = {}
    for item, highest in sorted(best.items()):
        strata.setdefault(highest, []).append(item)
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
    drawn = stratified_sample({"written": written}, half, seed, topic, "extra")
    drawn += stratified_sample({"post": posts}, min(len(posts), size - half), seed, topic, "extra")
    # Shuffled again: otherwise all written answers would come first.
    mixed = stratified_sample({"": drawn}, len(drawn), seed, topic, "extra mix")
    return assign_items(journal, Duty(assessor, 1, topic, "extra"), mixed)
