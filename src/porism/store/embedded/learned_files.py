"""What is learned from a collection, as files of its index: the table of concepts, and the words of its posts,
counted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from porism.analysis.learned import Concept

NAME = "concepts.tsv"


def write_concepts(concepts: Iterable[Concept], directory: Path) -> None:
    """Write concepts as a table."""
    with (directory / NAME).open("w", encoding="utf-8", newline="") as out:
        for concept in concepts:
            name, display_name, term, latex, posts, strength = concept
            line = [name, display_name, term, str(posts), f"{strength:.2f}", " ".join(latex.split())]
            out.write("\t".join(line) + "\n")


def read_concepts(directory: Path) -> list[Concept]:
    """Read the concepts of an index."""
    found = []
    for line in (directory / NAME).read_text("utf-8").splitlines():
        name, display_name, formula_term, posts, strength, latex = line.split("\t", 5)
        found.append(Concept(name, display_name, formula_term, latex, int(posts), float(strength)))
    return found
