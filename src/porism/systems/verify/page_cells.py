"""Cells of the tables of the reproduction matrix, in Markdown."""

from __future__ import annotations

from porism.systems.verify.matrix import Cells
from porism.systems.verify.measure import MEASURES as SCORES
from porism.systems.verify.measure import Cell
from porism.systems.verify.sets import TestSet


def scores_of(cell: Cell | None) -> str:
    """Return the scores of a cell, separated by slashes."""
    return "" if cell is None else " / ".join(f"{cell.scores[name]:.3f}" for name in SCORES if name in cell.scores)


def time_of(name: str, tests: list[TestSet], cells: Cells) -> str:
    """Return the largest median time of a query of a system."""
    found = [cells[test.name][name].seconds for test in tests if name in cells.get(test.name, {})]
    return f"{max(found) * 1000:.0f} ms" if found else ""


def table_row(values: list[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(values)} |"


def escaped(text: str) -> str:
    """Return text in which Markdown finds no mark-up."""
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")
