"""A cut of the lab's collection: posts.jsonl with formulas in place, formulas.tsv, links.tsv, titles.jsonl, slt.tsv."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from porism.corpus.raw import Part, RawComment, RawFormula, RawLink, RawMathML, RawPost, RawTitle, Record
from porism.corpus.tables import Row, read_table
from porism.errors import PorismError

SPAN_ID = re.compile(r'(<span class="math-container" id=")([^"]*)(">)')


class Slice:
    """The folder of a cut. Ids that are not numbers (`x855_1`) get numbers above the official ones, in file order."""

    kind = "slice"
    official = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Posts first: links and formulas refer to them."""
        readers = {
            "posts.jsonl": self._posts,
            "titles.jsonl": self._titles,
            "links.tsv": self._links,
            "formulas.tsv": self._formulas,
            "slt.tsv": self._mathml,
        }
        files = ((self.path / name, read) for name, read in readers.items())
        return [Part.of(file, read) for file, read in files if file.is_file()]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Numbers for the ids that have none: a few hundred, held in memory."""
        other: list[str] = []
        top = 0
        for row in read_table(self.path / "formulas.tsv", ("id",), quoted=False):
            name = row["id"]
            if name.isdecimal():
                top = max(top, int(name))
            else:
                other.append(name)
        return {name: top + at for at, name in enumerate(other, 1)}

    def _number(self, name: str, row: Row) -> int:
        if name.isdecimal():
            return int(name)
        if name not in self._numbers:
            raise PorismError(f"formula id {name!r} is not in formulas.tsv", where=row.where, fix="check the file")
        return self._numbers[name]

    def _text(self, text: str) -> str:
        return SPAN_ID.sub(lambda m: f"{m[1]}{m[2] if m[2].isdecimal() else self._numbers.get(m[2], 0)}{m[3]}", text)

    def _lines(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        path = self.path / name
        with open(path, encoding="utf-8") as stream:
            for line, text in enumerate(stream, 1):
                try:
                    yield line, json.loads(text)
                except ValueError:
                    raise PorismError(
                        "is not a line of JSON", where=f"{path}:{line}", fix="fetch the file again"
                    ) from None

    def _posts(self) -> Iterator[Record]:
        for line, row in self._lines("posts.jsonl"):
            yield RawPost(
                id=row["id"],
                kind=row["type"],
                parent_id=row.get("parent_id"),
                title=self._text(row.get("title") or ""),
                body=self._text(row["body"]),
                form="placed",
                tags=" ".join(row.get("tags") or ()),
                score=row.get("score") or 0,
                created=row.get("created") or "",
                line=line,
            )
            for comment in row.get("comments") or ():
                yield RawComment(comment["id"], row["id"], self._text(comment["body"]), "placed-text", line=line)

    def _titles(self) -> Iterator[Record]:
        for _, row in self._lines("titles.jsonl"):
            yield RawTitle(row["id"], self._text(row["title"]))

    def _links(self) -> Iterator[Record]:
        for row in read_table(self.path / "links.tsv", ("post_id", "other_id", "kind"), quoted=False):
            yield RawLink(row.number("post_id"), row.number("other_id"), row.choice("kind", ("related", "duplicate")))

    def _formulas(self) -> Iterator[Record]:
        names = ("id", "post_id", "thread_id", "type", "latex")
        for row in read_table(self.path / "formulas.tsv", names, quoted=False):
            yield RawFormula(
                id=self._number(row["id"], row),
                post_id=row.number("post_id"),
                thread_id=row.number("thread_id"),
                kind=row.choice("type", ("title", "question", "answer", "comment")),
                latex=row["latex"],
                visual_id=row.maybe("visual_id"),
                comment_id=row.maybe("comment_id"),
            )

    def _mathml(self) -> Iterator[Record]:
        for row in read_table(self.path / "slt.tsv", ("id", "mathml"), quoted=False):
            if row["mathml"]:
                yield RawMathML(self._number(row["id"], row), "mathml", row["mathml"])
