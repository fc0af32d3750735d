"""TangentCFT2, TangentCFT2ED and LTR over an index: vectors, re-ranking, explanations, determinism."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.formula import parse
from porism.formula.binary import Trees
from porism.progress import Silent
from porism.search.query import read_query
from porism.search.retriever import Retriever
from porism.systems.dprl import cft
from porism.systems.dprl.cft import FastTextTraining, query_vector, read_vectors, write_vectors
from porism.systems.dprl.tuples import Alphabet, represented, spell_words, word_rows
from porism.systems.loading import open_system
from porism.systems.tangent.trees import CollectionTrees
from porism.systems.topic_queries import topic_query

from .tangent_cases import make_trees

pytest.importorskip("gensim")
TOPICS = Path(__file__).resolve().parents[2] / "sample" / "topics"
SMALL = {"tangent_cft2": {"dimensions": 20, "epochs": 1}}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def system(demo: Path, cache: Path, name: str) -> Retriever:
    return open_system(demo / "index", name, 2, cache=cache, options=SMALL if "CFT" in name else {})


def trees_of(*formulas: str) -> CollectionTrees:
    return make_trees([parse(latex) for latex in formulas])


@pytest.mark.parametrize("name", ["DPRL/TangentCFT2", "DPRL/TangentCFT2ED", "DPRL/LTR"])
def test_explanations_sum_to_the_score(demo: Path, cache: Path, name: str) -> None:
    made = system(demo, cache, name)
    query = topic_query(read_topics(TOPICS / "task2.xml")[0], 2)
    found = made.search(query, 20)
    assert len(found) == 20
    assert len(set(found.ids.tolist())) == 20
    for hit in list(found)[:3]:
        explanation = made.explain(query, hit.id)
        assert explanation.value == pytest.approx(hit.score)
        assert sum(part.value for part in explanation.parts) == pytest.approx(hit.score)
    assert len(made.search(read_query("prime numbers"), 5)) == 0


def test_the_three_systems_rank_differently(demo: Path, cache: Path) -> None:
    query = topic_query(read_topics(TOPICS / "task2.xml")[1], 2)
    names = ("DPRL/TangentCFT2", "DPRL/TangentCFT2ED", "DPRL/LTR", "baselines/Tangent-S")
    orders = [system(demo, cache, name).search(query, 30).ids.tolist() for name in names]
    assert len({tuple(order) for order in orders}) == len(names)


def test_words_are_types_values_and_edges() -> None:
    trees = trees_of("x^{12}")
    forest, texts = trees.layout.forest, trees.layout.labels.texts
    rows = word_rows(forest, texts, operators=False).rows
    alphabet = Alphabet()
    words = spell_words(rows, texts, alphabet, operators=False)
    assert [len(word) for word in words] == [4, 6, 5]  # V! x 0! n; V! x N! 1 2 a; N! 1 2 0! n
    assert list(alphabet.symbols) == ["V!", "x", "0!", "N!", "1", "2"]
    operators = spell_words(rows, texts, Alphabet(), operators=True)
    assert [len(word) for word in operators] == [4, 5, 4]  # a number is one character


def test_representations() -> None:
    trees = trees_of("x+y+x=a").layout
    unified, texts = represented(trees.forest, trees.labels.texts, "slt-unified")
    assert [texts[label] for label in unified.labels] == ["V!1", "+", "V!2", "+", "V!1", "=", "V!3"]
    types, texts = represented(trees.forest, trees.labels.texts, "slt-type")
    assert [texts[label] for label in types.labels] == ["V", "+", "V", "+", "V", "=", "V"]


def test_training_gives_the_same_vectors_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cft, "BUCKETS", 1000)
    trees = trees_of(*(f"x^{{{n}}} + {n} y" for n in range(40)))
    for name in ("first", "second"):
        write_vectors(trees, "slt", FastTextTraining(dimensions=10), Silent(), tmp_path / name)
    first, second = (read_vectors(tmp_path / name) for name in ("first", "second"))
    assert np.array_equal(first.trees, second.trees)
    parsed = parse("x^{3} + 3 y")
    vector = query_vector(Trees(parsed.layout, parsed.operators), "slt", first)
    assert int(np.argmax(first.trees @ vector)) == 3


def test_unknown_words_have_vectors_by_their_ngrams_and_unknown_symbols_none(tmp_path: Path) -> None:
    trees = trees_of(*(f"x + {n}" for n in range(20)))
    write_vectors(trees, "slt", FastTextTraining(dimensions=10), Silent(), tmp_path / "made")
    vectors = read_vectors(tmp_path / "made")
    for latex, known in (("x + 99", True), ("⊗", False)):
        parsed = parse(latex)
        length = np.linalg.norm(query_vector(Trees(parsed.layout, parsed.operators), "slt", vectors))
        assert bool(length > 0.5) is known


def test_unknown_representations_are_reported(demo: Path, cache: Path) -> None:
    with pytest.raises(PorismError, match="no representation is named tree"):
        open_system(
            demo / "index", "DPRL/TangentCFT2", 2, cache=cache, options={"tangent_cft2": {"representations": ("tree",)}}
        )
