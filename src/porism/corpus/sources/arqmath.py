"""The lab's own files, whole or a cut of them: posts in the official form, links, and tables of formulas."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from porism.corpus.sources import raw
from porism.corpus.sources.dump import FILES, xml_part
from porism.corpus.sources.raw import Dropped, Part, Record, RowError
from porism.corpus.sources.tables import LimitedLines, Row, header, rows_of_table, table_records
from porism.errors import PorismError
from porism.files import open_bytes
from porism.text.markup import MATH_CLASS

VERSIONED = re.compile(r"(\w+)\.V\d[\w.]*\.xml", re.IGNORECASE)
FIELDS = ("title", "question", "answer", "comment")

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
        fact = f"the header {' '.join(columns)!r} is of no known version"
        raise PorismError(fact, where=f"{path}:1", fix="name a formula table of the lab")
    return VERSIONS[columns]


class ArqMath:
    """The lab's folder. Without formula tables, formulas come from the spans of the posts."""

    kind = "arqmath"
    official = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Return the XML files, then the LaTeX, SLT and OPT tables."""
        parts = [xml_part(name, path, placed=True) for name, path in self.xml_files().items()]
        for field in TABLES:
            for path in self.table_files(field):
                read = partial(_formulas, path) if field == "latex" else partial(_mathml, path, field)
                parts.append(Part.of(path, read, f"{path.parent.name}/{path.name}"))
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


def _formulas(path: Path) -> Iterator[Record]:
    version_of(path)
    names = ("id", "post_id", "thread_id", "type", "formula")
    return table_records(path, names, _formula, "formulas", quoted=True)


def _formula(row: Row) -> Record:
    if row["type"] not in FIELDS or not row["formula"].strip():
        raise RowError("empty" if row["type"] in FIELDS else "of no known type")
    return raw.RawFormula(
        id=row.number("id"),
        post_id=row.number("post_id"),
        thread_id=row.number("thread_id"),
        kind=row.choice("type", FIELDS),
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
        return raw.RawMathML(number, field, row["formula"]) if row["formula"] else None  # type: ignore[arg-type]

    return table_records(path, ("id", "formula"), record, "formulas with MathML", quoted=True)


MATH_ID = re.compile(rf'(<span class="{MATH_CLASS}" id=")([^"]*)(">)')


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RowError("not an object of JSON")
    return value


def _text(row: dict[str, Any], name: str) -> str:
    """Return a field that must be text."""
    if not isinstance(row.get(name), str):
        raise RowError(f"there is no {name} that is text")
    return str(row[name])


def _number(row: dict[str, Any], name: str) -> int:
    """Return a field that must be a number."""
    if row.get(name) is None:
        raise RowError(f"there is no {name} that is a number")
    return raw.checked_number(row[name], name)


def _optional_number(row: dict[str, Any], name: str) -> int | None:
    return None if row.get(name) is None else _number(row, name)


class Slice:
    """The folder of a cut. Ids that are not numbers (`x855_1`) get numbers from OWN_IDS on, in file order."""

    kind = "slice"
    official = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Return the files; posts come first, since links and formulas refer to them."""
        readers: dict[str, Callable[[], Iterator[Record]]] = {
            "posts.jsonl": partial(self._lines, "posts.jsonl", "posts", self._post),
            "titles.jsonl": partial(self._lines, "titles.jsonl", "titles of linked questions", self._title),
        }
        tables: dict[str, tuple[tuple[str, ...], Callable[[Row], Record | None], str]] = {
            "links.tsv": (("post_id", "other_id", "kind"), self._link, "links"),
            "formulas.tsv": (("id", "post_id", "thread_id", "type", "latex"), self._formula, "formulas with ids"),
            "slt.tsv": (("id", "mathml"), self._mathml, "formulas with MathML"),
        }
        for name, (needed, make, what) in tables.items():
            readers[name] = partial(table_records, self.path / name, needed, make, what, quoted=False)
        files = ((self.path / name, read) for name, read in readers.items())
        return [Part.of(file, read) for file, read in files if file.is_file()]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Return numbers for the ids that are not numbers: a few hundred, held in memory."""
        rows = rows_of_table(self.path / "formulas.tsv", ("id",), quoted=False)
        names = (row["id"] for row in rows if isinstance(row, Row))
        return {name: at for at, name in enumerate((name for name in names if not name.isdecimal()), raw.OWN_IDS)}

    def _formula_id(self, name: str) -> int:
        if name.isdecimal():
            return raw.whole_number(name, "id")
        if name not in self._numbers:
            raise RowError(f"formula id {name[:40]!r} is not in formulas.tsv")
        return self._numbers[name]

    def _numbered(self, text: str) -> str:
        """Return a text whose formulas have numbers as ids."""
        return MATH_ID.sub(lambda m: f"{m[1]}{m[2] if m[2].isdecimal() else self._numbers.get(m[2], 0)}{m[3]}", text)

    def _lines(self, name: str, what: str, make: Callable[[dict[str, Any], int], Iterable[Record]]) -> Iterator[Record]:
        """Yield the records of JSON lines; a line that cannot be read is dropped, a file without a good one refused."""
        path, good, first = self.path / name, False, None
        with open_bytes(path) as stream:
            lines = LimitedLines(stream)
            for text in lines:
                where, fault, lines.fault = f"{path}:{lines.number}", lines.fault, ""
                try:
                    records = [Dropped(what, fault, where)] if fault else list(make(_parsed(text), lines.number))
                except raw.FAULTS as error:
                    reason = str(error) if isinstance(error, RowError) else f"cannot be read ({type(error).__name__})"
                    records = [Dropped(what, reason, where)]
                good = good or not isinstance(records[0], Dropped)
                first = first or records[0]
                yield from records
        if isinstance(first, Dropped) and not good:
            raise PorismError(f"no line can be read: {first.why}", where=first.where, fix="fetch the file again")

    def _post(self, row: dict[str, Any], line: int) -> Iterator[Record]:
        number = _number(row, "id")
        kind = _text(row, "type")
        if kind not in ("question", "answer"):
            raise RowError(f"type is {kind[:40]!r}, not one of question, answer")
        yield raw.RawPost(
            id=number,
            kind=kind,  # type: ignore[arg-type]
            parent_id=_optional_number(row, "parent_id"),
            title=self._numbered(_text(row, "title") if row.get("title") else ""),
            body=self._numbered(_text(row, "body")),
            form="placed",
            tags=" ".join(row.get("tags") or ()),
            score=_optional_number(row, "score") or 0,
            created=_text(row, "created") if row.get("created") else "",
            line=line,
        )
        where = f"{self.path / 'posts.jsonl'}:{line}"
        for comment in row.get("comments") or ():
            yield raw.keep("comments", where, partial(self._comment, comment, number, line))

    def _comment(self, value: Any, post_id: int, line: int) -> Record:
        row = _object(value)
        return raw.RawComment(_number(row, "id"), post_id, self._numbered(_text(row, "body")), "placed-text", line=line)

    def _title(self, row: dict[str, Any], line: int) -> Iterator[Record]:
        yield raw.RawTitle(_number(row, "id"), self._numbered(_text(row, "title")))

    def _link(self, row: Row) -> Record:
        kind = row.choice("kind", ("related", "duplicate"))
        return raw.RawLink(row.number("post_id"), row.number("other_id"), kind)

    def _formula(self, row: Row) -> Record:
        return raw.RawFormula(
            id=self._formula_id(row["id"]),
            post_id=row.number("post_id"),
            thread_id=row.number("thread_id"),
            kind=row.choice("type", FIELDS),
            latex=row["latex"],
            visual_id=row.optional_number("visual_id"),
            comment_id=row.optional_number("comment_id"),
        )

    def _mathml(self, row: Row) -> Record | None:
        number = self._formula_id(row["id"])
        return raw.RawMathML(number, "mathml", row["mathml"]) if row["mathml"] else None


def _parsed(text: str) -> dict[str, Any]:
    try:
        return _object(json.loads(text))
    except ValueError:
        raise RowError("not a line of JSON") from None


def _is_arqmath(path: Path) -> bool:
    return path.is_dir() and ("Posts" in ArqMath(path).xml_files() or bool(ArqMath(path).table_files("latex")))


KINDS = {
    "slice": raw.SourceKind(
        "a cut of the lab's collection",
        lambda path: (path / "posts.jsonl").is_file() and (path / "formulas.tsv").is_file(),
        Slice,
    ),
    "arqmath": raw.SourceKind("the lab's own files", _is_arqmath, ArqMath),
}
