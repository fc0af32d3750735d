"""Conformance of an index: does an implementation of `TermIndex`, `DocumentStore` and `FormulaStore` do what the protocols promise?

    from porism.store.conformance import check_formulas, check_index
    check_index(my_terms, my_documents, [Term("words", "prime"), Term("tag", "number-theory")])
    check_formulas(my_formulas)

Each check raises AssertionError with the fact that is wrong. The embedded index and the index in memory pass them in the project's tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from porism.analysis.features import features
from porism.analysis.schema import ANSWER, EVERY_FIELD, FIELDS, THREAD, TITLE, View
from porism.formula.binary import unpack
from porism.store.embedded.formulas.store import WHOLE as FORMULA
from porism.store.embedded.storage.rows import FIELD_SHIFT, MOST_COUNT
from porism.store.protocols import UNKNOWN, Candidates, DocumentStore, Filter, FormulaStore, Term, TermIndex
from porism.store.weighting import BM25, BM25Plus, QueryLikelihood, TermCounts, TfIdf, Weighting

Ints = npt.NDArray[np.int64]
WEIGHTINGS: tuple[Weighting, ...] = (
    BM25(),
    BM25(k1=2.0, b=0.3),
    BM25Plus(),
    TfIdf(),
    TfIdf(tf="robertson", idf="terrier"),
)
VIEWS = (THREAD, TITLE, EVERY_FIELD)
FORMULAS_CHECKED = 50
ABSENT = Term("words", "\uffffabsent")


def check_index(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """Run every check with these terms, at least two of which should occur in the index."""
    for check in CHECKS:
        check(terms, documents, sample)


def check_formulas(store: FormulaStore) -> None:
    """Run every check of a formula store with some formulas."""
    for check in FORMULA_CHECKS:
        check(store)


def statistics_agree_with_single_calls(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """Statistics of many terms in one call are those of single calls; an absent term has none."""
    for view in (*VIEWS, ANSWER):
        together = terms.statistics([*sample, ABSENT], view)
        assert together.codes[-1] == UNKNOWN, "an absent term must have the code UNKNOWN"
        assert together.documents[-1] == 0, "an absent term must have document frequency 0"
        for at, term in enumerate(sample):
            alone = terms.statistics([term], view)
            assert alone.documents[0] == together.documents[at], f"{term}: frequency differs in a batch"
            assert alone.codes[0] == together.codes[at], f"{term}: code differs in a batch"


def frequencies_count_documents(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """A document frequency is the number of threads whose rows contain the term."""
    for term in sample:
        found = terms.statistics([term], THREAD)
        counts = _counts(documents, term, int(found.codes[0]), THREAD)
        assert np.count_nonzero(counts) == found.documents[0], f"{term}: frequency is not the number of threads with it"


def lengths_sum_to_totals(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """Documents and lengths of a view are those of the stored rows."""
    rows = np.arange(documents.size("thread"))
    for family in {term.family for term in sample}:
        for view in VIEWS:
            batch = documents.fetch(rows, (family,))
            total = float((batch.terms[family].lengths @ np.array(view.vector(FIELDS))).sum())
            counted = terms.count(family, view)
            assert counted.documents == len(rows), "a view of threads must have as many documents as there are threads"
            assert abs(counted.length - total) <= 1e-6 * max(1.0, total), f"{family}: the sum of lengths differs"


def scores_are_exact(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """Scores are the sums of the weighting over raw counts, exact lengths and exact statistics."""
    for view in VIEWS:
        for weighting in WEIGHTINGS:
            expected = _expected(terms, documents, sample, view, weighting)
            found = terms.search(sample, view, weighting, documents.size("thread"))
            assert set(found.rows.tolist()) == set(expected), f"{weighting} in {view}: not the documents with a term"
            for row, score in zip(found.rows.tolist(), found.scores.tolist(), strict=True):
                assert abs(score - expected[row]) <= 1e-6 * max(1.0, abs(score)), (
                    f"{weighting}: wrong score of row {row}"
                )


def results_are_ordered(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """Hits are the best k, in falling order, equal scores by row; the same call gives the same hits."""
    every = terms.search(sample, THREAD, BM25(), documents.size("thread"))
    assert _is_ordered(every), "hits must be in falling order of scores, equal ones by row"
    for k in (0, 1, 2, 10):
        some = terms.search(sample, THREAD, BM25(), k)
        assert some.rows.tolist() == every.rows[:k].tolist(), f"the best {k} are not the first {k} of all"
        again = terms.search(sample, THREAD, BM25(), k)
        assert again.rows.tolist() == some.rows.tolist(), "the same search gave other hits"
    assert not len(terms.search([], THREAD, BM25(), 10).rows), "no terms must give no hits"
    assert not len(terms.search([ABSENT], THREAD, QueryLikelihood(), 10).rows), "an absent term must give no hits"


def required_terms_are_required(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """With required terms the hits are those of the search that contain all of them, with the same scores."""
    every = terms.search(sample, THREAD, BM25(), documents.size("thread"))
    for term in (*sample, ABSENT):
        code = int(terms.statistics([term], THREAD).codes[0])
        having = np.flatnonzero(_counts(documents, term, code, THREAD))
        kept = np.isin(every.rows, having)
        found = terms.search(sample, THREAD, BM25(), documents.size("thread"), required=[term])
        assert found.rows.tolist() == every.rows[kept].tolist(), f"{term} was required; other hits came"


def filters_are_applied_before_the_best(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """A filtered search returns the best k of the allowed documents, not the allowed ones of the best k."""
    every = terms.search(sample, THREAD, BM25(), documents.size("thread"))
    batch = documents.fetch(every.rows, ())
    answers, thread_of = batch.answers()
    for allow in (Filter(accepted=True), Filter(years=(1, 9999)), Filter(kind="question", accepted=True)):
        posts, owner = (answers, thread_of) if allow.kind == "answer" else (batch.starts, np.arange(len(batch.rows)))
        allowed = np.zeros(len(every.rows), np.bool_)
        allowed[owner[allow.passes(batch.years[posts], batch.accepted[posts])]] = True
        found = terms.search(sample, THREAD, BM25(), 3, allow=allow)
        assert found.rows.tolist() == every.rows[allowed][:3].tolist(), f"{allow}: wrong hits"


def batches_keep_their_order(terms: TermIndex, documents: DocumentStore, sample: Sequence[Term]) -> None:
    """Threads come in the order requested, each with its question first, and can be found again by the ids of their posts."""
    rows = np.arange(documents.size("thread"))[::-1][:20].copy()
    batch = documents.fetch(rows, ("words",))
    assert batch.rows.tolist() == rows.tolist(), "threads must come in the order requested"
    found = documents.locate(batch.post_ids)
    sizes = batch.ends - batch.starts
    assert found.threads.tolist() == np.repeat(rows, sizes).tolist(), "a post is located in another thread"
    assert not found.positions[batch.starts].any(), "the first post of a thread must be its question"
    missing = documents.locate(np.array([-5], np.int64))
    assert missing.threads.tolist() == [UNKNOWN], "an unknown post must be located nowhere"
    stored = documents.posts(batch.post_ids[:3].tolist())
    assert [one.post.id for one in stored] == batch.post_ids[:3].tolist(), "posts must come in the order requested"


CHECKS: tuple[Callable[[TermIndex, DocumentStore, Sequence[Term]], None], ...] = (
    statistics_agree_with_single_calls,
    frequencies_count_documents,
    lengths_sum_to_totals,
    scores_are_exact,
    results_are_ordered,
    required_terms_are_required,
    filters_are_applied_before_the_best,
    batches_keep_their_order,
)


def formulas_are_found_by_visual_id(store: FormulaStore) -> None:
    """Rows and visual ids correspond, ascending; an unknown visual id has no row."""
    rows = np.arange(store.formulas)
    visual_ids = store.visual_ids(rows)
    assert (np.diff(visual_ids) > 0).all(), "rows must be in the order of visual ids"
    assert store.rows(visual_ids).tolist() == rows.tolist(), "a visual id leads to another row"
    assert store.rows(np.array([-5], np.int64)).tolist() == [UNKNOWN], "an unknown visual id must have no row"


def formula_batches_are_those_of_the_trees(store: FormulaStore) -> None:
    """A batch has the symbols and paths of the stored trees, in the order requested."""
    rows = np.arange(store.formulas)[::-1][:FORMULAS_CHECKED].copy()
    batch = store.fetch(rows)
    assert batch.rows.tolist() == rows.tolist(), "formulas must come in the order requested"
    names = {number: label for label, number in store.labels.items()}
    for at, packed in enumerate(store.trees(rows.tolist())):
        found = features(*unpack(packed))
        for sequences, tree in ((batch.layout, found.layout.labels), (batch.operators, found.operators.labels)):
            stored = sequences.labels[sequences.starts[at] : sequences.ends[at]].tolist()
            assert [names[label] for label in stored] == tree, f"row {rows[at]}: other symbols than its tree has"
        keys = batch.paths.keys[batch.paths.starts[at] : batch.paths.ends[at]].tolist()
        assert keys == found.tree_paths.keys.tolist(), f"row {rows[at]}: other paths than its tree has"
        assert batch.paths.leaves[at] == found.tree_paths.leaves, f"row {rows[at]}: wrong number of leaves"


def formulas_are_found_by_their_terms(store: FormulaStore) -> None:
    """A search for the tuples of a formula returns it, and counts every formula as a document."""
    assert store.terms.count("tuples", FORMULA).documents == store.formulas, "every formula must be a document"
    for row, packed in enumerate(store.trees(range(min(store.formulas, FORMULAS_CHECKED)))):
        terms = [Term("tuples", text) for text in features(*unpack(packed)).tuples]
        if terms:
            hits = store.terms.search(terms, FORMULA, BM25(), store.formulas, required=terms).rows.tolist()
            assert row in hits, f"row {row} is not found by its own tuples"


def rare_labels_weigh_more(store: FormulaStore) -> None:
    """Each label has a weight in both trees, none above that of an unseen label."""
    for weights in (store.layout_weights, store.operator_weights):
        assert len(weights) == len(store.labels), "each label must have a weight"
        assert (weights <= store.unseen_label_weight + 1e-9).all(), "no label may weigh more than an unseen one"


FORMULA_CHECKS: tuple[Callable[[FormulaStore], None], ...] = (
    formulas_are_found_by_visual_id,
    formula_batches_are_those_of_the_trees,
    formulas_are_found_by_their_terms,
    rare_labels_weigh_more,
)


def _is_ordered(found: Candidates) -> bool:
    keys = list(zip((-found.scores).tolist(), found.rows.tolist(), strict=True))
    return keys == sorted(keys)


def _counts(documents: DocumentStore, term: Term, code: int, view: View) -> npt.NDArray[np.float64]:
    """Return the weighted count of a term in every thread, from the stored rows."""
    batch = documents.fetch(np.arange(documents.size("thread")), (term.family,))
    rows, weights = batch.terms[term.family], np.array(view.vector(FIELDS))
    counts = np.zeros(len(batch.rows))
    for thread, (start, end) in enumerate(zip(batch.starts.tolist(), batch.ends.tolist(), strict=True)):
        for post in range(start, end):
            entries = slice(int(rows.starts[post]), int(rows.ends[post]))
            cells = rows.cells[entries][rows.codes[entries] == code]
            counts[thread] += float((weights[cells >> FIELD_SHIFT] * (cells & MOST_COUNT)).sum())
    return counts


def _expected(
    terms: TermIndex, documents: DocumentStore, sample: Sequence[Term], view: View, weighting: Weighting
) -> dict[int, float]:
    """Return the score of every thread with one of the terms, by the definition."""
    scores: dict[int, float] = {}
    batch = documents.fetch(np.arange(documents.size("thread")), {term.family for term in sample})
    for term in sample:
        code = int(terms.statistics([term], view).codes[0])
        if code == UNKNOWN:
            continue
        counts = _counts(documents, term, code, view)
        rows = np.flatnonzero(counts)
        own = batch.terms[term.family].lengths @ np.array(view.vector(FIELDS))
        lengths = np.array([own[batch.starts[row] : batch.ends[row]].sum() for row in rows.tolist()])
        about = TermCounts(len(rows), float(counts.sum()), term.weight)
        values = weighting.weigh(counts[rows], lengths, about, terms.count(term.family, view))
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            scores[row] = scores.get(row, 0.0) + value
    return scores
