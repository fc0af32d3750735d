"""Compiles with mypyc what every formula goes through; without a C compiler the same files run as they are, at about half the speed."""

from __future__ import annotations

import sys

from setuptools import Extension, setup

COMPILED = """
    tree labels fences layout rows operators operators_apply operators_build operators_calculus operators_groups operators_operands
    operators_prefix operators_scripts operators_stack operators_symbols operators_table rules rules_term canonical tuples tangent
    parsed binary convert repair source balance tame
"""
# Commands that build something; the others only ask for names and versions.
BUILDING = {"build_ext", "bdist_wheel", "editable_wheel"}


def extensions() -> list[Extension]:
    """The compiled modules."""
    if not BUILDING & set(sys.argv):
        return []
    from mypyc.build import mypycify

    files = [f"src/porism/formula/{name}.py" for name in COMPILED.split()]
    files += ["src/porism/index/flat.py", "src/porism/index/features.py"]
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--config-file="]
    made: list[Extension] = mypycify([*options, *files], opt_level="3", group_name="porism")
    for extension in made:
        extension.optional = True
    return made


setup(ext_modules=extensions())
