"""Jupyter notebooks: text cells are Markdown, code cells are code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from porism.corpus.sources.documents.markdown import read_markdown
from porism.corpus.sources.documents.section import Document


def read_notebook(text: str) -> Document:
    """Read the cells as one Markdown text. Raise ValueError if the text is not a notebook."""
    notebook = json.loads(text)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict):
        # Format 3 keeps cells in worksheets.
        cells = [cell for sheet in notebook.get("worksheets") or () for cell in sheet.get("cells") or ()]
    if not isinstance(cells, list):
        raise ValueError("no cells")
    return read_markdown("\n\n".join(_cells(cells)))


def _cells(cells: list[Any]) -> Iterator[str]:
    for cell in cells:
        source = cell.get("source", cell.get("input", ""))
        body = "".join(source) if isinstance(source, list) else str(source)
        if cell.get("cell_type") in ("markdown", "heading"):
            yield "#" * int(cell.get("level", 0)) + " " * bool(cell.get("level")) + body
        elif cell.get("cell_type") == "code" and body.strip():
            fence = "`" * (max([2, *map(len, _ticks(body))]) + 1)
            yield f"{fence}\n{body}\n{fence}"


def _ticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]
