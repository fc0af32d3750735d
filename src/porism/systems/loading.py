"""A system by its name, or of the user's own, with the options that the command line gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from porism.errors import PorismError
from porism.progress import Progress, Silent
from porism.records import Topic
from porism.safe_path import import_own
from porism.search.index import Index
from porism.search.retriever import NamedPart, Pipeline, Retriever
from porism.store import open_store
from porism.store.state import State
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import OWN_FILE, find_declaration, shipped
from porism.systems.declared.pipeline import build_declared, check_overrides
from porism.systems.topic_queries import HandQueries

DEFAULT = shipped()[0].name


def open_system(
    index: str | Path,
    name: str,
    task: int | None = None,
    *,
    queries: HandQueries | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    models: Mapping[str, str] | None = None,
) -> Pipeline:
    """Open an index and return the system with a name over it. `options` (part -> option -> value) win over the
    declaration; `models` are the directories of named models."""
    context = SystemContext(
        Index(open_store(index).snapshot()),
        task or system_task(name) or 1,
        Path(cache) if cache else State(index).systems,
        queries,
        progress or Silent(),
        options or {},
        models or {},
    )
    return load_system(name, context)


def is_declared(name: str) -> bool:
    """Return whether a name is that of a declaration, not of a class."""
    return ":" not in name or f"{OWN_FILE}:" in name


def system_task(name: str) -> int | None:
    """Return the task of a declared system, or None where its name does not say."""
    if not is_declared(name):
        return None
    try:
        return find_declaration(name).task
    except PorismError:  # of several tasks
        return None


def load_system(name: str, context: SystemContext) -> Pipeline:
    """Return the system with a name as a pipeline."""
    if not is_declared(name):
        return Pipeline([NamedPart(name.rpartition(":")[2], _own_system(name, context.index))], name)
    declaration = find_declaration(name, context.task)
    check_overrides(declaration, context.overrides)
    return build_declared(declaration, context)


def _own_system(name: str, index: Index) -> Retriever:
    """Import a user's class, or function that returns a retriever, and call it with the index."""
    system = own_object(name, index)
    if not isinstance(system, Retriever):
        class_name = name.partition(":")[2]
        raise PorismError(
            f"{class_name} is not a Retriever", where=name, fix="derive it from porism.search.retriever.Retriever"
        )
    return system


def own_object(name: str, index: Index) -> object:
    """Import a user's class or function, `my_module:name`, and call it with the index."""
    module_name, _, class_name = name.partition(":")
    try:
        module = import_own(module_name)
    except ImportError as error:
        fix = f"run the command in the folder of {module_name.replace('.', '/')}.py, or install the package"
        raise PorismError(f"cannot import {module_name}: {error}", where=name, fix=fix) from None
    made = getattr(module, class_name, None)
    if made is None:
        names = [one for one in vars(module) if not one.startswith("_")]
        near = get_close_matches(class_name, names, 1)
        fix = f"did you mean {module_name}:{near[0]}?" if near else f"define class {class_name} there"
        raise PorismError(f"{module_name} has no {class_name}", where=name, fix=fix)
    return made(index) if callable(made) and not isinstance(made, Retriever) else made


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
