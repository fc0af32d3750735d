"""Why a post has its score: what each word, each formula and each other reason adds; the parts sum to the score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from porism.index.analysis.terms import FORMULA_FAMILIES, TEXT_FAMILIES, latex_codes
from porism.index.analysis.words import stems
from porism.records import Explanation
from porism.search.answers.asked import Asked
from porism.search.answers.scoring import shares
from porism.search.answers.searcher import FEATURES, AnswerSearcher, Study
from porism.search.display.highlight import NO_HIGHLIGHT, Highlight, Highlighter
from porism.search.display.snippet import WORD
from porism.text.html import Segment, segments

VIEWS = {
    "thread": "in the thread",
    "title": "in its title or tags",
    "links": "in titles of linked questions",
    "answer": "in the answer",
}
FAMILY_WORDS = {
    "tuples": "symbols beside each other",
    "paths": "operators above symbols",
    "parts": "whole parts, names aside",
}
MOST_TERMS = 12  # words that are named one by one
COMPARED = 8  # formulas of a post that are compared symbol by symbol with a formula of the query


class Explainer:
    """Explains one study of a query."""

    def __init__(
        self, searcher: AnswerSearcher, study: Study, factors: npt.NDArray[np.float32], highlighter: Highlighter
    ) -> None:
        self._posts = searcher.posts
        self._study = study
        self._factors = dict(zip(FEATURES, factors.tolist(), strict=True))
        self._highlighter = highlighter
        words = WORD.findall(" ".join((study.query.title, study.query.body, *study.query.tags)))
        self._words_of = {stem: word.lower() for word in reversed(words) for stem in stems(word)[:1]}

    def explain(
        self, thread: int, answer: int | None, html: Sequence[str], features: npt.NDArray[np.float32]
    ) -> Explanation:
        """The reasons for a post: its thread's and its own row, the HTML of its fields, and its features."""
        values = dict(zip(FEATURES, (features * list(self._factors.values())).tolist(), strict=True))
        terms = self._term_shares(thread, answer)
        parts = [*self._words(terms), *self._formulas(terms, html), *self._others(values)]
        kept = sorted((part for part in parts if part.value > 0), key=lambda part: -part.value)
        return Explanation(sum(part.value for part in kept), "the sum of what matched", tuple(kept))

    def _term_shares(self, thread: int, answer: int | None) -> dict[str, dict[tuple[str, int], dict[str, float]]]:
        """family -> (term, formula) -> view -> share of the score."""
        found: dict[str, dict[tuple[str, int], dict[str, float]]] = {}
        for family, asked in self._study.asked.items():
            by_term: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
            for view in VIEWS:
                row = answer if view == "answer" else thread
                factor = self._factors[f"{view}.{family}"]
                if row is None or not factor:
                    continue
                for place, share in shares(self._posts.rows[view, family], row, asked.codes, asked.power).items():
                    by_term[asked.origins[place]][view] = share * factor
            found[family] = by_term
        return found

    def _words(self, terms: dict[str, dict[tuple[str, int], dict[str, float]]]) -> list[Explanation]:
        """One part for words, with one for each word."""
        single: list[Explanation] = []
        for family in TEXT_FAMILIES:
            for (term, _), views in terms[family].items():
                where = ", ".join(VIEWS[view] for view in views)
                single.append(Explanation(sum(views.values()), f"“{self._as_asked(term)}” {where}"))
        if not single:
            return []
        single.sort(key=lambda part: -part.value)
        rest = single[MOST_TERMS:]
        if rest:
            single = [*single[:MOST_TERMS], Explanation(sum(part.value for part in rest), f"{len(rest)} more words")]
        return [Explanation(sum(part.value for part in single), "words of the query", tuple(single))]

    def _as_asked(self, term: str) -> str:
        """A stem, or a pair of them, in the words of the query."""
        return " ".join(self._words_of.get(stem, stem) for stem in term.split("_"))

    def _formulas(
        self, terms: dict[str, dict[tuple[str, int], dict[str, float]]], html: Sequence[str]
    ) -> list[Explanation]:
        """One part for each formula of the query, with the formula of the post that answers to it."""
        sums: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for family in FORMULA_FAMILIES:
            for (_, number), views in terms[family].items():
                sums[number][family] += sum(views.values())
        return [self._formula(number, dict(families), html) for number, families in sorted(sums.items())]

    def _formula(self, number: int, families: dict[str, float], html: Sequence[str]) -> Explanation:
        asked = self._study.query.formulas[number].parsed.latex
        shown, match = self._partner(number, html)
        reason = f"formula ${asked}$" + (
            f" is like ${shown}$" if shown else " shares parts with formulas of the thread"
        )
        parts = tuple(Explanation(value, FAMILY_WORDS[family]) for family, value in families.items())
        return Explanation(sum(families.values()), reason, parts, match.query_nodes, match.item_nodes, match.bindings)

    def _partner(self, number: int, html: Sequence[str]) -> tuple[str, Highlight]:
        """The formula of the post that is most like a formula of the query."""
        wanted = {code for code, (_, origin) in _origins(self._study.asked["tuples"]) if origin == number}
        given = [segment for field in html for segment in segments(field) if segment.formula_id]
        given.sort(key=lambda segment: -_overlap(segment, wanted))
        found = [(segment.text, self._highlighter.match(number, segment.text)) for segment in given[:COMPARED]]
        best = max(found, key=lambda pair: pair[1].share, default=("", NO_HIGHLIGHT))
        return best if best[1].share > 0 else ("", NO_HIGHLIGHT)

    def _others(self, values: dict[str, float]) -> list[Explanation]:
        """Tags, nearness in meaning, feedback, concepts."""
        study = self._study
        learned = study.learned["words"].origins if study.learned else ()
        words = ", ".join(name for name, _ in learned[:10] if name)
        found = [
            Explanation(values["alike.answer"], "formulas of the answer like those of the query as wholes"),
            Explanation(values["alike.thread"], "formulas of the thread like those of the query as wholes"),
            Explanation(values["tags"], "the same tags"),
            Explanation(values["vectors.words"], "near in meaning by its words"),
            Explanation(values["vectors.tuples"], "near in kind by its formulas"),
            Explanation(values["feedback.words"], f"words of the best threads: {words}"),
            Explanation(values["feedback.tuples"], "symbols of the best threads' formulas"),
        ]
        for family, by_name in (("parts", True), ("pairs", False)):
            met = [meeting.concept for meeting in study.meetings if meeting.by_name == by_name]
            told = "; ".join(dict.fromkeys(f"“{one.shown}” goes with ${one.latex}$" for one in met))
            found.append(Explanation(values[f"concepts.{family}"], told))
        return found


def _origins(asked: Asked) -> list[tuple[int, tuple[str, int]]]:
    return list(zip(asked.codes.tolist(), asked.origins, strict=True))


def _overlap(segment: Segment, wanted: set[int]) -> float:
    """Dice's coefficient of the tuples of a formula and those wanted."""
    found = {number for number, _ in dict(latex_codes(segment.text))["tuples"]}
    return 2 * len(found & wanted) / max(1, len(found) + len(wanted))
