"""Completion of what is typed by titles, tags and common formulas; suggestions for a search without hits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from porism.corpus.content import Content
from porism.search.answers.reranker import ScoredRanking
from porism.search.query import ReadQuery
from porism.store.records import Filter
from porism.text.typed.grammar import latex_readings

MAX_TITLES, MAX_FORMULAS, MAX_TAGS = 200_000, 2_000, 20_000  # kept in memory, the first or the most common ones
SHORTEST = 2  # characters from which on something is completed
SHORTEST_FORMULA = 4  # characters of LaTeX of a formula that is worth completing
_TAG = re.compile(r"(?<!\S)tag:(\S*)$", re.IGNORECASE)
_OPEN_FORMULA = re.compile(r"\$([^$]+)$")
_SPACES = re.compile(r"[\s{}]+")


@dataclass(frozen=True, slots=True)
class Completion:
    """A continuation of what was typed: the whole text of the box, and what it adds."""

    kind: Literal["title", "tag", "formula"]
    text: str


@dataclass(frozen=True, slots=True)
class Completions:
    """Continuations of a text, the best first."""

    completions: tuple[Completion, ...]


class _Entry(NamedTuple):
    key: str
    text: str


class Completer:
    """Completes queries from a collection. The lists are read at the first call."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def complete(self, typed: str, k: int = 8) -> Completions:
        """Return at most k continuations: tags after `tag:`, formulas in a formula, otherwise titles and tags."""
        if tag := _TAG.search(typed):
            names = [one.text for one in self._tags if one.key.startswith(tag[1].lower())][:k]
            return Completions(tuple(Completion("tag", f"{typed[: tag.start()]}tag:{name}") for name in names))
        if formula := _OPEN_FORMULA.search(typed):
            before, continued = typed[: formula.start()], self._continuing(formula[1], k)
            return Completions(tuple(Completion("formula", f"{before}${one}$") for one in continued))
        needle = " ".join(typed.lower().split())
        if len(needle) < SHORTEST:
            return Completions(())
        # Titles that begin with the text, then titles in which a word begins with it.
        found = [one.text for one in self._titles if one.key.startswith(needle)][:k]
        if len(found) < k:
            inner = f" {needle}"
            found += [one.text for one in self._titles if inner in one.key and not one.key.startswith(needle)]
        titles = [Completion("title", text) for text in list(dict.fromkeys(found))[:k]]
        hyphenated = needle.replace(" ", "-")
        tags = [Completion("tag", f"tag:{one.text}") for one in self._tags if one.key.startswith(hyphenated)]
        latex = latex_readings(typed)[:1] if re.search(r"[\^_=+*/<>√∑∫]", typed) else ()
        formulas = [Completion("formula", f"${one}$") for text in latex for one in self._continuing(text, k)]
        return Completions(tuple([*formulas[: k // 2], *titles, *tags[:2]][:k]))

    def _continuing(self, latex: str, k: int) -> list[str]:
        key = _SPACES.sub("", latex)
        return [one.text for one in self._formulas if one.key.startswith(key) and one.key != key][:k] if key else []

    @cached_property
    def _titles(self) -> list[_Entry]:
        titles = (" ".join(text.plain().split()) for text in self._content.titles(MAX_TITLES))
        return [_Entry(" ".join(title.lower().replace("$", "").split()), title) for title in titles if title]

    @cached_property
    def _tags(self) -> list[_Entry]:
        names = [tag.name for tag, _ in zip(self._content.tags(), range(MAX_TAGS), strict=False)]
        return [_Entry(name.lower(), name) for name in names]

    @cached_property
    def _formulas(self) -> list[_Entry]:
        common = (one.latex.strip() for one in self._content.most_common(MAX_FORMULAS))
        return [_Entry(_SPACES.sub("", latex), latex) for latex in common if len(latex) >= SHORTEST_FORMULA]


EMPTY_QUERY = "type words or a formula, for example: proof that $\\sqrt{2}$ is irrational"


def suggestions(query: ReadQuery, ranked: ScoredRanking, chosen: Filter) -> tuple[str, ...]:
    """Say what to try when a search has no hits."""
    if query.empty:
        return (EMPTY_QUERY,)
    found: list[str] = []
    if ranked.thread_count:
        if chosen.tags:
            found.append(f"search without the tag {' or '.join(chosen.tags)}")
        if chosen.years is not None:
            found.append("search in all years")
        if chosen.accepted:
            found.append("search in all answers, not only in accepted ones")
        return tuple(found)
    if query.formulas:
        found.append("search for similar formulas: use the Formulas tab, or `porism formulas`")
        found.append("replace a part of the formula by a wildcard, for example ?x")
    if not len(ranked.scoring.context.terms["words"]) and query.title.strip():
        found.append("check the spelling, or try other words")
    return tuple(found)
