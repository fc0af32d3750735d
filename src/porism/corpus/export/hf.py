"""The layout of Hugging Face datasets that MTEB reads: Parquet files of corpus, queries and judgments, and a README that names them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from porism.corpus.content import Content, batched
from porism.corpus.export.benchmark import Benchmark, corpus_rows, judgment_rows, query_rows
from porism.errors import PorismError

GROUP = 20_000
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


def export(content: Content, folder: Path, benchmark: Benchmark) -> None:
    """Write the corpus and, where there are any, queries and judgments."""
    try:
        import pyarrow as arrow
    except ImportError:
        raise PorismError("Parquet needs pyarrow", fix="pip install 'porism[parquet]'") from None
    text = arrow.string()
    written = [("corpus", "corpus", "corpus/corpus.parquet")]
    schema = arrow.schema([("_id", text), ("title", text), ("text", text)])
    _write(folder / "corpus/corpus.parquet", schema, corpus_rows(content, benchmark.task))
    if benchmark.topics:
        written.append(("queries", "queries", "queries/queries.parquet"))
        _write(folder / "queries/queries.parquet", arrow.schema([("_id", text), ("text", text)]), query_rows(benchmark))
    if benchmark.judgments:
        written.append(("default", "test", "data/test.parquet"))
        schema = arrow.schema([("query-id", text), ("corpus-id", text), ("score", arrow.int64())])
        _write(folder / "data/test.parquet", schema, judgment_rows(benchmark))
    configs = "".join(CONFIG.format(name=name, split=split, path=path) for name, split, path in written)
    what = "formulas by visual id" if benchmark.task == 2 else "answers, titled by their questions"
    (folder / "README.md").write_text(README.format(configs=configs, what=what), "utf-8", newline="\n")


def _write(path: Path, schema: Any, rows: Iterable[tuple[Any, ...]]) -> None:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    path.parent.mkdir()
    with parquet.ParquetWriter(path, schema) as writer:
        for group in batched(rows, GROUP):
            columns = [list(column) for column in zip(*group, strict=True)]
            writer.write_table(arrow.Table.from_arrays([arrow.array(one) for one in columns], schema=schema))
