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
            latex = " ".join(concept.latex.split())
            out.write(
                f"{concept.name}\t{concept.display_name}\t{concept.formula_term}\t{concept.posts}\t{concept.strength:.2f}\t{latex}\n"
            )


def read_concepts(directory: Path) -> list[Concept]:
    """Read the concepts of an index."""
    found = []
    for line in (directory / NAME).read_text("utf-8").splitlines():
        name, display_name, formula_term, posts, strength, latex = line.split("\t", 5)
        found.append(Concept(name, display_name, formula_term, latex, int(posts), float(strength)))
    return found
