"""The format of BEIR: corpus.jsonl, queries.jsonl, and qrels/test.tsv with a header."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from porism.corpus.content import Content
from porism.corpus.export.benchmark import Benchmark, corpus_rows, judgment_rows, query_rows

HEADER = "query-id\tcorpus-id\tscore\n"


def export(content: Content, folder: Path, benchmark: Benchmark) -> None:
    """Write the corpus and, where there are any, queries and judgments."""
    documents = corpus_rows(content, benchmark.task)
    _lines(
        folder / "corpus.jsonl",
        ({"_id": one.id, "title": one.title, "text": one.text, "metadata": {}} for one in documents),
    )
    if benchmark.topics:
        queries = query_rows(benchmark)
        _lines(folder / "queries.jsonl", ({"_id": one.id, "text": one.text, "metadata": {}} for one in queries))
    if benchmark.judgments:
        (folder / "qrels").mkdir()
        with open(folder / "qrels" / "test.tsv", "w", encoding="utf-8", newline="\n") as out:
            out.write(HEADER)
            out.writelines(f"{one.query}\t{one.document}\t{one.grade}\n" for one in judgment_rows(benchmark))


def _lines(path: Path, rows: Iterable[dict[str, object]]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
