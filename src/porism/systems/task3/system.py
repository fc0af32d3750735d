"""A Task 3 system: a pipeline of Task 1, which may be missing, and an answerer. What it writes obeys the rules of the
lab."""

from __future__ import annotations

from dataclasses import replace

from porism.errors import PorismError
from porism.evaluate.text_measures import DOLLAR
from porism.records import Topic
from porism.search.generation.answer_text import MAX_LENGTH
from porism.search.retriever import Pipeline, Ranking, reported
from porism.systems.answerer import Answerer, WrittenAnswer
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import Declaration, find_declaration
from porism.systems.declared.parts import make_part
from porism.systems.declared.pipeline import build_declared, check_overrides, needed_models, not_runnable
from porism.systems.loading import is_declared, own_object
from porism.systems.neural.named_models import ModelUse, missing_model, missing_models
from porism.systems.topic_queries import topic_query


class AnswerSystem:
    """Answers topics. `declaration` is None for a class of the user's own."""

    def __init__(
        self, name: str, answerer: Answerer, finder: Pipeline | None = None, declaration: Declaration | None = None
    ) -> None:
        self.name = name
        self.declaration = declaration
        self._answerer = answerer
        self._finder = finder

    def answer(self, topic: Topic) -> WrittenAnswer:
        """Return the answer to a topic. One that breaks the rules of the lab is an error of the answerer."""
        query = topic_query(topic, 1)
        found = self._finder.search(query, self._answerer.depth) if self._finder else Ranking.of({})
        place = self.declaration.parts[-1].use if self.declaration else type(self._answerer).__name__
        with reported(self.name, place):
            written = self._answerer.answer(query, found)
            _check(written.text)
        return written

    @property
    def models(self) -> tuple[ModelUse, ...]:
        """The models that the parts use, each once."""
        before = self._finder.models if self._finder else ()
        return tuple(dict.fromkeys((*before, *getattr(self._answerer, "models", ()))))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the run must know."""
        return (*(self._finder.notes if self._finder else ()), *getattr(self._answerer, "notes", ()))


def _check(text: str) -> None:
    if len(text) > MAX_LENGTH:
        fix = "cut it with porism.search.generation.answer_text.fitting_text"
        raise PorismError(f"wrote {len(text):,} characters; the lab allows {MAX_LENGTH:,}", fix=fix)
    if len(DOLLAR.findall(text)) % 2:
        raise PorismError(
            "wrote a formula that is not closed", fix="make the text with porism.search.generation.answer_text"
        )


def build_answer_system(declaration: Declaration, context: SystemContext) -> AnswerSystem:
    """Build a declared Task 3 system: its parts but the last as a system of Task 1, then the answerer."""
    if not declaration.parts:
        raise not_runnable(declaration)
    if missing := missing_models(needed_models(declaration, context.overrides), context.models):
        raise missing_model(missing, declaration.name)
    *before, last = declaration.parts
    finder = None
    if before:
        inner = replace(declaration, parts=tuple(before), task=1)
        finder = build_declared(inner, replace(context, task=1))
    options = {**last.options, **context.overrides.get(last.use, {})}
    with reported(declaration.name, last.use):
        made = make_part(last.use, options, context)
        if not isinstance(made, Answerer):
            fix = "end the parts of a Task 3 system with one that writes an answer"
            raise PorismError(f"a {type(made).__name__}: the last part must be an answerer", fix=fix)
    return AnswerSystem(declaration.name, made, finder, declaration)


def load_answerer(name: str, context: SystemContext) -> AnswerSystem:
    """Return the Task 3 system with a name: a declared one, or an answerer of the user's own,
    `my_module:MyAnswerer`."""
    if is_declared(name):
        declaration = find_declaration(name, 3)
        check_overrides(declaration, context.overrides)
        return build_answer_system(declaration, context)
    made = own_object(name, context.index)
    if not isinstance(made, Answerer):
        fix = "derive it from porism.systems.answerer.Answerer"
        raise PorismError(f"{name.rpartition(':')[2]} is not an Answerer", where=name, fix=fix)
    return AnswerSystem(name, made)
