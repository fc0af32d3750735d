"""What the command line says of a run: options of parts, and the task that system and topics agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from porism.errors import PorismError
from porism.records import Topic
from porism.systems.declared.declaration import find_declaration
from porism.systems.loading import is_declared

LETTERS = {"A": 1, "B": 2}  # of the lab's topics


def parse_overrides(settings: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    """Return options of parts from texts `part.option=value`."""
    found: dict[str, dict[str, str]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        part, dot, option = name.strip().rpartition(".")
        if not (equals and dot and part and option):
            raise PorismError(
                f"{setting!r} is no option", where="--set", fix="write part.option=value, as terrier.k1=0.9"
            )
        found.setdefault(part, {})[option] = value.strip()
    return found


def task_of(requested: int | None, system: str, topics: Sequence[Topic]) -> int:
    """Return the task of a run. Refuse a system, topics and a requested task that do not fit together."""
    by_topics = _task_of_topics(topics)
    if is_declared(system):
        declared = find_declaration(system, requested or (by_topics if _has_two_tasks(system) else None)).task
    else:
        declared = requested or by_topics or 1
    if by_topics is not None and by_topics != (1 if declared == 3 else declared):  # Task 3 has the topics of Task 1
        raise PorismError(
            f"topic {topics[0].id} is one of Task {by_topics}, not of Task {declared}",
            fix=f"give topics of Task {declared}, or run a system of Task {by_topics}",
        )
    return declared


def _has_two_tasks(system: str) -> bool:
    try:
        find_declaration(system)
    except PorismError:
        return True  # ambiguous, or unknown: the search with a task reports it
    return False


def _task_of_topics(topics: Sequence[Topic]) -> int | None:
    """Return the task that the topics show: by their letter, or by what they hold. None where they fit both."""
    if not topics:
        return None
    letter, _, number = topics[0].id.partition(".")
    if number and letter in LETTERS:
        return LETTERS[letter]
    if all(topic.latex and not topic.title and not topic.question for topic in topics):
        return 2
    if all(not topic.latex for topic in topics):
        return 1
    return None
