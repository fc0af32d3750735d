"""The lexical systems: Terrier and PyTerrier TF-IDF, MSM's BM25+ and TF-IDF, linked posts, fusions of them."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import porism
from porism.corpus.topics.files import read_topics
from porism.records import Topic
from porism.search.query import read_query
from porism.search.retriever import Retriever
from porism.systems.baselines import TerrierTfIdf, spell_symbols, terrier_retriever, terrier_tokens
from porism.systems.declared.parts import part_options
from porism.systems.documents import latex_text
from porism.systems.inverted import InvertedIndex, TokenDocument, invert
from porism.systems.loading import open_system
from porism.systems.msm import CosineWeights, PlusWeights, document_norms, simple_words
from porism.systems.topic_queries import topic_query
from porism.text.read import read_official

DOCUMENTS = (TokenDocument(5, ["a", "b", "a"]), TokenDocument(3, ["b"]), TokenDocument(9, ["c", "c", "c", "d"]))


def test_an_inverted_index_has_counts_frequencies_and_lengths(tmp_path: Path) -> None:
    invert(DOCUMENTS).save(tmp_path)
    index = InvertedIndex.open(tmp_path)
    assert (index.ids.tolist(), index.lengths.tolist()) == ([5, 3, 9], [3, 1, 4])
    postings = index.postings("b")
    assert (postings.documents.tolist(), postings.counts.tolist()) == ([0, 1], [1, 1])
    assert len(index.postings("z").documents) == 0
    assert index.mean_length == pytest.approx(8 / 3)


def test_terrier_weights_are_those_of_its_formula() -> None:
    index = invert(DOCUMENTS)
    got = index.scores({"a": 1}, TerrierTfIdf())[0]
    assert got == pytest.approx(1.2 * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / (8 / 3))) * math.log2(3 / 1 + 1))


def test_bm25_plus_and_cosine() -> None:
    index = invert(DOCUMENTS)
    assert index.scores({"c": 2}, PlusWeights())[2] == pytest.approx(
        2 * math.log(4 / 1) * 2.25 * 3 / (3 + 1.25 * (0.25 + 0.75 * 4 / (8 / 3)))
    )
    cosine = index.scores({"b": 1}, CosineWeights(document_norms(index)))
    assert cosine[1] == pytest.approx(math.log2(3 / 2))  # times the query's norm, by which a search divides


def test_tokens() -> None:
    assert terrier_tokens(r"1000000 aaaa x \alpha_{12} Running-lemmas") == ["alpha", "12", "run", "lemma"]
    assert simple_words("É x_1 über antidisestablishmentarianism _a") == ["x_", "über"]
    assert " ".join(spell_symbols(r"\\ a<b").split()) == "double backslash a less than b"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("systems")


def opened(demo: Path, cache: Path, name: str, **options: dict[str, object]) -> Retriever:
    return open_system(demo / "index", name, 1, options=options, cache=cache)


def test_question_and_answer_together_find_more(demo: Path, cache: Path) -> None:
    query = read_query("irrational numbers")
    alone = opened(demo, cache, "BM25_system", msm_bm25={"documents": "answer"}).search(query, 1000)
    both = opened(demo, cache, "BM25_system").search(query, 1000)
    assert len(both) > len(alone)


def test_pyterrier_finds_no_question(demo: Path, cache: Path) -> None:
    engine = porism.open(demo / "index")
    hits = opened(demo, cache, "TF-IDF(PyTerrier)").search(read_query("prime numbers"), 50)
    assert len(hits) == 50
    assert {post.kind for post in engine.content.posts_by_id(hits.ids.tolist()).values()} == {"answer"}


def test_an_ensemble_names_its_members(demo: Path, cache: Path) -> None:
    system = opened(demo, cache, "Ensemble_RRF")
    assert system.notes[0] == "fused: MSM/BM25_system, MSM/TF-IDF, MSM/BM25_Tfidf_system"
    assert system.notes[1].startswith("left out, since they need models: MSM/CompuBERT22, MIRMU/MiniLM+RoBERTa,")


def test_linked_posts_are_answers_of_duplicates_by_votes(demo: Path, cache: Path, tmp_path: Path) -> None:
    thread = next(one for one in porism.open(demo / "index").content.threads() if len(one.answers) > 1)
    links = tmp_path / "links.tsv"
    links.write_text(f"post_id\tother_id\tkind\n900000\t{thread.question.id}\tduplicate\n900000\t1\trelated\n")
    system = opened(demo, cache, "Linked MSE posts", linked_posts={"links": str(links)})
    found = system.search(topic_query(Topic("A.1", "x", post_id=900000), 1), 1000)
    answers = sorted(thread.answers, key=lambda one: (-one.score, one.id))
    assert found.ids.tolist() == [one.id for one in answers]
    assert not len(system.search(read_query("x"), 1000))


@pytest.mark.shared
def test_terrier_orders_pairs_as_the_organisers_run(shared_data: Path) -> None:
    """The reference is on the full collection, so that only the order of the slice's answers can be compared."""
    with open(shared_data / "slice" / "posts.jsonl", encoding="utf-8") as lines:
        answers = [post for post in map(json.loads, lines) if post["type"] == "answer"]
    texts = ((post["id"], latex_text(read_official(post["body"]))) for post in answers)
    index = invert(TokenDocument(int(number), terrier_tokens(text)) for number, text in texts)
    system = terrier_retriever(index, str(part_options("terrier")["query"].default), TerrierTfIdf())
    reference: dict[str, dict[int, float]] = {}
    for line in (shared_data / "fidelity" / "terrier-tfidf.task1-2020.tsv").read_text().splitlines():
        topic, answer, _, score, _ = line.split("\t")
        reference.setdefault(topic, {})[int(answer)] = float(score)
    table = shared_data / "arqmath-format" / "topic-formulas" / "2020_formulas_latex.tsv"
    same = pairs = 0
    for topic in read_topics(shared_data / "slice" / "topics" / "task1-2020.xml", table):
        hits = system.search(topic_query(topic, 1), 5000)
        ours = dict(zip(hits.ids.tolist(), hits.scores.tolist(), strict=True))
        both = [(score, ours.get(answer, 0.0)) for answer, score in reference[topic.id].items() if answer in ours]
        for (a, x), (b, y) in itertools.combinations(both, 2):
            pairs += a != b
            same += bool(np.sign(a - b) == np.sign(x - y)) and a != b
    assert pairs > 2400
    assert same / pairs > 0.66
