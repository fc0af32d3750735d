"""A collection with topics and judgments as a retrieval benchmark: rows of corpus, queries and judgments, for BEIR and
for Hugging Face."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from porism.corpus.content import Content, batched
from porism.corpus.export.records import write_json_lines, write_parquet
from porism.records import Judgment, Topic
from porism.text.read import read_official

BATCH = 1000  # documents that are read together
HIGHEST_GRADE = 3  # larger numbers are codes (system failure, "do not know"), not grades


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What an export adds to the collection. Task 1 has answers as documents, Task 2 formulas, one for each visual
    id."""

    task: int = 1
    topics: tuple[Topic, ...] = ()
    judgments: tuple[Judgment, ...] = ()


class CorpusRow(NamedTuple):
    """A document: in Task 1 the answer, titled by its question; in Task 2 the LaTeX of a formula, named by its visual
    id."""

    id: str
    title: str
    text: str


class QueryRow(NamedTuple):
    """A query: title and question as text with LaTeX between dollar signs, or the LaTeX of a formula."""

    id: str
    text: str


class JudgmentRow(NamedTuple):
    """A judgment with a grade from 0 to 3."""

    query: str
    document: str
    grade: int


def corpus_rows(content: Content, task: int) -> Iterator[CorpusRow]:
    """Yield the documents of a task."""
    if task == 2:
        for visuals in batched(content.visuals(), BATCH):
            expressions = content.expressions_by_id([visual.expression_id for visual in visuals])
            yield from (CorpusRow(str(one.id), "", expressions[one.expression_id].latex) for one in visuals)
        return
    for answers in batched(content.posts("answer"), BATCH):
        titles = content.titles_by_id([answer.thread_id for answer in answers])
        for answer in answers:
            title = titles.get(answer.thread_id)
            yield CorpusRow(str(answer.id), title.plain().strip() if title else "", answer.body.plain().strip())


def query_rows(benchmark: Benchmark) -> Iterator[QueryRow]:
    """Yield the queries."""
    for topic in benchmark.topics:
        text = f"{read_official(topic.title).plain()} {read_official(topic.question).plain()}".strip()
        yield QueryRow(topic.id, topic.latex if benchmark.task == 2 else text)


def judgment_rows(benchmark: Benchmark) -> Iterator[JudgmentRow]:
    """Yield the judgments of these topics that have a grade."""
    topics = {topic.id for topic in benchmark.topics}
    for one in benchmark.judgments:
        if 0 <= one.grade <= HIGHEST_GRADE and (one.topic in topics or not topics):
            yield JudgmentRow(one.topic, one.item, one.grade)


README = """---
configs:
{configs}---

Exported by Porism: {what}. Texts have LaTeX between dollar signs.
"""
CONFIG = """- config_name: {name}
  data_files:
  - split: {split}
    path: {path}
"""


def export_beir(content: Content, folder: Path, benchmark: Benchmark) -> None:
    """Write the corpus and, where there are any, queries and judgments, as BEIR reads them."""
    documents = corpus_rows(content, benchmark.task)
    rows = ({"_id": one.id, "title": one.title, "text": one.text, "metadata": {}} for one in documents)
    write_json_lines(folder / "corpus.jsonl", rows)
    if benchmark.topics:
        queries = ({"_id": one.id, "text": one.text, "metadata": {}} for one in query_rows(benchmark))
        write_json_lines(folder / "queries.jsonl", queries)
    if benchmark.judgments:
        (folder / "qrels").mkdir()
        with open(folder / "qrels" / "test.tsv", "w", encoding="utf-8", newline="\n") as out:
            out.write("query-id\tcorpus-id\tscore\n")
            out.writelines(f"{one.query}\t{one.document}\t{one.grade}\n" for one in judgment_rows(benchmark))


def export_hugging_face(content: Content, folder: Path, benchmark: Benchmark) -> None:
    """Write the layout of Hugging Face datasets that MTEB reads: Parquet files, and a README that names them."""
    written = [("corpus", "corpus", "corpus/corpus.parquet")]
    columns = {"_id": "text", "title": "text", "text": "text"}
    write_parquet(folder / "corpus/corpus.parquet", columns, corpus_rows(content, benchmark.task))
    if benchmark.topics:
        written.append(("queries", "queries", "queries/queries.parquet"))
        write_parquet(folder / "queries/queries.parquet", {"_id": "text", "text": "text"}, query_rows(benchmark))
    if benchmark.judgments:
        written.append(("default", "test", "data/test.parquet"))
        columns = {"query-id": "text", "corpus-id": "text", "score": "int"}
        write_parquet(folder / "data/test.parquet", columns, judgment_rows(benchmark))
    configs = "".join(CONFIG.format(name=name, split=split, path=path) for name, split, path in written)
    what = "formulas by visual id" if benchmark.task == 2 else "answers, titled by their questions"
    (folder / "README.md").write_text(README.format(configs=configs, what=what), "utf-8", newline="\n")
