"""The MathDowers runs as systems: documents, ranking, explanation, word lists, and agreement with the original
engine."""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.search.query import read_query
from porism.search.retriever import Pipeline, Retriever
from porism.store import open_content
from porism.systems.inverted import TokenDocument, invert
from porism.systems.loading import open_system
from porism.systems.mathdowers.queries import engine_tokens, formula_query_tokens
from porism.systems.mathdowers.retriever import LISTS_VARIABLE, ThreadDocuments, WeightedBM25, formula_documents
from porism.systems.mathdowers.tuples import L8_SEARCH, math_tokens
from porism.systems.topic_queries import query_formula, topic_query

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def system(demo: Path, cache: Path, name: str, **options: Any) -> Retriever:
    part = "mathdowers_threads" if "_a0" in name and "latex" not in name else "mathdowers_formulas"
    return open_system(demo / "index", f"MathDowers/{name}", cache=cache, options={part: options})


def test_bm25_of_words_and_tuples() -> None:
    index = invert(
        [
            TokenDocument(7, ["ring", "ring", "#x#"]),
            TokenDocument(8, ["field"]),
            TokenDocument(9, ["ring", "#x#", "#x#", "#y#"]),
        ]
    )
    found = WeightedBM25(index, 0.2).search(["ring", "ring", "#x#", "unknown"], 10)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def saturated(count: int, length: int) -> float:
        return 2.2 * count / (count + 1.2 * (0.25 + 0.75 * length / (8 / 3)))

    expected = {
        7: idf * (2 * 0.8 * saturated(2, 3) + 0.2 * saturated(1, 3)),
        9: idf * (2 * 0.8 * saturated(1, 4) + 0.2 * saturated(2, 4)),
    }
    assert found.ids.tolist() == [7, 9]
    assert found.scores.tolist() == pytest.approx([expected[7], expected[9]])


def test_equal_scores_keep_the_order_of_documents() -> None:
    index = invert([TokenDocument(number, ["a"]) for number in (3, 1, 2)])
    assert WeightedBM25(index, 0.5).search(["a"], 2).ids.tolist() == [3, 1]


def test_the_page_of_an_answer_holds_its_thread(demo: Path) -> None:
    content = open_content(demo / "collection")
    documents = {document.id: document.tokens for document in ThreadDocuments(content)}
    posts = {post.id: post for post in content.posts()}
    assert list(documents) == sorted(documents, key=lambda id: (posts[id].thread_id, id))
    answer = next(content.posts("answer"))
    question = posts[answer.thread_id]
    words = [segment.text for segment in question.title.segments if segment.kind == "text"]
    title = engine_tokens(" ".join(words))
    assert all(documents[answer.id].count(word) >= 2 for word in title)
    assert set(engine_tokens(" ".join(question.tags))) <= set(documents[answer.id])
    assert documents[answer.id].count("#(start)#") >= len(question.title.formulas) + len(answer.body.formulas)


def test_few_tokens_in_memory_change_no_page(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = open_content(demo / "collection")
    pages = [(document.id, document.tokens) for document in ThreadDocuments(content)]
    monkeypatch.setattr("porism.systems.mathdowers.retriever.KEPT", 3)
    assert [(document.id, document.tokens) for document in ThreadDocuments(content)] == pages


def test_one_formula_of_a_body_represents_each_visual_id(demo: Path) -> None:
    content = open_content(demo / "collection")
    plain = list(formula_documents(content, with_latex=False))
    assert {formula.kind for _, formula in plain} == {"question", "answer"}
    assert len({document.id for document, _ in plain}) == len(plain)
    instances = content.instances([document.id for document, _ in plain[:50]], 1000)
    for document, formula in plain[:50]:
        first = next(one for one in instances[document.id] if one.kind in ("question", "answer"))
        assert formula.id == first.id
    assert any(
        token[0] != "#" for document, _ in formula_documents(content, with_latex=True) for token in document.tokens
    )


@pytest.mark.parametrize("name", ["L8_a018", "L1on8_a030", "L8", "latex_L8_a040"])
def test_a_hit_is_explained_by_its_tokens(demo: Path, cache: Path, name: str) -> None:
    retriever = system(demo, cache, name)
    query = read_query("Prove that $x^2+1$ is positive")
    hits = list(retriever.search(query, 5))
    assert hits
    for hit in hits:
        explanation = retriever.explain(query, hit.id)
        assert explanation.value == pytest.approx(hit.score)
        assert sum(part.value for part in explanation.parts) == pytest.approx(hit.score)


def test_the_runs_differ(demo: Path, cache: Path) -> None:
    topic = topic_query(read_topics(ROOT / "sample/topics/task1.xml")[0], 1)
    runs = [system(demo, cache, name).search(topic, 50) for name in ("L8_a018", "L8_a014", "L1on8_a030")]
    assert len({tuple(run.scores.tolist()) for run in runs}) == 3


def test_queries_without_words_or_formulas_find_nothing(demo: Path, cache: Path) -> None:
    assert len(system(demo, cache, "L8_a018").search(read_query(""), 10)) == 0
    assert len(system(demo, cache, "L8").search(read_query("only words"), 10)) == 0


def test_a_run_names_the_formula_that_was_indexed(demo: Path, cache: Path) -> None:
    retriever = system(demo, cache, "L8")
    assert isinstance(retriever, Pipeline)
    assert retriever.names_instances
    hit = next(iter(retriever.search(read_query("$x^2$"), 1)))
    instances = retriever.instances([hit.id, -1])
    assert [formula.visual_id for formula in instances.values()] == list(instances) == [hit.id]


def test_word_lists_come_from_the_option_the_environment_or_the_collection(
    demo: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORISM_SHARED", str(tmp_path / "absent"))
    for name in ("nltk_stopwords", "lucence_snowball_english_stop", "manual_stopwords", "MSE_tag_keywords"):
        (tmp_path / f"{name}.txt").write_text("")
    (tmp_path / "wiki_keywords.txt").write_text("1\tzebras\tzebra\n")
    default = system(demo, cache, "L8_a018")
    named = system(demo, cache, "L8_a018", lists=str(tmp_path))
    monkeypatch.setenv(LISTS_VARIABLE, str(tmp_path))
    by_environment = system(demo, cache, "L8_a018")
    assert isinstance(default, Pipeline)
    assert isinstance(named, Pipeline)
    assert isinstance(by_environment, Pipeline)
    assert "an approximation" in default.notes[0]
    assert named.notes == by_environment.notes == (f"words of queries were chosen with files in {tmp_path.name}",)
    query = read_query("proof by induction")
    assert len(default.search(query, 10)) > 0
    assert len(named.search(query, 10)) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lists": "/no/such/folder"}, "the folder of word lists does not exist"),
        ({"alpha": 2.0}, "alpha is 2"),
        ({"tuples": "L9"}, "L9"),
    ],
)
def test_wrong_options_are_reported(demo: Path, cache: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PorismError, match=message):
        system(demo, cache, "L8_a018", **options)


@pytest.mark.shared
def test_formula_rankings_follow_the_original_engine(shared_data: Path) -> None:
    """Fidelity data F5: the first ten of L8 on the formula pool, for some topics."""
    csv.field_size_limit(sys.maxsize)
    with open(shared_data / "formula-pool-2020/formulas.tsv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    index = invert(TokenDocument(int(row["visual_id"]), math_tokens(row["mathml"], L8_SEARCH)) for row in rows)
    ranking = WeightedBM25(index, 0.18)
    expected: dict[str, list[tuple[str, float]]] = {}
    for line in (shared_data / "fidelity/mathdowers-original.pool2020.L8.trec").read_text().splitlines():
        topic, _, visual_id, rank, score, _ = line.split("\t")
        if int(rank) <= 10:
            expected.setdefault(topic, []).append((visual_id, float(score)))
    tables = [shared_data / f"arqmath-format/topic-formulas/2020_formulas_{kind}.tsv" for kind in ("latex", "slt")]
    near = total = 0
    for topic in read_topics(shared_data / "slice/topics/task2-2020.xml", tables):
        formula = query_formula(topic_query(topic, 2))
        if topic.id in expected and formula is not None:
            found = ranking.search(engine_tokens(" ".join(formula_query_tokens(formula, False))), 10)
            near += sum(abs(score - other) < 0.01 * other for score, (_, other) in zip(found.scores, expected[topic.id], strict=True))  # fmt: skip
            total += len(expected[topic.id])
    assert near >= 0.98 * total > 400
