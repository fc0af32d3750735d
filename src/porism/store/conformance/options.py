"""Checks of what a store may declare besides the required core. What it does not declare it refuses in one sentence."""

from __future__ import annotations

import numpy as np

from porism.analysis.schema import ANSWER, THREAD, View
from porism.errors import PorismError
from porism.store.conformance.searching import MANY, TERMS, ExpectedDocuments, assert_scores
from porism.store.conformance.subject import Subject
from porism.store.protocols import OPTIONS, Option
from porism.store.records import Filter, Search, TermQuery, Values, VectorQuery
from porism.store.weighting import BM25, BM25Plus, QueryLikelihood, TfIdf, Weighting

WEIGHTINGS: tuple[Weighting, ...] = (
    BM25Plus(),
    TfIdf(),
    TfIdf(tf="robertson", idf="terrier"),
    QueryLikelihood(),
    QueryLikelihood("dirichlet", 20.0),
    QueryLikelihood("jelinek-mercer", 0.3),
)
QUESTION = View.of("question", {"title": 2.0, "question": 1.0, "tags": 1.0})
UNIT_VIEWS = (QUESTION, ANSWER)


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
    for view in UNIT_VIEWS:
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
    snapshot = subject.snapshot
    encoder = snapshot.learned.encoder
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
