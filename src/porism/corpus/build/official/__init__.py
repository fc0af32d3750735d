"""Official ids: formulas that a source lists with ids, visual ids and MathML of its own, as the files of the lab do.

`OfficialIds` is all that the rest of a build knows of them. As it is, it is for sources without any, such as a dump or
notes; `listed.ListedIds` is for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from porism.corpus.build.expressions import Workspace
from porism.corpus.build.work import number
from porism.corpus.sources.raw import Source
from porism.text.segment import Segment, Text


class FormulaPlace(NamedTuple):
    """The field that a formula is in; `kind` is its place in FORMULA_KINDS."""

    post_id: int
    thread_id: int
    kind: int
    comment_id: int | None = None


class SourceField(NamedTuple):
    """A field of a source, with the ids that it has there."""

    source: int
    post_id: int
    kind: int
    comment_id: int | None = None


class NumberedFormula(NamedTuple):
    """A formula that has an id: its expression and its LaTeX."""

    id: int
    expression_id: int
    latex: str


# Adds a formula of this LaTeX to the collection, with an official id or, for 0, a new one.
AddFormula = Callable[[str, FormulaPlace, int], NumberedFormula]


class OfficialIds:
    """What a build asks about official ids. Here are the answers for sources that have none."""

    def __init__(self, first_own_id: int | None) -> None:
        """`first_own_id` is where the ids of formulas start that the official list lacks, if there is such a list."""
        self.first_own_id = first_own_id

    def import_lists(self, on_batch: Callable[[], None]) -> None:
        """Add the formulas that sources list, and call `on_batch` now and then."""

    def with_spans(self, text: str, field: SourceField) -> str:
        """Return a field in which each formula that its source lists for it is in an official span."""
        return text

    def read_batch(self, texts: Sequence[Text]) -> None:
        """Look up the official formulas that the fields of a batch mark."""

    def numbered(self, formula: Segment, place: FormulaPlace, add: AddFormula) -> Segment:
        """Return a formula of a text with its id and its expression."""
        added = add(formula.text, place, 0)
        return formula._replace(formula_id=added.id, expression_id=added.expression_id)

    def write_batch(self) -> None:
        """Store what `numbered` found out about the official formulas of a batch."""

    def segment_titles(self) -> None:
        """Store the titles of linked questions that the collection lacks."""

    def flag_unplaced(self) -> None:
        """Flag the listed formulas that the text of their post lacks."""


LISTED = "SELECT EXISTS(SELECT 1 FROM formulas) OR EXISTS(SELECT 1 FROM titles)"


def official_ids(space: Workspace, sources: Sequence[Source], first_own_id: int | None) -> OfficialIds:
    """Return the official ids of what was read of the sources. `first_own_id` is that of the collection that is added
    to."""
    if not any(source.official for source in sources) and not number(space.work, LISTED):
        return OfficialIds(first_own_id)
    from porism.corpus.build.official.listed import ListedIds

    return ListedIds(space, sources, first_own_id)
