"""Compile with mypyc the modules that every formula and every snippet passes through. Without a C compiler, or with
PORISM_PURE=1 set, they run as Python, about half as fast."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

# Folders of `src/porism`, and the modules of each that are compiled.
COMPILED = {
    ".": "hashing",
    "formula": "tree parsed binary",
    "formula/latex": "convert repair editable brackets",
    "formula/layout": "labels fences build tuples",
    "formula/operators": "parse calculus functions groups operands scripts stack symbols table",
    "formula/canonical": "rules hashed forms",
    "formula/match": "matcher",
    "analysis": "features",
    "search/display": "snippet highlight post_formulas",
}
# Commands that build something; others only need names and versions.
BUILDING = {"build_ext", "bdist_wheel", "editable_wheel"}
SAMPLE = ("dump", "topics", "qrels", "runs", "system-runs", "LICENSE", "README.md")  # what a wheel holds of the sample


class BuildWithSample(build_py):
    """Put the sample into a wheel, so that `porism demo` works wherever it is installed."""

    def run(self) -> None:
        """Build, then copy the sample."""
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "porism" / "sample"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name in SAMPLE:
            source = Path("sample") / name
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target / name)


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


setup(ext_modules=extensions(), cmdclass={"build_py": BuildWithSample})
