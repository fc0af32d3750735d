"""Exports of a collection: the lab's files, stand-off annotations, JSON lines, Parquet, TREC text, pages, benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from porism.corpus.content import Content
from porism.corpus.export.benchmark import Benchmark
from porism.errors import PorismError
from porism.files import atomic_directory

# Each format is a module with a function `export(content, folder)`.
FORMATS = {
    "lab": "the lab's files: Posts and the other XML files, three folders of formula tables, visual ids",
    "annotations": "texts, and formulas as stand-off annotations with character offsets",
    "jsonl": "posts and formulas as JSON lines",
    "parquet": "posts, comments and formulas as Parquet",
    "trec": "posts as TREC text",
    "pages": "a static HTML page for each thread",
    "beir": "corpus, queries and judgments as BEIR reads them",
    "hf": "the same as Parquet, as Hugging Face datasets and MTEB read them",
}
BENCHMARKS = ("beir", "hf")  # their function `export` also takes a `Benchmark`


def export(content: Content, target: str | Path, form: str, benchmark: Benchmark | None = None) -> None:
    """Write a collection in a format into a new folder, completely or not at all. `benchmark` has topics and judgments for `beir` and `hf`."""
    if benchmark is not None and form not in BENCHMARKS:
        raise PorismError(f"the format {form} has no topics and judgments", fix=f"choose {' or '.join(BENCHMARKS)}")
    write: Callable[..., None] = import_module(f"porism.corpus.export.{form}").export
    with atomic_directory(target) as folder:
        if form in BENCHMARKS:
            write(content, folder, benchmark or Benchmark())
        else:
            write(content, folder)
