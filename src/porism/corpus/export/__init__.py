"""Exports of a collection: the lab's files, stand-off annotations, JSON lines, Parquet, TREC text, pages,
benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from porism.corpus.content import Content
from porism.corpus.export.records import Benchmark
from porism.errors import PorismError
from porism.files import atomic_directory

# The module and the function that write each format into a folder.
FORMATS = {
    "lab": ("lab", "export"),
    "annotations": ("records", "export_annotations"),
    "jsonl": ("records", "export_json_lines"),
    "parquet": ("records", "export_parquet"),
    "trec": ("records", "export_trec"),
    "pages": ("pages", "export"),
    "beir": ("records", "export_beir"),
    "hf": ("records", "export_hugging_face"),
}
BENCHMARKS = ("beir", "hf")  # their functions also take a `Benchmark`


def export(content: Content, target: str | Path, form: str, benchmark: Benchmark | None = None) -> None:
    """Write a collection in a format into a new folder, completely or not at all; `benchmark` for `beir`, `hf`."""
    if benchmark is not None and form not in BENCHMARKS:
        raise PorismError(f"the format {form} has no topics and judgments", fix=f"choose {' or '.join(BENCHMARKS)}")
    module, name = FORMATS[form]
    write: Callable[..., None] = getattr(import_module(f"porism.corpus.export.{module}"), name)
    with atomic_directory(target) as folder:
        write(content, folder, *([benchmark or Benchmark()] if form in BENCHMARKS else ()))
