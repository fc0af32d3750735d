"""The lab's own files: Posts.V1.x.xml and the other XML files, and three folders of formula tables (v1, v2 or v3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from porism.corpus.sources.dump import FILES, xml_part
from porism.corpus.sources.raw import Part, RawFormula, RawMathML, Record, RowError
from porism.corpus.sources.tables import Row, header, table_records
from porism.errors import PorismError

VERSIONED = re.compile(r"(\w+)\.V\d[\w.]*\.xml", re.IGNORECASE)
KINDS = ("title", "question", "answer", "comment")

# The columns of the three versions; the header tells the version, never the name of the folder.
V1 = ("id", "post_id", "thread_id", "type", "formula")
V2 = ("id", "post_id", "thread_id", "type", "visual_id", "formula")
V3 = ("id", "post_id", "thread_id", "type", "comment_id", "old_visual_id", "visual_id", "issue", "formula")
VERSIONS = {V1: 1, V2: 2, V3: 3}
# The folder of each representation.
TABLES = {"latex": "latex_representation", "mathml": "slt_representation", "content": "opt_representation"}


def version_of(path: Path) -> int:
    """Return the version of a formula table by its header: 1, 2 or 3."""
    columns = tuple(header(path))
    if columns not in VERSIONS:
        raise PorismError(
            f"the header {' '.join(columns)!r} is of no known version",
            where=f"{path}:1",
            fix="name a formula table of the lab",
        )
    return VERSIONS[columns]


class ArqMath:
    """The lab's folder. Without formula tables, formulas come from the spans of the posts."""

    kind = "arqmath"
    official = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Return the XML files, then the LaTeX, SLT and OPT tables."""
        parts = [self._xml(name, path) for name, path in self.xml_files().items()]
        for field in TABLES:
            parts += [self._table(field, path) for path in self.table_files(field)]
        return parts

    def xml_files(self) -> dict[str, Path]:
        """Return the versioned XML files that the folder has."""
        found: dict[str, Path] = {}
        wanted = {name.lower(): name for name in FILES}
        for path in sorted(self.path.rglob("*.[xX][mM][lL]")):
            match = VERSIONED.fullmatch(path.name)
            if match and match[1].lower() in wanted:
                found.setdefault(wanted[match[1].lower()], path)
        return {name: found[name] for name in FILES if name in found}

    def table_files(self, field: str) -> list[Path]:
        """Return the tables of a representation in the order of their numbers."""
        prefix = TABLES[field]
        folders = sorted(
            path for path in self.path.rglob("*") if path.is_dir() and path.name.lower().startswith(prefix)
        )
        loose = sorted(path for path in self.path.rglob("*.tsv") if path.name.lower().startswith(prefix))
        parts = [path for folder in folders[-1:] for path in folder.glob("*.tsv")]
        return sorted(parts, key=lambda path: (len(path.stem), path.stem)) or loose

    def _xml(self, name: str, path: Path) -> Part:
        return xml_part(name, path, placed=True)

    def _table(self, field: str, path: Path) -> Part:
        read = (lambda: _formulas(path)) if field == "latex" else (lambda: _mathml(path, field))
        return Part.of(path, read, f"{path.parent.name}/{path.name}")


def _formulas(path: Path) -> Iterator[Record]:
    version_of(path)
    names = ("id", "post_id", "thread_id", "type", "formula")
    return table_records(path, names, _formula, "formulas", quoted=True)


def _formula(row: Row) -> Record:
    if row["type"] not in KINDS or not row["formula"].strip():
        raise RowError("empty" if row["type"] in KINDS else "of no known type")
    return RawFormula(
        id=row.number("id"),
        post_id=row.number("post_id"),
        thread_id=row.number("thread_id"),
        kind=row.choice("type", KINDS),
        latex=row["formula"],
        visual_id=row.optional_number("visual_id"),
        comment_id=row.optional_number("comment_id"),
        old_visual_id=row.optional_number("old_visual_id"),
        issue=row.get("issue"),
    )


def _mathml(path: Path, field: str) -> Iterator[Record]:
    version_of(path)

    def record(row: Row) -> Record | None:
        number = row.number("id")
        return RawMathML(number, field, row["formula"]) if row["formula"] else None  # type: ignore[arg-type]

    return table_records(path, ("id", "formula"), record, "formulas with MathML", quoted=True)
