"""PyTerrier transformers for every system of Porism: frames with qid, query, docno, score and rank.

A frame of queries (qid, query) is searched; a frame that also has docno is re-ranked: its documents get this system's
scores. Queries are passed to Porism as they are: LaTeX never goes through a query parser. With python-terrier
installed, a `PorismTransformer` is a `pyterrier.Transformer` and composes with the operators of PyTerrier; without it,
it has the same `transform`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from porism.errors import PorismError
from porism.records import Topic, TopicFormula
from porism.search.query import ReadQuery, read_query
from porism.search.retriever import Retriever
from porism.systems.loading import open_system
from porism.systems.topic_queries import read_hand_queries, topic_query
from porism.text.read import read_official, read_plain

if TYPE_CHECKING:
    from pandas import DataFrame

try:
    from pyterrier import Transformer
except ImportError:

    class PlainTransformer:
        """What PyTerrier expects of a transformer, where PyTerrier is not installed."""

        def transform(self, frame: DataFrame) -> DataFrame:
            """Return a transformed frame."""
            raise NotImplementedError

        def __call__(self, frame: DataFrame) -> DataFrame:
            """Transform a frame."""
            return self.transform(frame)

    Transformer = PlainTransformer


QUERY_COLUMNS = ("qid", "query")
RESULT_COLUMNS = ("docno", "score", "rank")
DEPTH = 1000


class PorismTransformer(Transformer):  # type: ignore[misc]
    """A system as a PyTerrier transformer. `topics` (by query id) are for systems that read the whole post."""

    def __init__(
        self, retriever: Retriever, task: int = 1, k: int = DEPTH, topics: Mapping[str, Topic] | None = None
    ) -> None:
        super().__init__()
        self.retriever, self.task, self.k, self.topics = retriever, task, k, topics or {}

    def transform(self, frame: DataFrame) -> DataFrame:
        """Return the ranking of each query: columns of the input, docno, score and rank (from 0), best first."""
        from pandas import DataFrame

        for name in QUERY_COLUMNS:
            if name not in frame.columns:
                fix = f"its columns are {', '.join(map(str, frame.columns)) or 'none'}; add it"
                raise PorismError(f"the frame has no column {name}", where="porism.pyterrier", fix=fix)
        kept = [name for name in frame.columns if name not in RESULT_COLUMNS]
        rows: list[dict[str, Any]] = []
        wanted = "docno" in frame.columns
        for qid, group in frame.groupby("qid", sort=False):
            first = {name: group.iloc[0][name] for name in kept}
            documents = {str(one) for one in group["docno"]} if wanted else None
            for rank, (docno, score) in enumerate(self._ranking(str(qid), str(first["query"]), documents)):
                rows.append({**first, "docno": docno, "score": score, "rank": rank})
        return DataFrame(rows, columns=[*kept, *RESULT_COLUMNS])

    def _ranking(self, qid: str, query: str, documents: set[str] | None) -> Sequence[tuple[str, float]]:
        """Return documents with scores; documents to re-rank that are no posts of the index follow last."""
        read = self._query(qid, query)
        if documents is None:
            return [(str(hit.id), hit.score) for hit in self.retriever.search(read, self.k)]
        numbers = sorted(int(docno) for docno in documents if docno.isdecimal())
        ranked = [(str(hit.id), hit.score) for hit in self.retriever.score(read, numbers)]
        least = min([0.0, *(score for _, score in ranked)])
        return [*ranked, *((docno, least) for docno in sorted(documents - {docno for docno, _ in ranked}))]

    def _query(self, qid: str, query: str) -> ReadQuery:
        topic = self.topics.get(qid)
        if topic is not None:
            return topic_query(topic, self.task)
        text = read_plain(query)
        formulas = tuple(TopicFormula("", one.text, "title") for one in text.formulas)
        if self.task == 2:
            latex = formulas[0].latex if formulas else query.strip()
            return topic_query(Topic(qid, text.html(), formulas=formulas, latex=latex), 2)
        return replace(read_query(query), topic=Topic(qid, text.html(), formulas=formulas))

    def __repr__(self) -> str:
        return f"PorismTransformer({self.retriever!r}, task={self.task}, k={self.k})"


class SystemSettings(TypedDict, total=False):
    """Options of parts (part -> option -> value), the folder of a system's own files, directories of named models."""

    options: Mapping[str, Mapping[str, Any]]
    cache: str | Path
    models: Mapping[str, str]


def system(
    name: str,
    index: str | Path,
    task: int | None = None,
    k: int = DEPTH,
    *,
    topics: Sequence[Topic] = (),
    queries: str | Path | None = None,
    **settings: Unpack[SystemSettings],
) -> PorismTransformer:
    """Return the transformer of a system: `porism`, or a name of `porism systems`.

    `topics` are the topics of the lab, which named systems read as a whole; `queries` is a file of hand-written queries
    of a manual system."""
    hand = read_hand_queries(queries) if queries else None
    retriever = open_system(index, name, task, queries=hand, **settings)
    number = task or (2 if retriever.finds == "formulas" else 1)
    return PorismTransformer(retriever, number, k, {topic.id: topic for topic in topics})


def topics_frame(topics: Sequence[Topic]) -> DataFrame:
    """Return topics as a frame of queries: the formula between dollar signs, or title and question as text."""
    from pandas import DataFrame

    rows = [(topic.id, f"${topic.latex}$" if topic.latex else _text(topic)) for topic in topics]
    return DataFrame(rows, columns=list(QUERY_COLUMNS))


def _text(topic: Topic) -> str:
    return f"{read_official(topic.title).plain()} {read_official(topic.question).plain()}".strip()
