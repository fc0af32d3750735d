"""Every feature is an object that explains its own values; the engine and training find features by themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import porism
from porism.search import features
from porism.search.answers.reranker import Model
from porism.search.engine import Engine
from porism.search.features import all_features, feature_names, formula_columns, unit_columns
from porism.search.features.feature import Feature
from porism.search.features.terms import MOST_TERMS, feedback_terms
from porism.search.query import KINDS, Kind, read_query
from porism.search.retrieval.context import USUAL_SHARE, Candidate, CandidateBatch, QueryContext, Values

QUERIES = (
    "proof that $\\sqrt{2}$ is irrational",
    "$a^2+b^2=c^2$",
    "pythagorean theorem in a right triangle",
    "sum of $\\frac{1}{n^2}$",
)


@pytest.fixture(scope="module")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


def batch_of(engine: Engine, text: str, kind: Kind) -> CandidateBatch:
    return engine.features(read_query(text, tags=("geometry", "irrational-numbers")), kind).batch


@pytest.mark.parametrize("feature", all_features(), ids=lambda feature: feature.name)
@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("kind", KINDS)
def test_reasons_sum_to_the_value_of_the_feature(engine: Engine, feature: Feature, text: str, kind: Kind) -> None:
    batch = batch_of(engine, text, kind)
    values = feature.compute(batch)
    assert len(values) == (len(batch.answer_posts) if feature.level == "answer" else batch.thread_count)
    assert (values >= -1e-6).all() or feature.name.startswith("vectors.")
    for at in (*range(min(5, len(values))), *np.argsort(-values)[:5].tolist()):
        candidate = Candidate(int(batch.thread_of_answer[at]), at) if feature.level == "answer" else Candidate(at, None)
        reasons = feature.explain(batch, candidate)
        assert sum(reason.value for reason in reasons) == pytest.approx(float(values[at]), rel=1e-4, abs=1e-5)


def test_every_feature_has_values_for_some_query(engine: Engine) -> None:
    seen = {feature.name: 0.0 for feature in all_features()}
    for text in QUERIES:
        table = engine.features(read_query(text, tags=("geometry",)), "questions")
        for name, values in table.values.items():
            seen[name] = max(seen[name], float(np.abs(values).max(initial=0.0)))
    # The sample has no vectors of posts (tests/models has an index with them), no headings and no names (test_names.py
    # has).
    elsewhere = ("encoder.", "headings.", "name.")
    assert not [name for name, largest in seen.items() if largest == 0.0 and not name.startswith(elsewhere)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_is_the_sum_of_factor_and_value(engine: Engine, kind: Kind) -> None:
    scored = engine.score(read_query(QUERIES[0]), kind)
    assert scored.scores(kind) == pytest.approx(scored.table.matrix(kind) @ scored.scoring.factors)


def test_the_share_of_formulas_in_a_query(engine: Engine) -> None:
    def share(text: str) -> float:
        return QueryContext(read_query(text), engine.index).formula_share

    formula, words = (
        "$a^2+b^2=c^2$ $\\frac{1}{n^2}$ $\\sqrt{2}$",
        "pythagorean theorem in a right triangle irrational proof sum",
    )
    assert share("") == USUAL_SHARE
    assert share("triangle") == pytest.approx(USUAL_SHARE, abs=0.1)
    assert share(f"{words} " * 20) < share(words) < share(f"{words} {formula}") < share(formula) < 1.0


def test_features_of_formulas_count_by_the_share_of_formulas_for_answers_only(engine: Engine) -> None:
    assert {"thread.tuples", "answer.parts", "vectors.tuples", "formula_overlap.thread"} <= formula_features()
    assert not formula_features() & {"thread.words", "vectors.words", "tags", "title.identity", "concepts.parts"}
    table = engine.features(read_query("right triangle with $a^2+b^2=c^2$"), "answers")
    matrix, columns = table.matrix("answers").astype(np.float64), formula_columns()
    plain = matrix.std(axis=0)
    units = table.scales("answers", len(matrix))
    used = plain > 1e-6
    share = table.batch.context.formula_share / USUAL_SHARE
    assert share != pytest.approx(1.0, abs=1e-3)
    assert units[used & columns] == pytest.approx(plain[used & columns] / share, rel=1e-4)
    assert units[used & ~columns] == pytest.approx(plain[used & ~columns], rel=1e-4)
    of_questions = table.matrix("questions").astype(np.float64).std(axis=0)
    shown = of_questions[unit_columns()] > 1e-6
    assert table.scales("questions", len(table.matrix("questions")))[shown] == pytest.approx(
        of_questions[unit_columns()][shown], rel=1e-4
    )


def formula_features() -> set[str]:
    return {name for name, own in zip(feature_names(), formula_columns(), strict=True) if own}


@pytest.mark.parametrize("family", MOST_TERMS)
def test_feedback_terms_are_what_several_of_the_best_threads_share(engine: Engine, family: str) -> None:
    batch = batch_of(engine, QUERIES[0], "questions")
    best = np.arange(6)
    terms = feedback_terms(batch.context, batch.documents, best)[family]
    rows, starts, ends = batch.documents.terms[family], batch.documents.starts, batch.documents.ends
    keys = [set(rows.keys[rows.starts[starts[at]] : rows.ends[ends[at] - 1]].tolist()) for at in best.tolist()]
    assert 0 < len(terms) <= MOST_TERMS[family]
    assert float(terms.weights.sum()) == pytest.approx(1.0)
    assert all(sum(key in own for own in keys) >= 2 for key in terms.keys.tolist())
    assert len(feedback_terms(batch.context, batch.documents, best[:0])[family]) == 0


def test_feedback_names_its_strongest_words_first(engine: Engine) -> None:
    batch = batch_of(engine, QUERIES[0], "questions")
    feature = next(one for one in all_features() if one.name == "feedback.words")
    terms = batch.context.prepared["feedback"]["words"]
    strongest = [terms.texts[at] for at in np.argsort(-terms.scores, kind="stable")[:10].tolist()]
    assert feature.describe(batch).endswith(": " + ", ".join(strongest))


class TitleLength(Feature):
    """A feature of ten lines: long titles."""

    name = "title.length"
    families = ("words",)

    def compute(self, batch: CandidateBatch) -> Values:
        return batch.documents.terms["words"].lengths[batch.documents.starts, 0].astype(np.float32)


def test_a_new_file_with_a_weight_is_all_a_feature_needs(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("porism.search.features.title_length")
    module.FEATURES = (TitleLength(),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    listed = [
        *features.pkgutil.iter_modules(features.__path__),
        features.pkgutil.ModuleInfo(None, "title_length", False),
    ]  # type: ignore[arg-type]
    monkeypatch.setattr(features.pkgutil, "iter_modules", lambda _: listed)
    all_features.cache_clear()
    try:
        assert "title.length" in feature_names()
        opened = porism.open(demo / "index")
        fitted = Model({kind: {"title.length": 1.0} for kind in KINDS})
        engine = Engine(opened.snapshot, fitted)
        hits = engine.search("triangle", kind="questions", k=3).hits
        reasons = engine.explain("triangle", hits[0].id)
        assert reasons.value == pytest.approx(hits[0].score, rel=1e-5)
        assert [part.reason for part in reasons.parts] == ["title.length"]
    finally:
        all_features.cache_clear()
