"""Porism: a search engine that understands formulas, with tools to measure how well it does."""

from porism.safe_path import guard_imports  # isort: skip

guard_imports()  # before any other import, and so without `from __future__`, which is one

from collections.abc import Iterable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import TYPE_CHECKING  # noqa: E402

if TYPE_CHECKING:
    from porism.datasets import Dataset
    from porism.integrity import Verify
    from porism.search.engine import Engine

__version__ = "0.1.0"
__all__ = ["__version__", "dataset", "memory", "open"]


def open(path: str | Path, model: str | Path | None = None, verify: "Verify" = "quick") -> "Engine":
    """Open an index that `porism index` made, or another store by its address; `model` names a file that `porism model
    train ranking` made, instead of the shipped one.

    `verify` says what is compared with its checksums first: the smaller files ("quick"), every file ("all") or nothing
    ("none")."""
    from porism.search.engine import Engine

    return Engine.open(path, model, verify)


def memory(texts: Iterable[str]) -> "Engine":
    """Index texts in memory, without files: `porism.memory(["The sum $x^2+y^2$ ...", ...]).search("$x^2$")`. Hits have
    ids 1, 2, 3, ..."""
    from porism.search.engine import Engine
    from porism.store import store_of_texts

    store = store_of_texts(texts)
    return Engine(store.snapshot(), store=store)


def dataset(name: str, folder: str | Path = ".") -> "Dataset":
    """Return an edition of ARQMath, such as "arqmath/2022/task1", over a folder with the official files."""
    from porism.datasets import open_dataset

    return open_dataset(name, folder)
