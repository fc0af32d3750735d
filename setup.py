"""Compiles with mypyc what every formula goes through; without a C compiler the same files run as they are, at about half the speed."""

from __future__ import annotations

import sys

from setuptools import Extension, setup

# Folders of `src/porism`, and the modules of each that are compiled.
COMPILED = {
    ".": "hashing",
    "formula": "tree parsed binary",
    "formula/latex": "convert repair source balance tame",
    "formula/layout": "labels fences build rows tuples tangent",
    "formula/operators": "parse apply chains calculus groups operands prefix scripts stack symbols table",
    "formula/canonical": "rules hashed forms subexpressions",
    "index/analysis": "flat features",
}
# Commands that build something; the others only ask for names and versions.
BUILDING = {"build_ext", "bdist_wheel", "editable_wheel"}


def extensions() -> list[Extension]:
    """The compiled modules."""
    if not BUILDING & set(sys.argv):
        return []
    from mypyc.build import mypycify

    files = [f"src/porism/{folder}/{name}.py" for folder, names in COMPILED.items() for name in names.split()]
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--config-file="]
    made: list[Extension] = mypycify([*options, *files], opt_level="3", group_name="porism")
    for extension in made:
        extension.optional = True
    return made


setup(ext_modules=extensions())
