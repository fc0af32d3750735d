"""MathDowers: search over pages of threads (Task 1) and over formulas by visual id (Task 2), by words and tuples.

The page of an answer holds the question's title (twice: with formulas, and as LaTeX text), its body, tags and comments,
the answer and its comments, and the titles of duplicate and related questions. Formulas become tuples of their
Presentation MathML. A formula for which the source gives none stays LaTeX text, as in the original; when the source
gives none at all, Porism converts the LaTeX."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from porism.compiled import compiled
from porism.corpus.content import Content, batched
from porism.corpus.post import Comment, Formula, Thread
from porism.errors import PorismError
from porism.formula import parse
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.arrays import Flags, Floats, Ints, Small
from porism.systems.declared.context import SystemContext, check_share
from porism.systems.documents import AT_ONCE
from porism.systems.inverted import InvertedIndex, TokenDocument, best, invert, kept_index
from porism.systems.mathdowers import queries
from porism.systems.mathdowers.queries import WordLists, engine_tokens
from porism.systems.mathdowers.tuples import L1_SEARCH, L8_SEARCH, TupleRules, math_tokens
from porism.systems.topic_queries import query_formula, topic_of
from porism.text.segment import Text

Tokens = Mapping[int, list[str]]  # of formulas, by expression id
KEPT = 30_000  # expressions whose tokens are kept in memory while documents are made
_LINK = re.compile(r'<a\s[^<>]*?href="([^"<>]*)"')


class ThreadDocuments:
    """The documents of a collection's answers."""

    def __init__(self, content: Content, rules: TupleRules = L8_SEARCH) -> None:
        self._content = content
        self._formulas = FormulaTokens(content, rules)
        self._linked: dict[int, set[int]] = {}  # the questions linked with each question, in either direction
        for link in content.all_links():
            self._linked.setdefault(link.post_id, set()).add(link.other_id)
            self._linked.setdefault(link.other_id, set()).add(link.post_id)

    def __iter__(self) -> Iterator[TokenDocument]:
        answered = (thread for thread in self._content.threads() if thread.answers)
        for threads in batched(answered, AT_ONCE):
            linked = {thread.question.id: sorted(self._linked.get(thread.question.id, ())) for thread in threads}
            titles = self._content.titles_by_id([other for others in linked.values() for other in others])
            texts = [text for thread in threads for text in (thread.question.title, thread.question.body)]
            texts += [answer.body for thread in threads for answer in thread.answers]
            texts += [comment.body for thread in threads for comment in thread.comments]
            tokens = self._formulas.of_texts([*texts, *titles.values()])
            for thread in threads:
                others = [titles[other] for other in linked[thread.question.id] if other in titles]
                yield from _documents(thread, others, tokens)


def _documents(thread: Thread, linked: Sequence[Text], formulas: Tokens) -> Iterator[TokenDocument]:
    """Yield a document for each answer of a thread. `linked` are the titles of linked questions."""
    question, comments = thread.question, defaultdict[int, list[str]](list)  # tokens of comments by post
    for comment in thread.comments:
        comments[comment.post_id] += _comment_tokens(comment, formulas)
    segments = (segment for segment in question.title.segments if segment.kind != "tag")
    shared = [token for segment in segments for token in engine_tokens(segment.text)]
    shared += text_tokens(question.title, formulas) + text_tokens(question.body, formulas)
    shared += engine_tokens(" ".join(question.tags)) + comments[question.id]
    for title in linked:
        shared += text_tokens(title, formulas)
    for answer in thread.answers:
        yield TokenDocument(answer.id, shared + text_tokens(answer.body, formulas) + comments[answer.id])


def _comment_tokens(comment: Comment, formulas: Tokens) -> list[str]:
    """Return the tokens of a comment. The original read Markdown, in which the address of a link is text."""
    tokens = text_tokens(comment.body, formulas)
    words = "".join(segment.text for segment in comment.body.segments if segment.kind == "text")
    for segment in comment.body.segments:
        found = _LINK.match(segment.text) if segment.kind == "tag" else None
        if found and found[1] not in words:
            tokens += engine_tokens(found[1])
    return tokens


def text_tokens(text: Text, formulas: Tokens) -> list[str]:
    """Return the tokens of a text, given those of its formulas."""
    tokens: list[str] = []
    for segment in text.segments:
        if segment.kind == "formula":
            tokens += formulas[segment.expression_id]
        elif segment.kind == "text":
            tokens += engine_tokens(segment.text)
    return tokens


class FormulaTokens:
    """Tokens of the formulas of a collection, each distinct expression read once."""

    def __init__(self, content: Content, rules: TupleRules = L8_SEARCH) -> None:
        self._content, self._rules = content, rules
        self.converts = not any(formula.mathml for formula in content.formulas_with_mathml())
        self._kept: dict[int, list[str]] = {}  # by expression id, the last used at the end

    def of_texts(self, texts: Iterable[Text]) -> Tokens:
        """Return the tokens of the formulas of texts by expression id. What is not in memory is read in one request."""
        numbers = list(dict.fromkeys(formula.expression_id for text in texts for formula in text.formulas))
        unread = self._content.expressions_by_id([number for number in numbers if number not in self._kept])
        self._kept |= {number: self.of_formula(one.latex, one.mathml) for number, one in unread.items()}
        found = {number: self._kept.pop(number) for number in numbers}
        self._kept |= found
        for number in list(islice(self._kept, max(len(self._kept) - KEPT, 0))):
            del self._kept[number]
        return found

    def of_formula(self, latex: str, mathml: str | None) -> list[str]:
        """Return the tokens of a formula with its MathML, or without it: its LaTeX converted or as text."""
        if mathml or self.converts:
            tokens = math_tokens(mathml or parse(latex).mathml, self._rules)
            return tokens if all(token.count("#") == 2 for token in tokens) else engine_tokens(" ".join(tokens))
        return engine_tokens(latex)


def formula_documents(content: Content, with_latex: bool) -> Iterator[tuple[TokenDocument, Formula]]:
    """Yield one document per visual id, and the formula that represents it in a run: the first one in a question or
    answer, if that has tokens."""
    tokens = FormulaTokens(content)
    seen: set[int] = set()
    for formula, mathml, _ in content.formulas_with_mathml():
        if formula.kind not in ("question", "answer") or formula.visual_id in seen or not content.is_listed(formula):
            continue
        seen.add(formula.visual_id)
        words = engine_tokens(" ".join(queries.latex_words(formula.latex))) if with_latex else []
        found = [*words, *(tokens.of_formula(formula.latex, mathml) if mathml or tokens.converts else ())]
        if found:
            yield TokenDocument(formula.visual_id, found), formula


K1, B = 1.2, 0.75


@dataclass(frozen=True)
class WeightedBM25:
    """BM25 in which a tuple (a token that begins with a number sign) has weight alpha, and a word 1 - alpha."""

    index: InvertedIndex
    alpha: float

    @cached_property
    def _penalties(self) -> Floats:
        """What each document's length adds to a count."""
        mean = self.index.mean_length or 1.0
        return np.asarray(K1 * (1 - B + B * self.index.lengths / mean), np.float64)

    def weight(self, token: str, count: int) -> float:
        """Return the weight of a query token: its count, its kind and its idf."""
        frequency = int(self.index.frequencies[self.index.codes[token]])
        idf = np.log1p((len(self.index.ids) - frequency + 0.5) / (frequency + 0.5))
        return float(count * (self.alpha if token[:1] == "#" else 1 - self.alpha) * idf)

    def search(self, tokens: Sequence[str], k: int) -> Ranking:
        """Return the k best documents that hold a token of the query; of equal scores the earlier document first."""
        index = self.index
        counts = {token: count for token, count in Counter(tokens).items() if token in index.codes}
        scores = np.zeros(len(index.ids))
        if not counts or not len(scores):
            return Ranking.of({})
        codes = np.array([index.codes[token] for token in counts], np.int64)
        weights = np.array([self.weight(token, count) for token, count in counts.items()])
        found = np.zeros(len(scores), np.bool_)
        add_scores(codes, weights, index.starts, index.documents, index.counts, self._penalties, scores, found)
        return best(index, scores, found, k)

    def explain(self, tokens: Sequence[str], id: int) -> Explanation | None:
        """Return the score of a document token by token, the highest first; None when it holds none of them."""
        places = np.flatnonzero(self.index.ids == id)
        if not len(places):
            return None
        place = int(places[0])
        parts = []
        for token, count in Counter(tokens).items():
            documents, counts = self.index.postings(token)
            at = int(np.searchsorted(documents, place))
            if at < len(documents) and documents[at] == place:
                number = int(counts[at])
                value = self.weight(token, count) * (K1 + 1) * number / (number + self._penalties[place])
                parts.append(Explanation(float(value), f"{token}: {count} in the query, {number} in the document"))
        parts.sort(key=lambda part: -part.value)
        total = sum(part.value for part in parts)
        return Explanation(total, f"BM25 of words and tuples, alpha {self.alpha:g}", tuple(parts)) if parts else None


@compiled
def add_scores(
    codes: Ints, weights: Floats, starts: Ints, documents: Small, counts: Small, penalties: Floats, scores: Floats,
    found: Flags,
) -> None:  # fmt: skip
    """Add the weight of each query token to the scores of its documents."""
    for place in range(len(codes)):
        for at in range(starts[codes[place]], starts[codes[place] + 1]):
            document = documents[at]
            scores[document] += weights[place] * (K1 + 1) * counts[at] / (counts[at] + penalties[document])
            found[document] = True


LISTS_VARIABLE = "PORISM_MATHDOWERS_LISTS"
TEST_DATA_LISTS = "data/fidelity/mathdowers-lists"
CODE = ("porism.systems.mathdowers", "porism.systems.inverted")
_RULES: dict[str, TupleRules] = {"L8": L8_SEARCH, "L1": L1_SEARCH}
_FORMULAS = "formulas.npy"


class _TokenRetriever(Retriever):
    """Ranks documents by the tokens of a query. Subclasses make the tokens."""

    def __init__(self, index: InvertedIndex, alpha: float) -> None:
        self._ranking = WeightedBM25(index, alpha)

    def tokens(self, query: ReadQuery) -> list[str]:
        """Return the tokens of a query."""
        raise NotImplementedError

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the k best documents."""
        return self._ranking.search(self.tokens(query), k)

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Return the score of a document token by token."""
        return self._ranking.explain(self.tokens(query), id) or super().explain(query, id)


class ThreadSearch(_TokenRetriever):
    """Finds answers by the page of their thread."""

    def __init__(self, index: InvertedIndex, alpha: float, rules: TupleRules, lists: WordLists) -> None:
        super().__init__(index, alpha)
        self._rules, self._lists = rules, lists
        self.notes = (f"words of queries were chosen with {lists.source}",)

    def tokens(self, query: ReadQuery) -> list[str]:
        """Return the tuples and stemmed words of a topic."""
        return engine_tokens(" ".join(queries.query_tokens(topic_of(query), self._lists, self._rules)))


class FormulaSearch(_TokenRetriever):
    """Finds visual ids by their tuples and, on request, the words of their LaTeX."""

    finds = "formulas"

    def __init__(self, folder: Path, content: Content, alpha: float, with_latex: bool) -> None:
        index = InvertedIndex.open(folder)
        super().__init__(index, alpha)
        self._content, self._with_latex = content, with_latex
        self._formulas = dict(zip(index.ids.tolist(), np.load(folder / _FORMULAS).tolist(), strict=True))

    def tokens(self, query: ReadQuery) -> list[str]:
        """Return the tokens of the formula that a query is about."""
        formula = query_formula(query)
        return (
            [] if formula is None else engine_tokens(" ".join(queries.formula_query_tokens(formula, self._with_latex)))
        )

    def instances(self, visual_ids: Sequence[int]) -> dict[int, Formula]:
        """Return the formula that was indexed for each visual id."""
        numbers = {visual: self._formulas[visual] for visual in visual_ids if visual in self._formulas}
        formulas = self._content.formulas_by_id(list(numbers.values()))
        return {visual: formulas[number] for visual, number in numbers.items()}


def thread_search(
    context: SystemContext, alpha: float = 0.18, tuples: Literal["L8", "L1"] = "L8", lists: str = ""
) -> Retriever:
    """Make the runs of Task 1: `alpha` weighs math, `tuples` are those of the query, `lists` a folder of word lists."""
    check_share("alpha", alpha)
    index = kept_index(context, "mathdowers-threads", "L8", lambda: ThreadDocuments(context.content), CODE)
    return ThreadSearch(index, alpha, _RULES[tuples], _word_lists(context, lists))


def formula_search(context: SystemContext, alpha: float = 0.18, latex: bool = False) -> Retriever:
    """Make the runs of Task 2. With `latex`, words of the LaTeX count as words, with weight 1 - `alpha`."""
    check_share("alpha", alpha)
    content = context.content

    def build(folder: Path) -> None:
        numbers: list[int] = []
        with context.progress.stage("MathDowers: formulas", content.count("visuals")) as advance:

            def documents() -> Iterator[TokenDocument]:
                for document, formula in formula_documents(content, latex):
                    numbers.append(formula.id)
                    advance(1)
                    yield document

            invert(documents()).save(folder)
        np.save(folder / _FORMULAS, np.array(numbers, np.int64))

    return FormulaSearch(context.cached("mathdowers-formulas", latex, build, CODE), content, alpha, latex)


def _word_lists(context: SystemContext, folder: str) -> WordLists:
    """Read the lists that the option or the environment names, or those beside the test data, by which fidelity is
    measured; without them make lists from the collection."""
    test_data = Path(os.environ.get("PORISM_SHARED", "../shared")) / TEST_DATA_LISTS
    named = folder or os.environ.get(LISTS_VARIABLE, "") or (str(test_data) if test_data.is_dir() else "")
    if not named:
        return queries.collection_lists(context)
    if not Path(named).is_dir():
        fix = f"name the folder of the lists; published at {queries.PUBLISHED}"
        raise PorismError("the folder of word lists does not exist", where=named, fix=fix)
    return queries.read_lists(Path(named))
