"""A system by its name, or of the user's own, with the options that the command line gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypedDict, Unpack

from porism.errors import PorismError
from porism.evaluate.text_measures import DOLLAR
from porism.progress import Progress
from porism.records import Topic
from porism.safe_path import import_own
from porism.search.generation.answer_text import MAX_LENGTH
from porism.search.index import Index
from porism.search.retriever import NamedPart, Pipeline, Ranking, Retriever, reported
from porism.store import open_store
from porism.store.state import State
from porism.systems.answerer import Answerer, WrittenAnswer
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import OWN_FILE, Declaration, find_declaration, shipped
from porism.systems.declared.parts import make_part
from porism.systems.declared.pipeline import build_declared, check_overrides, check_runnable
from porism.systems.named_models import AppliedModel
from porism.systems.topic_queries import HandQueries, topic_query

DEFAULT = shipped()[0].name


class SystemValues(TypedDict, total=False):
    """What a system may be given besides the index: hand-written queries, progress, directories of named models."""

    queries: HandQueries | None
    progress: Progress
    models: Mapping[str, str]


def open_system(
    index: str | Path,
    name: str,
    task: int | None = None,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    cache: str | Path | None = None,
    **values: Unpack[SystemValues],
) -> Pipeline:
    """Open an index and return the system with a name over it. `options` (part -> option -> value) win over the
    declaration; `queries` are written by hand, `models` the directories of named models."""
    place = Path(cache) if cache else State(index).systems
    chosen = task or system_task(name) or 1
    context = SystemContext(Index(open_store(index).snapshot()), chosen, place, overrides=options or {}, **values)
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
        own, label = own_object(name, context.index), name.rpartition(":")[2]
        if not isinstance(own, Retriever):
            fix = "derive it from porism.search.retriever.Retriever"
            raise PorismError(f"{label} is not a Retriever", where=name, fix=fix)
        return Pipeline([NamedPart(label, own)], name)
    declaration = find_declaration(name, context.task)
    check_overrides(declaration, context.overrides)
    return build_declared(declaration, context)


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
            fix = "write part.option=value, as terrier.k1=0.9"
            raise PorismError(f"{setting!r} is no option", where="--set", fix=fix)
        found.setdefault(part, {})[option] = value.strip()
    return found


def task_of(requested: int | None, system: str, topics: Sequence[Topic]) -> int:
    """Return the task of a run. Refuse a system, topics and a requested task that do not fit together."""
    by_topics = _task_of_topics(topics)
    if is_declared(system):
        # A system of several tasks, or an unknown one: the search with a task reports it.
        declared = find_declaration(system, requested or (None if system_task(system) else by_topics)).task
    else:
        declared = requested or by_topics or 1
    if by_topics is not None and by_topics != (1 if declared == 3 else declared):  # Task 3 has the topics of Task 1
        fix = f"give topics of Task {declared}, or run a system of Task {by_topics}"
        raise PorismError(f"topic {topics[0].id} is one of Task {by_topics}, not of Task {declared}", fix=fix)
    return declared


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


class AnswerSystem:
    """Answers topics. `declaration` is None for a class of the user's own."""

    def __init__(
        self, name: str, answerer: Answerer, finder: Pipeline | None = None, declaration: Declaration | None = None
    ) -> None:
        self.name, self.declaration, self._answerer, self._finder = name, declaration, answerer, finder

    def answer(self, topic: Topic) -> WrittenAnswer:
        """Return the answer to a topic. One that breaks the rules of the lab is an error of the answerer."""
        query = topic_query(topic, 1)
        found = self._finder.search(query, self._answerer.depth) if self._finder else Ranking.of({})
        place = self.declaration.parts[-1].use if self.declaration else type(self._answerer).__name__
        with reported(self.name, place):
            written = self._answerer.answer(query, found)
            if len(written.text) > MAX_LENGTH:
                fix = "cut it with porism.search.generation.answer_text.fitting_text"
                raise PorismError(f"wrote {len(written.text):,} characters; the lab allows {MAX_LENGTH:,}", fix=fix)
            if len(DOLLAR.findall(written.text)) % 2:
                fix = "make the text with porism.search.generation.answer_text"
                raise PorismError("wrote a formula that is not closed", fix=fix)
        return written

    @property
    def models(self) -> tuple[AppliedModel, ...]:
        """The models that the parts use, each once."""
        before = self._finder.models if self._finder else ()
        return tuple(dict.fromkeys((*before, *getattr(self._answerer, "models", ()))))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the run must know."""
        return (*(self._finder.notes if self._finder else ()), *getattr(self._answerer, "notes", ()))


def build_answer_system(declaration: Declaration, context: SystemContext) -> AnswerSystem:
    """Build a declared Task 3 system: its parts but the last as a system of Task 1, then the answerer."""
    check_runnable(declaration, context)
    *before, last = declaration.parts
    inner = replace(declaration, parts=tuple(before), task=1)
    finder = build_declared(inner, replace(context, task=1)) if before else None
    options = {**last.options, **context.overrides.get(last.use, {})}
    with reported(declaration.name, last.use):
        made = make_part(last.use, options, context)
        if not isinstance(made, Answerer):
            fix = "end the parts of a Task 3 system with one that writes an answer"
            raise PorismError(f"a {type(made).__name__}: the last part must be an answerer", fix=fix)
    return AnswerSystem(declaration.name, made, finder, declaration)


def load_answerer(name: str, context: SystemContext) -> AnswerSystem:
    """Return the Task 3 system with a name: a declared one, or the user's own, `my_module:MyAnswerer`."""
    if is_declared(name):
        declaration = find_declaration(name, 3)
        check_overrides(declaration, context.overrides)
        return build_answer_system(declaration, context)
    made = own_object(name, context.index)
    if not isinstance(made, Answerer):
        fix = "derive it from porism.systems.answerer.Answerer"
        raise PorismError(f"{name.rpartition(':')[2]} is not an Answerer", where=name, fix=fix)
    return AnswerSystem(name, made)
