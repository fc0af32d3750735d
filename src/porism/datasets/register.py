"""Registration in ir_datasets: after `register(folder)`, `ir_datasets.load("arqmath/2022/task1")` works, and everything that builds on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from porism.datasets.catalogue import names
from porism.datasets.dataset import Dataset, open_dataset
from porism.errors import PorismError


def register(folder: str | Path) -> tuple[str, ...]:
    """Register all datasets of the catalogue over a folder; return their names. Those that are registered already stay as they are."""
    try:
        import ir_datasets
        from ir_datasets.datasets.base import Dataset as Registered
    except ImportError:
        raise PorismError("ir_datasets is not installed", fix="pip install ir_datasets") from None
    added = []
    for name in names():
        if name not in ir_datasets.registry:
            ir_datasets.registry.register(name, Registered(*_handlers(open_dataset(name, folder))))
            added.append(name)
    return tuple(added)


def _handlers(dataset: Dataset) -> tuple[Any, Any, Any]:
    """Return the three objects that ir_datasets asks for documents, queries and judgments."""
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries

    class Docs(BaseDocs):  # type: ignore[misc]
        def docs_iter(self) -> Iterator[Any]:
            return dataset.docs_iter()

        def docs_cls(self) -> type:
            return dataset.docs_cls()

        def docs_namespace(self) -> str:
            return "arqmath"

        def docs_lang(self) -> str:
            return "en"

    class Queries(BaseQueries):  # type: ignore[misc]
        def queries_iter(self) -> Iterator[Any]:
            return dataset.queries_iter()

        def queries_cls(self) -> type:
            return dataset.queries_cls()

        def queries_namespace(self) -> str:
            return dataset.name

        def queries_lang(self) -> str:
            return "en"

    class Qrels(BaseQrels):  # type: ignore[misc]
        def qrels_iter(self) -> Iterator[Any]:
            return dataset.qrels_iter()

        def qrels_cls(self) -> type:
            return dataset.qrels_cls()

        def qrels_defs(self) -> dict[int, str]:
            return dataset.qrels_defs()

    return Docs(), Queries(), Qrels()
