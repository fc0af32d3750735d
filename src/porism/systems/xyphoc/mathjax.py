"""Glyph boxes from MathJax's SVG, by node and the npm package `mathjax` where they are at hand."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.safe_path import program, safe_environment
from porism.systems.tangent.trees import visual_trees
from porism.systems.xyphoc.index import FormulaBoxes
from porism.systems.xyphoc.typeset import GlyphBox

_FIX = "npm install mathjax@3, set NODE_PATH to its folder node_modules, or use boxes=layout"


def check() -> None:
    """Refuse to start without node and mathjax."""
    if program("node") is None:
        raise PorismError("boxes=mathjax needs node, which is not installed", fix="install node, or use boxes=layout")
    if not formula_boxes("x"):
        raise PorismError("boxes=mathjax needs the npm package mathjax", fix=_FIX)


def script_digest() -> str:
    """Return the digest of the script, which names what was made with it."""
    return blake2b(_script().read_bytes(), digest_size=8).hexdigest()


def _script() -> Traversable:
    return files("porism.systems.xyphoc").joinpath("mathjax.js")


def collection_boxes(content: Content) -> Iterator[FormulaBoxes]:
    """Yield the boxes of every visual id; a formula that MathJax cannot read has none."""
    visuals, formulas = [], []
    for visual_id, _, latex in visual_trees(content):
        visuals.append(visual_id)
        formulas.append(latex)
    for visual_id, boxes in zip(visuals, _typeset(formulas), strict=True):
        yield FormulaBoxes(visual_id, boxes)


@lru_cache(100)
def formula_boxes(latex: str) -> list[GlyphBox]:
    """Return the boxes of one formula; none where MathJax cannot read it, or cannot be started."""
    try:
        return next(iter(_typeset([latex])), [])
    except PorismError:
        return []


def _typeset(formulas: Iterable[str]) -> Iterator[list[GlyphBox]]:
    """Yield the boxes of formulas, typeset by one process."""
    with as_file(_script()) as path, tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
        lines.writelines(json.dumps(latex) + "\n" for latex in formulas)
        lines.seek(0)
        pipe = subprocess.PIPE
        command = [program("node") or "node", str(path)]
        try:
            process = subprocess.Popen(
                command, stdin=lines, stdout=pipe, stderr=pipe, text=True, env=safe_environment()
            )
        except OSError as error:
            raise PorismError(f"node cannot be started: {error}", fix=_FIX) from None
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                yield [GlyphBox(*box) for box in json.loads(line)]
            if process.wait() != 0:
                message = process.stderr.read().strip().splitlines() if process.stderr else []
                detail = next((text for text in message if "Error" in text), "node ended with an error")
                raise PorismError(f"MathJax cannot be used: {detail}", fix=_FIX)
