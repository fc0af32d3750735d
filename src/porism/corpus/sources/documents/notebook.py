"""Jupyter notebooks: text cells are Markdown, code cells are code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from porism.corpus.sources.documents.markdown import read_markdown
from porism.corpus.sources.documents.section import Document

DEEPEST_HEADING = 6


def read_notebook(text: str) -> Document:
    """Read the cells as one Markdown text. Raise ValueError if the text is not a notebook."""
    notebook = json.loads(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict):
        # Format 3 keeps cells in worksheets.
        sheets = notebook.get("worksheets")
        found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
        cells = [cell for part in found if isinstance(part, list) for cell in part]
    if not isinstance(cells, list):
        raise ValueError("no cells")
    return read_markdown("\n\n".join(_cells(cells)))


def _cells(cells: list[Any]) -> Iterator[str]:
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = cell.get("source", cell.get("input", ""))
        body = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell.get("cell_type") in ("markdown", "heading"):
            level = cell.get("level")
            heading = "#" * min(level, DEEPEST_HEADING) + " " if isinstance(level, int) and level > 0 else ""
            yield heading + body
        elif cell.get("cell_type") == "code" and body.strip():
            fence = "`" * (max([2, *map(len, _ticks(body))]) + 1)
            yield f"{fence}\n{body}\n{fence}"


def _ticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]
