"""Writes topics, judgments and runs with post keys replaced by ids."""

from __future__ import annotations

from pathlib import Path

from .dump import Dump


def write_lab(source: Path, folder: Path, dump: Dump) -> None:
    """Topics, judgments and runs of the three tasks."""
