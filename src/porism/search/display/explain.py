"""Explanations: why a post has its score. Every feature gives reasons that sum to its value; reasons about the same
word or formula are shown together, and the whole sums to the score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from porism.errors import PorismError
from porism.records import Explanation
from porism.search.answers.reranker import FeatureReranker, QueryScoring, ScoredQuery
from porism.search.display.highlight import NO_HIGHLIGHT, Highlight, Highlighter
from porism.search.display.post_formulas import SharedParts, readable_latex
from porism.search.features import all_features
from porism.search.features.feature import Reason
from porism.search.query import Kind
from porism.search.retrieval.context import Candidate, QueryContext
from porism.store.protocols import Snapshot
from porism.store.records import UNKNOWN
from porism.text.segment import Segment, Text
from porism.text.words import WORD, stem

MAX_HIGHLIGHTED_FORMULAS = 6  # of a query that are compared with the formulas of a hit
MOST_WORDS = 12  # words that are listed one by one
MOST_LISTED = 6  # words that the headline names
# How a formula of the post contains the one of the query, by canonical level.
CONTAINS = {
    "written": "contains your formula ${query}$: ${found}$",
    "normalised": "contains your formula ${query}$ in another notation: ${found}$",
    "commutative": "contains your formula ${query}$ in another order: ${found}$",
    "renamed": "contains your formula ${query}$ with other names: ${found}$",
}
COMPARED = 8  # formulas of a post that are compared symbol by symbol with a formula of the query


class LocatedPost(NamedTuple):
    """A post, the number of its thread, and its position there: 0 is the question."""

    id: int
    thread: int
    position: int

    @property
    def kind(self) -> Kind:
        """What the post is."""
        return "answers" if self.position else "questions"


class QueryParts(NamedTuple):
    """The sub-expressions of the query's formulas, and what highlights them in a post that is explained."""

    parts: SharedParts
    highlighter: Highlighter


def locate_post(snapshot: Snapshot, id: int) -> LocatedPost:
    """Find a post, or say that there is none."""
    found = snapshot.locate(np.array([id]))
    if int(found.threads[0]) == UNKNOWN:
        raise PorismError(f"no post {id} in this index", where=snapshot.info.address, fix="porism search lists ids")
    return LocatedPost(id, int(found.threads[0]), int(found.positions[0]))


def query_parts(context: QueryContext) -> QueryParts:
    """Return what explanations of a query compare posts with."""
    formulas = [formula.parsed for formula in context.query.formulas]
    parts = SharedParts(context.terms["parts"], formulas)
    return QueryParts(parts, Highlighter(formulas, context.index.formulas.symbols, MAX_HIGHLIGHTED_FORMULAS, parts))


def explain_post(
    reranker: FeatureReranker, scoring: QueryScoring, located: LocatedPost, query: QueryParts
) -> Explanation:
    """Explain the score of a post for a scored query; the parts sum to the score."""
    scored = reranker.score_more(scoring, np.array([located.thread]))
    candidate = Candidate(0, located.position - 1 if located.position else None)
    if located.kind != reranker.kind or scored.scores(reranker.kind)[candidate.answer or 0] <= 0:
        raise PorismError(
            f"post {located.id} is not a result of this query", fix="list the results with `porism search`"
        )
    found = reranker.index.snapshot.posts([located.id], query.parts.terms)
    query.parts.use(found.parts)
    post = found.posts[0].post
    fields = [post.body] if located.position else [post.title, post.body]
    return Explainer(scored, query.parts, query.highlighter).explain(candidate, fields)


class Explainer:
    """Explains the hits of one scored query."""

    def __init__(self, scored: ScoredQuery, parts: SharedParts, highlighter: Highlighter) -> None:
        self._scored = scored
        self._highlighter = highlighter
        self._parts = parts
        query = scored.scoring.context.query
        words = WORD.findall(" ".join((query.title, query.body, *query.tags)))
        self._word_of = {stem(word): word.lower() for word in reversed(words)}
        self._place_of = {word: place for place, word in enumerate(dict.fromkeys(map(stem, words)))}

    def explain(self, candidate: Candidate, fields: Sequence[Text]) -> Explanation:
        """Explain the score of a candidate with these fields."""
        reasons = self._reasons(candidate)
        others = [Explanation(one.value, one.text) for one in reasons if not one.word and one.formula < 0]
        parts = [*self._words(reasons), *self._formulas(reasons, fields), *others]
        kept = sorted((part for part in parts if part.value > 0), key=lambda part: -part.value)
        adaptation = self._scored.scoring.context.index.adaptation
        chosen = f", by weights that this collection chose: {adaptation}" if adaptation.factors else ""
        return Explanation(sum(part.value for part in kept), f"the sum of all matches{chosen}", tuple(kept))

    def _reasons(self, candidate: Candidate) -> list[Reason]:
        """Return the reasons of all features, in units of the score."""
        batch = self._scored.table.batch
        found: list[Reason] = []
        for feature, factor in zip(all_features(), self._scored.scoring.factors.tolist(), strict=True):
            applies = feature.level == "thread" or candidate.answer is not None
            if feature.name not in self._scored.table.values or not factor or not applies:
                continue
            found += [replace(one, value=factor * one.value) for one in feature.explain(batch, candidate)]
        return found

    def _words(self, reasons: Sequence[Reason]) -> list[Explanation]:
        """Return one part for words, with one for each word."""
        by_word: dict[str, list[Reason]] = defaultdict(list)
        for reason in reasons:
            if reason.word:
                by_word[reason.word].append(reason)
        if not by_word:
            return []
        single = []
        for word, own in sorted(by_word.items(), key=lambda item: self._place(item[0])):
            texts = ", ".join(dict.fromkeys(one.text for one in own))
            single.append(Explanation(sum(one.value for one in own), f"“{self._as_typed(word)}” {texts}"))
        single.sort(key=lambda part: -part.value)
        rest = single[MOST_WORDS:]
        if rest:
            single = [*single[:MOST_WORDS], Explanation(sum(part.value for part in rest), f"{len(rest)} more words")]
        listed = [self._as_typed(word) for word in sorted(by_word, key=self._place) if "_" not in word][:MOST_LISTED]
        return [Explanation(sum(part.value for part in single), f"same words: {', '.join(listed)}", tuple(single))]

    def _place(self, term: str) -> tuple[int, str]:
        """Return the place of a stem, or of a pair of them, in the query; those that the query lacks come last."""
        return self._place_of.get(term.partition("_")[0], len(self._place_of)), term

    def _as_typed(self, term: str) -> str:
        """Return a stem, or a pair of them, in the words of the query."""
        return " ".join(self._word_of.get(part, part) for part in term.split("_"))

    def _formulas(self, reasons: Sequence[Reason], fields: Sequence[Text]) -> list[Explanation]:
        """Return one part for each formula of the query, with the formula of the post that matches it."""
        by_formula: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for reason in reasons:
            if reason.formula >= 0:
                by_formula[reason.formula][reason.text] += reason.value
        found = []
        for number, values in sorted(by_formula.items()):
            latex = self._scored.scoring.context.query.formulas[number].parsed.latex
            shown, match = self._most_similar(number, fields)
            text = f"shares parts of your formula ${latex}$"
            if shown:
                text = CONTAINS.get(match.level, "has a formula similar to your ${query}$: ${found}$")
                text = text.replace("{query}", latex).replace("{found}", readable_latex(shown))
            parts = tuple(Explanation(value, reason) for reason, value in values.items())
            nodes = (match.query_nodes, match.item_nodes)
            found.append(Explanation(sum(values.values()), text, parts, *nodes, match.bindings))
        return found

    def _most_similar(self, number: int, fields: Sequence[Text]) -> tuple[str, Highlight]:
        """Return the formula of the post that is most similar to a formula of the query, and the match."""

        def shared_weight(formula: Segment) -> float:
            """Return the weight of the sub-expressions that it shares with the formula of the query."""
            return sum(part.weight for part in self._parts.of(formula.expression_id) if part.formula == number)

        formulas = [formula for field in fields for formula in field.formulas]
        formulas.sort(key=shared_weight, reverse=True)
        best = self._highlighter.most_similar(number, formulas[:COMPARED])
        return ("", NO_HIGHLIGHT) if best is None else (best.text, self._highlighter.match(number, best.text))
