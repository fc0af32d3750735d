"""The SCM runs as systems: scores, explanations, options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from porism.errors import PorismError
from porism.search.query import read_query
from porism.search.retriever import Pipeline, Retriever
from porism.systems.loading import open_system
from porism.systems.scm.retriever import SoftSearch, SoftSpace
from porism.systems.topic_queries import topic_of

pytest.importorskip("tokenizers", reason='pip install "porism[systems]"')
pytest.importorskip("gensim", reason='pip install "porism[systems]"')

JOINT, INTERPOLATED = "SCM/joint_word2vec", "SCM/interpolated_text+positional_word2vec_tangentl"
QUERY = "Prove that $x^2+1$ is positive for every real number"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def system(demo: Path, cache: Path, name: str, **options: Any) -> Retriever:
    part = "scm_interpolated" if name == INTERPOLATED else "scm_joint"
    return open_system(demo / "index", name, cache=cache, options={part: options})


@pytest.mark.parametrize("name", [JOINT, "SCM/joint_positional_word2vec", INTERPOLATED])
def test_parts_of_an_explanation_sum_to_the_score(demo: Path, cache: Path, name: str) -> None:
    retriever = system(demo, cache, name)
    query = read_query(QUERY)
    hits = list(retriever.search(query, 5))
    assert len(hits) == 5
    for hit in hits:
        explanation = retriever.explain(query, hit.id)
        assert explanation.value == pytest.approx(hit.score)
        assert sum(part.value for part in explanation.parts) == pytest.approx(hit.score)
    assert isinstance(retriever, Pipeline)
    assert "trained on the collection" in retriever.notes[0]


def soft_search(retriever: Retriever) -> SoftSearch:
    assert isinstance(retriever, Pipeline)
    assert isinstance(retriever.retriever, SoftSearch)
    return retriever.retriever


def test_similarities_keep_the_length_of_queries(demo: Path, cache: Path) -> None:
    model: SoftSpace = soft_search(system(demo, cache, JOINT))._spaces[0]
    query = read_query(QUERY)
    vector = np.zeros(len(model.vocabulary.tokens))
    for code, count in model.query_counts(topic_of(query)).items():
        vector[code] = count
    similarity = model.similarity.toarray()
    assert (similarity == similarity.T).all()
    scaled = vector * np.linalg.norm(vector) / np.sqrt(vector @ similarity @ vector)
    assert model.expanded(query) == pytest.approx(similarity @ scaled)


def test_the_title_counts_gamma_times(demo: Path, cache: Path) -> None:
    once, often = (soft_search(system(demo, cache, JOINT, gamma=gamma))._spaces[0] for gamma in (1, 3))
    counts = [model.query_counts(topic_of(read_query(QUERY))) for model in (once, often)]
    assert counts[0]
    assert {code: 3 * count for code, count in counts[0].items()} == counts[1]


def test_the_weight_of_text_changes_the_order(demo: Path, cache: Path) -> None:
    query = read_query(QUERY)
    runs = [system(demo, cache, INTERPOLATED, beta=beta).search(query, 50) for beta in (0.0, 0.5, 1.0)]
    assert len({tuple(run.ids.tolist()) for run in runs}) == 3


def test_queries_with_nothing_in_the_vocabulary_find_nothing(demo: Path, cache: Path) -> None:
    for text in ("", "Xyzzyx"):
        assert len(system(demo, cache, INTERPOLATED).search(read_query(text), 10)) <= 10
    assert len(system(demo, cache, JOINT).search(read_query(""), 10)) == 0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (JOINT, {"alpha": 2.0}, "alpha is 2"),
        (JOINT, {"gamma": -1}, "gamma and epochs cannot be negative"),
        (INTERPOLATED, {"beta": -1.0}, "beta is -1"),
        (JOINT, {"tokenizer": "/no/such/folder"}, r"vocab\.json is missing"),
    ],
)
def test_wrong_options_are_reported(demo: Path, cache: Path, name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PorismError, match=message):
        system(demo, cache, name, **options)
