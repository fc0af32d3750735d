"""Compile with mypyc the modules that every formula passes through. Without a C compiler, or with
PORISM_PURE=1 set, they run as Python, about half as fast."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

# Folders of `src/porism`, and the modules of each that are compiled.
COMPILED = {
    ".": "hashing",
    "formula": "tree parsed binary",
    "formula/latex": "convert repair editable balance brackets",
    "formula/layout": "labels fences build joining tuples tangent",
    "formula/operators": "parse application binders nary calculus groups operands pairs prefix scripts stack symbols table",
    "formula/canonical": "rules hashed forms subexpressions",
    "index/analysis": "flat features",
}
# Commands that build something; others only need names and versions.
BUILDING = {"build_ext", "bdist_wheel", "editable_wheel"}


def extensions() -> list[Extension]:
    """Return the modules to compile."""
    if not BUILDING & set(sys.argv) or os.environ.get("PORISM_PURE"):
        return []
    from mypyc.build import mypycify

    root = Path("src/porism")
    files = [str(root / folder / f"{name}.py") for folder, names in COMPILED.items() for name in names.split()]
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--config-file="]
    made: list[Extension] = mypycify([*options, *files], opt_level="3", group_name="porism")
    for extension in made:
        extension.optional = True
    return made


setup(ext_modules=extensions())
