"""Transformers for PyTerrier, tested against its data model: frames with qid, query, docno, score, rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.search.retriever import Ranking, Retriever

pandas = pytest.importorskip("pandas")

from porism.pyterrier import PorismTransformer, system, topics_frame  # noqa: E402
from porism.search.query import ReadQuery  # noqa: E402

SAMPLE = Path(__file__).resolve().parents[2] / "sample" / "topics"
COLUMNS = ["qid", "query", "docno", "score", "rank"]


class Recorder(Retriever):
    """Finds three documents and keeps the queries that it receives."""

    def __init__(self) -> None:
        self.queries: list[ReadQuery] = []

    def search(self, query: ReadQuery, k: int) -> Ranking:
        self.queries.append(query)
        return Ranking.of({11: 3.0, 12: 2.0, 13: 1.0}, k)


def frame(*rows: tuple[str, ...], columns: tuple[str, ...] = ("qid", "query")) -> object:
    return pandas.DataFrame(list(rows), columns=list(columns))


def test_retrieval() -> None:
    found = PorismTransformer(Recorder(), k=2).transform(frame(("q1", "rings"), ("q2", "fields")))
    assert list(found.columns) == COLUMNS
    assert found.values.tolist() == [
        ["q1", "rings", "11", 3.0, 0], ["q1", "rings", "12", 2.0, 1], ["q2", "fields", "11", 3.0, 0], ["q2", "fields", "12", 2.0, 1],
    ]  # fmt: skip


def test_reranking_keeps_all_documents_of_the_input_and_no_others() -> None:
    given = frame(
        ("q1", "rings", "13"), ("q1", "rings", "99"), ("q1", "rings", "11"), columns=("qid", "query", "docno")
    )
    found = PorismTransformer(Recorder()).transform(given)
    assert found[["docno", "score", "rank"]].values.tolist() == [["11", 3.0, 0], ["13", 1.0, 1], ["99", 0.0, 2]]


def test_other_columns_stay() -> None:
    found = PorismTransformer(Recorder(), k=1).transform(
        frame(("q1", "rings", "old"), columns=("qid", "query", "query_0"))
    )
    assert list(found.columns) == ["qid", "query", "query_0", "docno", "score", "rank"]
    assert found.iloc[0]["query_0"] == "old"


def test_latex_goes_through_no_query_parser() -> None:
    recorder = Recorder()
    latex = r"\frac{a:b^{+}}{\sqrt[3]{x}} \neq \{(y) | -z\}"
    PorismTransformer(recorder).transform(frame(("q1", f"why is ${latex}$ +not -parsed")))
    assert recorder.queries[0].topic is not None
    assert recorder.queries[0].topic.formulas[0].latex == latex
    PorismTransformer(recorder, task=2).transform(frame(("q1", latex)))
    assert recorder.queries[1].topic is not None
    assert recorder.queries[1].topic.latex == latex


def test_empty_frames_and_missing_columns() -> None:
    assert list(PorismTransformer(Recorder()).transform(frame()).columns) == COLUMNS
    with pytest.raises(PorismError, match="no column query"):
        PorismTransformer(Recorder()).transform(frame(("q1",), columns=("qid",)))


@pytest.mark.parametrize(
    ("name", "task"), [("porism", 1), ("porism", 2), ("baselines/TF-IDF(Terrier)", 1), ("approach0/a0", 2)]
)
def test_systems_by_name(demo: Path, tmp_path: Path, name: str, task: int) -> None:
    topics = read_topics(SAMPLE / f"task{task}.xml")[:2]
    transformer = system(name, demo / "index", task, 5, topics=topics, cache=tmp_path)
    found = transformer.transform(topics_frame(topics))
    assert list(found.columns) == COLUMNS
    assert set(found["qid"]) == {topic.id for topic in topics}
    for _, group in found.groupby("qid"):
        assert group["rank"].tolist() == list(range(len(group)))
        assert group["score"].is_monotonic_decreasing


def test_it_composes_with_pyterrier() -> None:
    pytest.importorskip("pyterrier")
    pipeline = (PorismTransformer(Recorder()) % 2) >> PorismTransformer(Recorder())
    found = pipeline.transform(frame(("q1", "rings")))
    assert found["docno"].tolist() == ["11", "12"]
    both = PorismTransformer(Recorder()) + 2 * PorismTransformer(Recorder())
    assert both.transform(frame(("q1", "rings"))).sort_values("rank")["score"].tolist() == [9.0, 6.0, 3.0]
