"""A table of formulas without posts: `visual_id` or `id`, `latex`, optionally `mathml` and `content`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from porism.corpus.sources.raw import Part, RawFormula, Record, RowError
from porism.corpus.sources.tables import Row, header, table_records


class FormulaList:
    """A TSV of formulas. Column `id` becomes the formula's id, `visual_id` its visual id; the post id is 0."""

    kind = "formulas"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns = header(path)
        self.official = "id" in self.columns

    def parts(self) -> Sequence[Part]:
        """Return the one file."""
        return [Part.of(self.path, self._read)]

    def _read(self) -> Iterator[Record]:
        first = "id" if "id" in self.columns else "visual_id"
        return table_records(self.path, (first, "latex"), self._record, "formulas", quoted=False)

    def _record(self, row: Row) -> Record:
        mathml = row.get("mathml") or None
        if not row["latex"].strip() and mathml is None:
            raise RowError("empty")
        return RawFormula(
            id=row.number("id") if self.official else 0,
            post_id=0,
            thread_id=0,
            kind="question",
            latex=row["latex"],
            visual_id=row.optional_number("visual_id"),
            mathml=mathml,
            content=row.get("content") or None,
        )
