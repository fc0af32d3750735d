"""Who judges what: topics to assessors, second opinions by a stratified sample, training rounds, extra questions."""

from __future__ import annotations

from collections.abc import Iterable

from porism.errors import PorismError
from porism.lab.judging.accounts import accounts
from porism.lab.judging.journal import Journal
from porism.lab.judging.qrels import is_written
from porism.lab.judging.queue import Assignment, assignments, is_done, works
from porism.lab.pooling.rules import topic_key
from porism.lab.seeded import stratified


def give(
    journal: Journal, assessor: str, task: int, topic: str, purpose: str, keys: Iterable[str], turn: int = 1
) -> int:
    """Put items at the end of an assessor's list, making the list if there is none; returns how many were new there."""
    if (assessor, "assessor") not in accounts(journal):
        raise PorismError(f"there is no assessor {assessor!r}", fix=f"porism assess account JOURNAL {assessor}")
    wanted = list(keys)
    with journal.write() as connection:
        connection.execute(
            "INSERT INTO assignment (assessor, task, topic, purpose, round) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (assessor, task, topic, purpose, turn),
        )
        number = connection.execute(
            "SELECT id FROM assignment WHERE assessor = ? AND task = ? AND topic = ? AND purpose = ? AND round = ?",
            (assessor, task, topic, purpose, turn),
        ).fetchone()[0]
        rows = connection.execute("SELECT place, item FROM assigned WHERE assignment = ?", (number,)).fetchall()
        held = {row["item"] for row in rows}
        place = max((row["place"] for row in rows), default=0)
        fresh = [key for key in wanted if key not in held]
        connection.executemany(
            "INSERT INTO assigned VALUES (?, ?, ?)", [(number, place + i, key) for i, key in enumerate(fresh, 1)]
        )
    return len(fresh)


def assign_topic(journal: Journal, assessor: str, task: int, topic: str) -> int:
    """The drawn items of a topic that nobody has, in pool order. Called again after the pool grew, it adds only the new items."""
    drawn = "FROM item WHERE task = ? AND topic = ? AND sampled = 1 AND known IS NULL"
    if not journal.read(f"SELECT 1 {drawn} LIMIT 1", (task, topic)):
        raise PorismError(
            f"topic {topic} has no items to judge in task {task}", fix="load its pool first: porism assess load"
        )
    held = "SELECT assigned.item FROM assigned JOIN assignment ON id = assignment WHERE purpose = 'main'"
    rows = journal.read(f"SELECT key {drawn} AND key NOT IN ({held}) ORDER BY place", (task, topic))
    taken = [
        job.assessor for job in assignments(journal) if (job.task, job.topic, job.purpose) == (task, topic, "main")
    ]
    if not rows and taken and assessor not in taken:
        raise PorismError(
            f"topic {topic} is judged by {taken[0]}", fix="give second opinions with `porism assess dual`"
        )
    return give(journal, assessor, task, topic, "main", [row["key"] for row in rows])


def move_topic(journal: Journal, giver: str, taker: str, task: int, topic: str) -> int:
    """Give what an assessor has not judged of a topic to a colleague: someone fell ill. What was judged stays theirs."""
    job = next(
        (one for one in assignments(journal, giver) if (one.task, one.topic, one.purpose) == (task, topic, "main")),
        None,
    )
    if job is None:
        raise PorismError(
            f"{giver} does not judge topic {topic} of task {task}", fix="see who does: porism assess progress JOURNAL"
        )
    if (taker, "assessor") not in accounts(journal):
        raise PorismError(f"there is no assessor {taker!r}", fix=f"porism assess account JOURNAL {taker}")
    standing = journal.last(job.id)
    open_keys = [
        work.key for work in works(journal, job.id) if not is_done(work.key, len(work.cards), job.purpose, standing)
    ]
    with journal.write() as connection:
        connection.executemany(
            "DELETE FROM assigned WHERE assignment = ? AND item = ?", [(job.id, key) for key in open_keys]
        )
    return give(journal, taker, task, topic, "main", open_keys)


def share_topics(journal: Journal, task: int, names: list[str]) -> dict[str, list[str]]:
    """Give every topic that nobody has to the assessor with the fewest items; topics in order, names in the given order."""
    sizes = {row["topic"]: row["n"] for row in journal.read(
        "SELECT topic, count(*) AS n FROM item WHERE task = ? AND sampled = 1 AND known IS NULL GROUP BY topic", (task,)
    )}  # fmt: skip
    loads = dict.fromkeys(names, 0)
    for job in assignments(journal):
        if job.purpose == "main" and job.task == task:
            size = sizes.pop(job.topic, 0)
            loads[job.assessor] = loads.get(job.assessor, 0) + size
    shared: dict[str, list[str]] = {name: [] for name in names}
    for topic in sorted(sizes, key=topic_key):
        name = min(names, key=lambda one: loads[one])
        assign_topic(journal, name, task, topic)
        loads[name] += sizes[topic]
        shared[name].append(topic)
    return shared


def _best_grades(journal: Journal, job: Assignment) -> dict[str, int]:
    """The highest grade of every item of a list that has one."""
    mine = {work.key for work in works(journal, job.id)}
    best: dict[str, int] = {}
    for (key, _, field), value in journal.last(job.id).items():
        if field == "grade" and key in mine:
            best[key] = max(int(value), best.get(key, 0))
    return best


def assign_dual(journal: Journal, assessor: str, task: int, topic: str, size: int | None, seed: int) -> int:
    """A second opinion on a topic that a colleague judged: a sample stratified by the colleague's grades, or the whole topic.

    The order is shuffled again, so neither the grade nor the place in the colleague's list can be guessed.
    """
    owners = [job for job in assignments(journal) if (job.task, job.topic, job.purpose) == (task, topic, "main")]
    if not owners:
        raise PorismError(f"nobody judges topic {topic} of task {task} yet", fix="porism assess assign JOURNAL")
    others = [job for job in owners if job.assessor != assessor]
    if not others:
        raise PorismError(f"{assessor} judges topic {topic} already", fix="name a colleague for the second opinion")
    best = {key: grade for job in others for key, grade in _best_grades(journal, job).items()}
    strata: dict[int, list[str]] = {}
    for key, highest in sorted(best.items()):
        strata.setdefault(highest, []).append(key)
    if not strata:
        said = f"{others[0].assessor} has judged nothing of topic {topic} yet"
        raise PorismError(said, fix="draw second opinions after the first")
    drawn = stratified(dict(sorted(strata.items())), len(best) if size is None else size, seed, topic, "dual")
    return give(journal, assessor, task, topic, "dual", drawn)


def assign_training(journal: Journal, assessor: str, task: int, turn: int) -> int:
    """Every training item of a round, topic by topic."""
    rows = journal.read(
        "SELECT key, topic FROM item WHERE task = ? AND round = ? AND known IS NOT NULL ORDER BY place", (task, turn)
    )
    if not rows:
        raise PorismError(
            f"training round {turn} of task {task} has no items", fix="porism assess train JOURNAL --known FILE"
        )
    topics: dict[str, list[str]] = {}
    for row in rows:
        topics.setdefault(row["topic"], []).append(row["key"])
    return sum(give(journal, assessor, task, topic, "training", keys, turn) for topic, keys in topics.items())


def assign_extra(journal: Journal, assessor: str, topic: str, size: int, seed: int) -> int:
    """The two yes/no questions on a sample of posts and written answers of a topic, half and half as far as there are any."""
    rows = journal.read(
        "SELECT key, item FROM item WHERE task = 1 AND topic = ? AND sampled = 1 AND known IS NULL ORDER BY key",
        (topic,),
    )
    if not rows:
        raise PorismError(
            f"topic {topic} has no items to judge in task 1", fix="load its pool first: porism assess load"
        )
    written = [row["key"] for row in rows if is_written(row["item"])]
    posts = [row["key"] for row in rows if not is_written(row["item"])]
    half = min(len(written), (size + 1) // 2)
    drawn = stratified({"written": written}, half, seed, topic, "extra") + stratified(
        {"post": posts}, min(len(posts), size - half), seed, topic, "extra"
    )
    # Mixed again: otherwise all written answers would come first.
    return give(journal, assessor, 1, topic, "extra", stratified({"": drawn}, len(drawn), seed, topic, "extra mix"))
