"""Formula search: candidates from the posting lists, re-ranked by features that compare their trees with the query; and
explanations of hits: which symbols match, under which names, and what each feature adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.features import FlatLayout, flat_layout
from porism.analysis.paths import NUMBER, VARIABLE, symbol_kind
from porism.deadline import shared
from porism.errors import PorismError
from porism.formula import Parsed, parse, parse_mathml
from porism.formula.binary import unpack
from porism.formula.canonical.forms import LEVELS, Level
from porism.formula.match.matcher import match
from porism.formula.mathml.presentation import to_presentation
from porism.formula.plaintext import readable
from porism.formula.tree import Node
from porism.records import Binding, Explanation
from porism.search.formulas.alignment import LabelTable, SymbolPair, matched_pairs
from porism.search.formulas.features import (
    FEATURES,
    NO_LEVEL,
    OCCURRENCE,
    WEIGHTS,
    CandidateSearch,
    FormulaBatch,
    FormulaContext,
    FoundFormulas,
    Scores,
    batch_of,
    compute_features,
    count_terms,
    make_batches,
)
from porism.search.formulas.query import (
    FormulaQuery,
    QueryOccurrence,
    analyse_query,
    layout_symbols,
    match_trees,
    same_formulas,
)
from porism.search.query import QueryFormula, ReadQuery, check_choice
from porism.search.retriever import Ranking, Retriever
from porism.store.protocols import Snapshot, SymbolTable
from porism.store.records import SymbolSequences, Term, TermStatistics
from porism.text.words import FORMULA

LEVEL_REASONS: dict[Level, str] = {
    "written": "the query occurs as written",
    "normalised": "the query occurs in another notation",
    "commutative": "the query occurs with its operands in another order",
    "renamed": "the query occurs with other variable names",
}
MAX_VALUE_LENGTH = 60  # characters of the value of a binding


class NodePair(NamedTuple):
    """MathML elements of the query, and those of the formula that match them."""

    query: tuple[int, ...]
    item: tuple[int, ...]


def explain_hit(
    context: FormulaContext, table: SymbolTable, trees: bytes, contributions: Sequence[float]
) -> Explanation:
    """Explain the score of a formula, given its packed trees, from the contributions of the FEATURES."""
    query = context.query
    layout, operators = unpack(trees)
    found = match(query.parsed.operators, operators)
    if found is not None:
        nodes = [NodePair(pair.pattern_places, pair.target_places) for pair in found.pairs]
        bindings = readable_bindings(found.bindings)
        reason = LEVEL_REASONS[found.level]
    else:
        symbols, item_symbols = query.features.layout, flat_layout(layout)
        pairs = matched_pairs(query.layout, layout_symbols(item_symbols, table))
        nodes = [NodePair(symbols.nodes[a].places, item_symbols.nodes[b].places) for a, b in pairs]
        bindings = renamed_variables(symbols, item_symbols, pairs)
        reason = f"{len(pairs)} of {len(symbols.labels)} symbols match in order"
    query_nodes, item_nodes = _same_length(nodes)
    parts = tuple(
        Explanation(value, feature.explain(context, layout))
        for feature, value in zip(FEATURES, contributions, strict=True)
        if value
    )
    return Explanation(sum(contributions), reason, parts, query_nodes, item_nodes, tuple(bindings))


def readable_bindings(bindings: Iterable[tuple[str, Node]]) -> list[Binding]:
    """Return the value of each variable and wildcard of the query as a reader would write it: `x`, or `(x + 1)/y²`."""
    return [Binding(_name(label), _readable(node)) for label, node in bindings]


def _readable(node: Node) -> str:
    if node.label[:2] in ("V!", "N!") and not node.children:
        return _name(node.label)
    text = readable(parse_mathml(to_presentation(node)).layout)
    return text if len(text) <= MAX_VALUE_LENGTH else text[: MAX_VALUE_LENGTH - 1] + "…"


def _name(label: str) -> str:
    return label[2:] if label[1:2] == "!" else label


def _same_length(pairs: Iterable[NodePair]) -> NodePair:
    """Join pairs; where one side has fewer elements, repeat its last, so that both sides have the same length."""
    query: list[int] = []
    item: list[int] = []
    for a, b in pairs:
        if a and b:
            longer = max(len(a), len(b))
            query += [*a, *[a[-1]] * (longer - len(a))]
            item += [*b, *[b[-1]] * (longer - len(b))]
    return NodePair(tuple(query), tuple(item))


def renamed_variables(query: FlatLayout, item: FlatLayout, pairs: Iterable[SymbolPair]) -> list[Binding]:
    """Return the variables that an alignment renames, each with the name it is paired with most often."""
    partners: dict[str, Counter[str]] = {}
    for pair in pairs:
        name = query.labels[pair.query]
        if symbol_kind(name) == VARIABLE:
            partners.setdefault(name, Counter())[item.labels[pair.item]] += 1
    chosen = [(name, counts.most_common(1)[0][0]) for name, counts in partners.items()]
    return [Binding(_name(name), _name(other)) for name, other in chosen if name != other]


def ranks_within_shape(ordered: Sequence[int], operators: SymbolSequences, table: LabelTable) -> list[int]:
    """For each candidate, in the order given, count the candidates of the same shape before it."""
    seen: Counter[tuple[int, ...]] = Counter()
    ranks: list[int] = []
    for candidate in ordered:
        labels = operators.labels[operators.starts[candidate] : operators.ends[candidate]]
        variables: dict[int, int] = {}  # by the order of their first occurrence; all numbers are the same
        shape = tuple(
            -2 - variables.setdefault(label, len(variables)) if kind == VARIABLE else -1 if kind == NUMBER else label
            for label, kind in zip(labels.tolist(), table.kinds[labels].tolist(), strict=True)
        )
        ranks.append(seen[shape])
        seen[shape] += 1
    return ranks


Mode = Literal["similar", "exact", "subformula", "diverse"]
MODES: tuple[Mode, ...] = ("similar", "exact", "subformula", "diverse")
DEPTH = 1000  # candidates by tuples, even when fewer hits are requested
THREADS = 2
# Pairs of symbols and of paths that are compared between two checks of the time limit: about 20 ms.
BLOCK_PAIRS = 4_000_000
WHOLE_BONUS = 1.5  # in levels, for a formula to which a query with wildcards binds as a whole


class FormulaHit(NamedTuple):
    """A distinct formula: its visual id, its score, and what each of the FEATURES contributes to it."""

    visual_id: int
    score: float
    contributions: tuple[float, ...] = ()


_make_hit = partial(tuple.__new__, FormulaHit)


class FormulaPage(NamedTuple):
    """A page of hits, how many there are, how many candidates there was no time to match, and the hits' LaTeX."""

    hits: list[FormulaHit]
    total: int
    unmatched: int = 0
    latex: Callable[[], list[str]] = list


class ScoredCandidates(NamedTuple):
    """Candidates with the contribution of each feature to their scores (one column each).

    `unmatched` candidates were not matched for lack of time, and are ranked by similarity alone."""

    batch: FormulaBatch
    contributions: Scores
    unmatched: int = 0

    def order(self) -> npt.NDArray[np.int64]:
        """Return the positions of the candidates, best first; equal scores by visual id."""
        return np.argsort(-self.contributions.sum(axis=1), kind="stable")

    def keep(self, mask: npt.NDArray[np.bool_]) -> ScoredCandidates:
        """Return the candidates for which the mask is true."""
        return ScoredCandidates(self.batch.select(mask), self.contributions[mask], self.unmatched)


class ScoredFormulas(NamedTuple):
    """Distinct formulas, best first, and how posts use them. `unmatched` ones were not matched for lack of time."""

    visual_ids: npt.NDArray[np.int64]
    scores: Scores
    usage: TermStatistics
    unmatched: int = 0


class FormulaSearcher:
    """Searches an open formula index. Several threads may use it at once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.symbols = symbols = snapshot.learned.symbols
        self.size = snapshot.info.count("formula")
        kinds = np.array([symbol_kind(label) for label in symbols.labels], np.uint8)
        self._layout_labels = LabelTable(kinds, symbols.layout_weights.astype(np.float32))
        self._operator_labels = LabelTable(kinds, symbols.operator_weights.astype(np.float32))
        self._executor = ThreadPoolExecutor(THREADS)

    def documents(self, parts: Sequence[str]) -> list[int]:
        """Return how many formulas have each sub-expression."""
        statistics = self._snapshot.statistics([Term("parts", text) for text in parts], "formula")
        found: list[int] = statistics.documents.tolist()
        return found

    def search(self, formula: str | Parsed, k: int = 1000, mode: Mode = "similar") -> list[FormulaHit]:
        """Return the k best formulas, equal scores by id. The query is a parsed formula, or any string of LaTeX.

        `exact`: the same formula up to notation and order of operands; `subformula`: formulas that contain the query,
        the strictest level first; `diverse`: as `similar`, but formulas that differ only by names and numbers are
        spread over the ranking. Wildcards are bound in all modes."""
        return self.page(formula, 0, k, mode).hits

    def page(self, formula: str | Parsed, offset: int, k: int, mode: Mode = "similar") -> FormulaPage:
        """Return k hits of `search` from `offset` on, and the number of all hits: DEPTH at most, unless more are
        requested."""
        mode = check_choice(mode, "formula search", "mode", MODES)
        if not self.size:
            return FormulaPage([], 0)
        depth = min(max(offset + k, DEPTH), self.size)  # the posting lists allocate memory for `depth` hits
        scored = self.score(self.analyse(formula), depth, mode)
        order = scored.order()
        if mode == "diverse":
            ranks = ranks_within_shape(order.tolist(), scored.batch.operators, self._operator_labels)
            order = order[np.argsort(ranks, kind="stable")]
            hits = _non_increasing(_hits(scored, order[: offset + k]))[offset:]
        else:
            hits = _hits(scored, order[offset : offset + k])
        shown = scored.batch.numbers[order[offset : offset + k]]
        return FormulaPage(hits, min(depth, len(order)), scored.unmatched, partial(scored.batch.records.latex, shown))

    def most_similar(self, formulas: Sequence[Parsed], k: int) -> list[ScoredFormulas]:
        """Return the k formulas most similar to each of several; fewer candidates are examined than in `search`."""
        if not self.size or not formulas:
            nothing = TermStatistics(np.empty(0, np.int64), np.empty(0, np.int64))
            return [ScoredFormulas(np.empty(0, np.int64), np.empty(0), nothing)] * len(formulas)
        results = []
        for scored in self._score_all([self.analyse(one) for one in formulas], min(k, self.size)):
            order, batch = scored.order()[:k], scored.batch
            scores, usage = scored.contributions[order].sum(axis=1), batch.records.usage(batch.numbers[order])
            results.append(ScoredFormulas(batch.visual_ids[order], scores, usage, scored.unmatched))
        return results

    def batch(self, numbers: npt.NDArray[np.int64]) -> FormulaBatch:
        """Return some formulas as candidates that no search has scored."""
        found = self._snapshot.formulas(numbers)
        return batch_of(found, np.zeros(len(numbers)), np.full(len(numbers), NO_LEVEL, np.int8))

    def analyse(self, formula: str | Parsed) -> FormulaContext:
        """Analyse a query: a parsed formula, or LaTeX, which may be any string."""
        return FormulaContext(analyse_query(formula, self.symbols), self._layout_labels, self._operator_labels)

    def score(self, context: FormulaContext, depth: int, mode: Mode = "similar") -> ScoredCandidates:
        """Find candidates, `depth` of them by tuples, and compute what each feature contributes to their scores."""
        return self._score_all([context], depth, mode)[0]

    def _score_all(
        self, contexts: Sequence[FormulaContext], depth: int, mode: Mode = "similar"
    ) -> list[ScoredCandidates]:
        """Score the candidates of several queries, which are counted, searched and read together."""
        snapshot, queries = self._snapshot, [context.query for context in contexts]
        counted = zip(queries, count_terms(queries, snapshot), strict=True)
        plans = [
            CandidateSearch(query, counts, snapshot.info, depth, mode == "subformula") for query, counts in counted
        ]
        hits = iter(snapshot.search([search for plan in plans for search in plan.searches]))
        found = [plan.found([next(hits) for _ in plan.searches]) for plan in plans]
        batches = make_batches(found, snapshot.formulas(np.concatenate([own.numbers for own in found])))
        return [self._score(*one, mode) for one in zip(contexts, found, batches, strict=True)]

    def _score(
        self, context: FormulaContext, found: FoundFormulas, batch: FormulaBatch, mode: Mode
    ) -> ScoredCandidates:
        query = context.query
        parts, compute = batch.split(_blocks(query, batch)), partial(compute_features, context)
        # The threads are for queries of usual size; a large one would keep others waiting.
        features = shared(self._executor, compute, parts) if len(parts) <= THREADS else list(map(compute, parts))
        scored = ScoredCandidates(batch, np.concatenate(features) * WEIGHTS)
        if mode == "exact" and not query.has_wildcards:
            return scored.keep(same_formulas(query, batch))
        if mode == "subformula" or query.has_wildcards:
            return self._rank_by_level(query, scored, found, mode)
        return scored

    def _rank_by_level(
        self, query: FormulaQuery, scored: ScoredCandidates, found: FoundFormulas, mode: Mode
    ) -> ScoredCandidates:
        """Raise candidates with the query by their level; drop the others, unless similar ones are wanted."""
        numbers = scored.batch.numbers
        ordered = dict.fromkeys((*found.possible, *numbers[scored.order()].tolist()))
        unknown = [one for one in ordered if one not in found.containing]
        matched = match_trees(query, self.symbols.labels, scored.batch, unknown)
        occurs = matched.found | {number: QueryOccurrence(level, False) for number, level in found.containing.items()}
        scored = scored._replace(unmatched=matched.unmatched)
        for at, number in enumerate(numbers.tolist()):
            if number in occurs:
                bonus = WHOLE_BONUS if query.has_wildcards and occurs[number].whole else 0.0
                scored.contributions[at, OCCURRENCE] = len(LEVELS) - LEVELS.index(occurs[number].level) + bonus
        return scored if mode in ("similar", "diverse") else scored.keep(scored.contributions[:, OCCURRENCE] > 0)

    def explain(self, formula: str | Parsed, visual_id: int, mode: Mode = "similar") -> Explanation:
        """Explain the score of a formula by parts that sum to it, with the matched MathML elements and renamings."""
        context = self.analyse(formula)
        scored = self.score(context, DEPTH, mode)
        at = np.flatnonzero(scored.batch.visual_ids == visual_id)
        if not len(at):
            fact = f"formula {visual_id} is not a result of this query"
            raise PorismError(fact, fix="list the results with `porism formulas`")
        trees = scored.batch.records.trees(scored.batch.numbers[at])[0]
        return explain_hit(context, self.symbols, trees, scored.contributions[at[0]].tolist())


def _hits(scored: ScoredCandidates, order: npt.NDArray[np.int64]) -> list[FormulaHit]:
    contributions = scored.contributions[order]
    rows = zip(*contributions.T.tolist(), strict=True)
    made = zip(scored.batch.visual_ids[order].tolist(), contributions.sum(axis=1).tolist(), rows, strict=True)
    return list(map(_make_hit, made))  # a thousand hits: `FormulaHit(...)` takes three times as long


def _blocks(query: FormulaQuery, batch: FormulaBatch) -> int:
    """Return into how many blocks to split the candidates, so that the time limit is checked often enough."""
    symbols = int((batch.layout.ends - batch.layout.starts).sum() + batch.operator_sizes.sum())
    paths = int((batch.paths.ends - batch.paths.starts).sum())
    pairs = len(query.layout.labels) * symbols + len(query.path_groups.nodes) * paths
    return max(THREADS, min(len(batch.numbers), pairs // BLOCK_PAIRS))


def _non_increasing(hits: list[FormulaHit]) -> list[FormulaHit]:
    """Lower scores where necessary, so that sorting by score keeps this order."""
    lowest = np.minimum.accumulate([hit.score for hit in hits]) if hits else ()
    return [FormulaHit(hit.visual_id, float(score), hit.contributions) for hit, score in zip(hits, lowest, strict=True)]


class FormulaRetriever(Retriever):
    """Finds distinct formulas, by visual id, for the first formula of a query."""

    finds = "formulas"

    def __init__(self, searcher: FormulaSearcher, mode: Mode = "similar") -> None:
        self._searcher = searcher
        self._mode: Mode = mode

    def __repr__(self) -> str:
        return f"FormulaRetriever(mode={self._mode!r})"

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the best k formulas; none for a query without a formula."""
        if not query.formulas or k < 1:
            return Ranking.of({})
        hits = self._searcher.search(query.formulas[0].parsed, k, self._mode)
        return Ranking(np.array([hit.visual_id for hit in hits], np.int64), np.array([hit.score for hit in hits]))


def formula_query(latex: str) -> ReadQuery:
    """Return the query that consists of one formula, which may be any string."""
    return ReadQuery(FORMULA, "", (), (QueryFormula(parse(latex, wildcards=True)),))
