"""Checks of searches: statistics, scores by their definition, order, filters, required terms, texts of posts, and what
a store may declare besides the required core. What it does not declare it refuses in one sentence."""

from __future__ import annotations

import numpy as np

from porism.analysis.features import features
from porism.analysis.schema import ANSWER, EVERY_FIELD, FAMILIES, FORMULA, THREAD, TITLE, Unit, View
from porism.corpus.sources.raw import RawPost
from porism.errors import PorismError
from porism.formula.binary import unpack
from porism.store.conformance.subject import (
    ALL_IDS,
    ANSWERS,
    QUESTIONS,
    TOLERANCE,
    ExpectedDocuments,
    Subject,
    assert_scores,
)
from porism.store.records import (
    OPTIONS,
    UNKNOWN,
    Filter,
    Hits,
    Option,
    Search,
    Term,
    TermQuery,
    TextQuery,
    Values,
    VectorQuery,
)
from porism.store.weighting import BM25, BM25Plus, QueryLikelihood, TfIdf, Weighting

TERMS = (
    Term("words", "triangl", 2.0),
    Term("words", "prime"),
    Term("words", "proof", 0.5),
    Term("pairs", "right_triangl"),
    Term("tag", "geometry", 0.5),
)
ABSENT = Term("words", "\uffffabsent")
VIEWS: tuple[View, ...] = (THREAD, TITLE, EVERY_FIELD)
PRESENCE = BM25(k1=0.0)
MANY = 1000
FILTERS = (
    Filter(tags=("geometry",)),
    Filter("question", tags=("geometry",)),
    Filter("question", tags=("geometry", "triangles")),
    Filter(tags=("no-such-tag",)),
    Filter(years=(2012, 2014)),
    Filter("question", years=(2012, 2014)),
    Filter("question", years=(0, 0)),
    Filter(accepted=True),
    Filter("question", accepted=True),
    Filter("answer", tags=("geometry",), years=(2012, 2013), accepted=True),
)
WEIGHTINGS: tuple[Weighting, ...] = (
    BM25Plus(),
    TfIdf(),
    TfIdf(tf="robertson", idf="terrier"),
    QueryLikelihood(),
    QueryLikelihood("dirichlet", 20.0),
    QueryLikelihood("jelinek-mercer", 0.3),
)
QUESTION = View.of("question", {"title": 2.0, "question": 1.0, "tags": 1.0})


def statistics_of_a_batch_are_the_single_ones(subject: Subject) -> None:
    """Statistics of many terms in one call are those of single calls; an absent term has none."""
    tuples = [Term("tuples", text) for text in _tuples(subject)[:3]]
    cases: tuple[tuple[list[Term], Unit], ...] = (([*TERMS, ABSENT], "thread"), (tuples, "formula"))
    for terms, unit in cases:
        together = subject.snapshot.statistics(terms, unit)
        for at, term in enumerate(terms):
            alone = subject.snapshot.statistics([term], unit)
            assert alone.documents[0] == together.documents[at], f"{term}: another frequency in a batch"
            assert alone.keys[0] == together.keys[at], f"{term}: another key in a batch"
            assert term is ABSENT or alone.documents[0] > 0, f"{term} is in no {unit}"
    absent = subject.snapshot.statistics([ABSENT])
    assert absent.keys.tolist() == [UNKNOWN], "an absent term must have the key UNKNOWN"
    assert absent.documents.tolist() == [0], "an absent term must have the frequency 0"
    assert not len(subject.snapshot.statistics([]).keys), "no terms must have no statistics"


def frequencies_count_threads(subject: Subject) -> None:
    """The frequency of a term is the number of threads that contain it."""
    for term in TERMS:
        owners = {
            post.thread
            for post in subject.expected.values()
            if any(text == term.text for _, text in post.counts[term.family])
        }
        found = int(subject.snapshot.statistics([term]).documents[0])
        assert found == len(owners), f"{term}: its frequency is {found}, but {len(owners)} threads contain it"


def lengths_are_those_of_the_records(subject: Subject) -> None:
    """A view of threads has as many documents as there are threads, and their lengths as sum."""
    info = subject.snapshot.info
    assert info.count("thread") == info.count("question") == len(QUESTIONS), "threads or questions are counted wrongly"
    assert info.count("answer") == len(ANSWERS), "answers are counted wrongly"
    for family in FAMILIES:
        documents = ExpectedDocuments(subject, "thread", [family])
        for view in VIEWS:
            total, counted = float(documents.lengths(family, view).sum()), info.lengths(family, view)
            assert counted.documents == len(QUESTIONS), f"{family}: a view of threads must count all threads"
            assert abs(counted.length - total) <= 1e-6 * max(1.0, total), f"{family}: the sum of lengths differs"


def bm25_scores_are_exact(subject: Subject) -> None:
    """Scores of BM25 are those that the records give, in every view."""
    documents = ExpectedDocuments(subject, "thread", ("words", "pairs", "tag"))
    for view in VIEWS:
        for weighting in (BM25(), BM25(k1=2.0, b=0.3), BM25(k1=0.9, b=0.0)):
            found = subject.snapshot.search([TermQuery([*TERMS, ABSENT], view, MANY, weighting)])[0]
            assert_scores(found, documents.scores(TERMS, view, weighting), f"{weighting} in {view}")


def presence_counts_a_term_once(subject: Subject) -> None:
    """With BM25(k1=0) a term adds its weight times its rarity, however often it occurs."""
    documents = ExpectedDocuments(subject, "thread", ("words", "pairs", "tag"))
    found = subject.snapshot.search([TermQuery(TERMS, THREAD, MANY, PRESENCE)])[0]
    assert_scores(found, documents.scores(TERMS, THREAD, PRESENCE), "search by presence")


def a_repeated_term_counts_by_the_sum_of_its_weights(subject: Subject) -> None:
    """A term that a query has twice counts like one with the sum of the weights."""
    twice = [Term("words", "prime", 0.5), Term("words", "prime", 1.5)]
    one, other = subject.snapshot.search(
        [TermQuery(twice, THREAD, 9), TermQuery([Term("words", "prime", 2.0)], THREAD, 9)]
    )
    assert one.numbers.tolist() == other.numbers.tolist(), "a repeated term finds other threads"
    assert np.allclose(one.scores, other.scores), "a repeated term must count by the sum of its weights"


def the_best_come_first(subject: Subject) -> None:
    """A search for k documents returns the first k of all, and the same call the same hits."""
    every = _search(subject, MANY)
    assert (np.diff(every.scores) <= TOLERANCE).all(), "the scores of a search of threads do not fall"
    for k in (0, 1, 2, 4):
        some = _search(subject, k)
        assert some.numbers.tolist() == every.numbers[:k].tolist(), f"the best {k} are not the first {k} of all"
        assert some.numbers.tolist() == _search(subject, k).numbers.tolist(), "the same search gave other hits"
    nothing = subject.snapshot.search([TermQuery([], THREAD, 10), TermQuery([ABSENT], THREAD, 10)])
    assert [len(one.numbers) for one in nothing] == [0, 0], "no terms, and an absent term, must give no hits"


def equal_scores_are_in_the_order_of_ids(subject: Subject) -> None:
    """Threads with the same score come in the order of their questions' ids, also where only one is kept."""
    first, second = subject.snapshot.locate(np.array([21, 31])).threads.tolist()
    query = TermQuery([Term("tag", "number-theory")], View.of("thread", {"tags": 1.0}), MANY, PRESENCE)
    hits = subject.snapshot.search([query])[0].numbers.tolist()
    assert hits[:2] == [first, second], "threads with equal scores must come in the order of ids"
    best = subject.snapshot.search([TermQuery(query.terms, query.view, 1, PRESENCE)])[0].numbers.tolist()
    assert best == [first], "of equal scores the lowest id must be kept"


def searches_of_a_batch_are_the_single_ones(subject: Subject) -> None:
    """Several searches in one call give the hits of each alone, in their order."""
    tuples = [Term("tuples", text) for text in _tuples(subject)[:5]]
    searches: list[Search] = [
        TermQuery(TERMS[:2], THREAD, 5),
        TermQuery(tuples, FORMULA, 5),
        TextQuery(ALL_IDS.tolist(), excluded=("triangle",)),
        TermQuery(TERMS, TITLE, 5, PRESENCE),
        TermQuery(tuples[:1], FORMULA, 5),
    ]
    for chosen in (searches, [searches[1], searches[4]]):
        for one, alone in zip(subject.snapshot.search(chosen), chosen, strict=True):
            single = subject.snapshot.search([alone])[0]
            assert one.numbers.tolist() == single.numbers.tolist(), f"{type(alone).__name__}: other hits in a batch"
            assert np.allclose(one.scores, single.scores), f"{type(alone).__name__}: other scores in a batch"
    assert subject.snapshot.search([]) == [], "no searches must have no answers"


def filters_are_applied_before_the_best(subject: Subject) -> None:
    """A search with a filter returns the best k of the allowed threads, not the allowed ones of the best k."""
    every = _search(subject, MANY)
    for allow in FILTERS:
        allowed = {post.parent_id or post.id for post in (*QUESTIONS, *ANSWERS) if _is_allowed(post, allow)}
        wanted = subject.snapshot.locate(np.array(sorted(allowed), np.int64)).threads
        right = every.numbers[np.isin(every.numbers, wanted)].tolist()
        for k in (1, MANY):
            found = subject.snapshot.search([TermQuery(TERMS, THREAD, k, allow=allow)])[0].numbers.tolist()
            assert found == right[:k], f"{allow}: the best {k} are {found}, not {right[:k]}"
    unfiltered = subject.snapshot.search([TermQuery(TERMS, THREAD, MANY, allow=Filter())])[0]
    assert unfiltered.numbers.tolist() == every.numbers.tolist(), "a filter that asks for nothing must allow everything"


def _is_allowed(post: RawPost, allow: Filter) -> bool:
    question = next(one for one in QUESTIONS if one.id == (post.parent_id or post.id))
    year = int(post.created[:4] or 0)
    accepted = question.accepted_id is not None and post.id in (question.id, question.accepted_id)
    return (
        post.kind == allow.kind
        and set(allow.tags) <= set(question.tags.split())
        and (allow.years is None or allow.years[0] <= year <= allow.years[1])
        and (not allow.accepted or accepted)
    )


def required_terms_are_required(subject: Subject) -> None:
    """With required terms the hits are those that contain all of them, with the same scores."""
    every = _search(subject, MANY)
    documents = ExpectedDocuments(subject, "thread", ("words", "pairs", "tag"))
    for required in ((TERMS[0],), (TERMS[0], TERMS[2]), (ABSENT,), (Term("tag", "limits"),)):
        having = {
            number
            for at, number in enumerate(documents.numbers)
            if all(term is not ABSENT and documents.counts(term, THREAD)[at] for term in required)
        }
        kept = [at for at, number in enumerate(every.numbers.tolist()) if number in having]
        found = subject.snapshot.search([TermQuery(TERMS, THREAD, MANY, required=required)])[0]
        assert found.numbers.tolist() == every.numbers[kept].tolist(), f"{required} were required; other hits came"
        assert np.allclose(found.scores, every.scores[kept]), "required terms must not change scores"


def formulas_are_found_by_their_terms(subject: Subject) -> None:
    """A search for all tuples of a formula finds it; the formulas are documents, each one of a length."""
    numbers = subject.formula_numbers
    assert subject.snapshot.info.count("formula") == len(numbers), (
        "posts name another number of formulas than there are"
    )
    assert subject.snapshot.info.lengths("tuples", FORMULA).documents == len(numbers), (
        "every formula must be a document"
    )
    for number, packed in zip(numbers.tolist(), subject.snapshot.formulas(numbers).records.trees(numbers), strict=True):
        terms = [Term("tuples", text) for text in dict.fromkeys(features(*unpack(packed)).tuples)]
        for weighting in (BM25(), PRESENCE):
            hits = subject.snapshot.search([TermQuery(terms, FORMULA, MANY, weighting, required=terms)])[0]
            assert number in hits.numbers.tolist() or not terms, f"formula {number} is not found by its own tuples"
            assert (np.diff(hits.scores) <= TOLERANCE).all(), "the scores of a search of formulas do not fall"


def texts_decide_by_phrases_words_and_authors(subject: Subject) -> None:
    """A search of texts keeps posts with all phrases, no excluded word, and one of the authors, in order."""
    ids = ALL_IDS[::-1].tolist()
    cases: tuple[tuple[TextQuery, list[int]], ...] = (
        (TextQuery(ids, phrases=("right triangle",)), [61, 11]),
        (TextQuery(ids, phrases=("pythagorean theorem",)), [72, 13, 12, 11]),
        (TextQuery(ids, phrases=("pythagorean theorem", "right triangles")), [72, 12]),
        (TextQuery(ids, phrases=("triangle right",)), []),
        (TextQuery(ids, excluded=("prime", "triangle", "cosines")), [52, 51, 42, 41]),
        (TextQuery(ids, authors=("Ada",)), [72, 51, 41, 22, 11]),
        (TextQuery(ids, authors=("emmy noether", "3")), [71, 61, 52, 31, 21, 13, 12]),
        (TextQuery(ids, ("prime numbers",), ("contradiction",), ("Kurt",)), [31]),
        (TextQuery([], phrases=("right triangle",)), []),
        (TextQuery(ids), ids),
    )
    for query, right in cases:
        found = subject.snapshot.search([query])[0].numbers.tolist()
        about = (query.phrases, query.excluded, query.authors)
        assert found == right, f"phrases, excluded words and authors {about}: found {found}, not {right}"


def _search(subject: Subject, k: int) -> Hits:
    return subject.snapshot.search([TermQuery(TERMS, THREAD, k)])[0]


def _tuples(subject: Subject) -> list[str]:
    """Return the tuples of the formulas of posts."""
    return list(dict.fromkeys(text for post in subject.expected.values() for _, text in post.counts["tuples"]))


def options_are_known(subject: Subject) -> None:
    """A store declares known options only."""
    unknown = subject.snapshot.info.options - set(OPTIONS)
    assert not unknown, f"options that nobody knows: {sorted(unknown)}"


def other_weightings_are_exact_or_refused(subject: Subject) -> None:
    """Option `weightings`: scores of every weighting are exact, those with a bias by length as well."""
    if _is_refused(subject, "weightings", TermQuery(TERMS, THREAD, 5, TfIdf())):
        return
    documents = ExpectedDocuments(subject, "thread", ("words", "pairs", "tag"))
    for weighting in WEIGHTINGS:
        found = subject.snapshot.search([TermQuery(TERMS, THREAD, MANY, weighting)])[0]
        assert_scores(found, documents.scores(TERMS, THREAD, weighting), str(weighting))


def questions_and_answers_are_searched_or_refused(subject: Subject) -> None:
    """Option `units`: searches over questions and over answers return ids of posts, with exact scores, ties by id, and
    filters."""
    if _is_refused(subject, "units", TermQuery(TERMS, ANSWER, 5)):
        return
    for view in (QUESTION, ANSWER):
        documents = ExpectedDocuments(subject, view.unit, ("words", "pairs", "tag"))
        for weighting in (BM25(), BM25(k1=0.0)):
            found = subject.snapshot.search([TermQuery(TERMS, view, MANY, weighting)])[0]
            assert_scores(found, documents.scores(TERMS, view, weighting), f"{weighting} over {view.unit}s")
    equal = subject.snapshot.search([TermQuery(TERMS[1:2], QUESTION, MANY)])[0].numbers.tolist()
    assert equal[:2] == [21, 31], "questions with equal scores must come in the order of ids"
    accepted = subject.snapshot.search([TermQuery(TERMS, ANSWER, MANY, allow=Filter(accepted=True))])[0]
    assert set(accepted.numbers.tolist()) <= {13, 42}, "a filter let other answers through"


def vectors_are_searched_or_refused(subject: Subject) -> None:
    """Option `vectors`: the threads whose vectors are nearest come first; a store without a model finds none."""
    snapshot, encoder = subject.snapshot, subject.snapshot.learned.encoder
    query: Values = np.ones(4, np.float32) if encoder is None else encoder.query(["right triangle"])
    if _is_refused(subject, "vectors", VectorQuery("questions", query, 3)):
        return
    if encoder is None:
        assert not len(snapshot.search([VectorQuery("questions", query, 3)])[0].numbers), (
            "a vector of no model was found"
        )
        return
    for field in encoder.fields:
        found = snapshot.search([VectorQuery(field, query, MANY)])[0]
        assert set(found.numbers.tolist()) <= set(subject.numbers.tolist()), f"{field}: unknown threads were found"
        assert (np.diff(found.scores) <= 1e-6).all(), f"{field}: the nearest must come first"
        if field != "answers":
            vectors = snapshot.threads(found.numbers, [], [field]).vectors[field]
            assert np.allclose(vectors @ query, found.scores, atol=1e-2), f"{field}: other scores than the vectors give"


def _is_refused(subject: Subject, option: Option, search: Search) -> bool:
    """Return whether a store does not declare an option, and check that it refuses it then."""
    if option in subject.snapshot.info.options:
        return False
    message = ""
    try:
        subject.snapshot.search([search])
    except PorismError as error:
        message = error.message
    assert message, f"the store does not declare {option!r}, so it must refuse it with a PorismError"
    assert "\n" not in message, f"{option}: the refusal must be one sentence"
    return True
