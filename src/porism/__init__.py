"""Porism: a math-aware search engine and the lab that measures it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.search.engine import Engine

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(path: str | Path, model: str | Path | None = None) -> Engine:
    """Open an index that `porism index` made; `model` names a file that `porism train` made, instead of the shipped one."""
    from porism.search.engine import Engine

    return Engine.open(path, model)
