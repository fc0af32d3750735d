"""Exports of a collection: the lab's files, stand-off annotations, JSON lines, Parquet, TREC text, pages, benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from porism.corpus.content import Content
from porism.corpus.export.benchmark import Benchmark
from porism.errors import PorismError
from porism.files import atomic_directory


class Format(NamedTuple):
    """A format: what it writes, and the module whose function `export(content, folder)` writes it."""

    about: str
    module: str


FORMATS = {
    "lab": Format("the lab's files: Posts and the other XML files, three folders of formula tables, visual ids", "lab"),
    "annotations": Format("texts, and formulas as stand-off annotations with character offsets", "annotations"),
    "jsonl": Format("posts and formulas as JSON lines", "records"),
    "parquet": Format("posts, comments and formulas as Parquet", "parquet"),
    "trec": Format("posts as TREC text", "trec"),
    "pages": Format("a static HTML page for each thread", "pages"),
    "beir": Format("corpus, queries and judgments as BEIR reads them", "benchmark"),
    "hf": Format("the same as Parquet, as Hugging Face datasets and MTEB read them", "hf"),
}
BENCHMARKS = ("beir", "hf")  # their function `export` also takes a `Benchmark`


def export(content: Content, target: str | Path, form: str, benchmark: Benchmark | None = None) -> None:
    """Write a collection in a format into a new folder, completely or not at all. `benchmark` has topics and judgments for `beir` and `hf`."""
    if benchmark is not None and form not in BENCHMARKS:
        raise PorismError(f"the format {form} has no topics and judgments", fix=f"choose {' or '.join(BENCHMARKS)}")
    write: Callable[..., None] = import_module(f"porism.corpus.export.{FORMATS[form].module}").export
    with atomic_directory(target) as folder:
        if form in BENCHMARKS:
            write(content, folder, benchmark or Benchmark())
        else:
            write(content, folder)
