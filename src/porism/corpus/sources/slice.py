"""A cut of the lab's collection: posts.jsonl in the official form, formulas.tsv, links.tsv, titles.jsonl, slt.tsv."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from porism.corpus.sources.raw import (
    OWN_IDS,
    Part,
    RawComment,
    RawFormula,
    RawLink,
    RawMathML,
    RawPost,
    RawTitle,
    Record,
)
from porism.corpus.sources.tables import Row, not_utf8, read_table
from porism.errors import PorismError
from porism.text.delimiters import MATH_CLASS

MATH_ID = re.compile(rf'(<span class="{MATH_CLASS}" id=")([^"]*)(">)')

# The required fields of an object.
Required = dict[str, type]
POST: Required = {"id": int, "type": str, "body": str}
COMMENT: Required = {"id": int, "body": str}
TITLE: Required = {"id": int, "title": str}
WORDS = {int: "a number", str: "text"}


def _checked(row: Any, required: Required, where: str) -> dict[str, Any]:
    """Return an object if it has all required fields; a missing one is an error."""
    found = row if isinstance(row, dict) else {}
    for name, kind in required.items():
        if not isinstance(found.get(name), kind):
            raise PorismError(f"there is no {name} that is {WORDS[kind]}", where=where, fix="fetch the file again")
    return found


def _kind(text: str, where: str) -> Literal["question", "answer"]:
    if text not in ("question", "answer"):
        raise PorismError(f"type is {text!r}, not one of question, answer", where=where, fix="correct the file")
    return text  # type: ignore[return-value]


class Slice:
    """The folder of a cut. Ids that are not numbers (`x855_1`) get numbers from OWN_IDS on, in file order."""

    kind = "slice"
    official = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Return the files; posts come first, since links and formulas refer to them."""
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
        """Return numbers for the ids that are not numbers: a few hundred, held in memory."""
        names = (row["id"] for row in read_table(self.path / "formulas.tsv", ("id",), quoted=False))
        return {name: at for at, name in enumerate((name for name in names if not name.isdecimal()), OWN_IDS)}

    def _number(self, name: str, row: Row) -> int:
        if name.isdecimal():
            return int(name)
        if name not in self._numbers:
            raise PorismError(f"formula id {name!r} is not in formulas.tsv", where=row.where, fix="check the file")
        return self._numbers[name]

    def _text(self, text: str) -> str:
        return MATH_ID.sub(lambda m: f"{m[1]}{m[2] if m[2].isdecimal() else self._numbers.get(m[2], 0)}{m[3]}", text)

    def _lines(self, name: str, required: Required) -> Iterator[tuple[int, dict[str, Any]]]:
        path = self.path / name
        line = 0
        with open(path, encoding="utf-8") as stream:
            try:
                for line, text in enumerate(stream, 1):
                    yield line, _checked(json.loads(text), required, f"{path}:{line}")
            except UnicodeDecodeError:
                raise not_utf8(path) from None
            except ValueError:
                raise PorismError("is not a line of JSON", where=f"{path}:{line}", fix="fetch the file again") from None

    def _posts(self) -> Iterator[Record]:
        for line, row in self._lines("posts.jsonl", POST):
            yield RawPost(
                id=row["id"],
                kind=_kind(row["type"], f"{self.path / 'posts.jsonl'}:{line}"),
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
                _checked(comment, COMMENT, f"{self.path / 'posts.jsonl'}:{line}")
                yield RawComment(comment["id"], row["id"], self._text(comment["body"]), "placed-text", line=line)

    def _titles(self) -> Iterator[Record]:
        for _, row in self._lines("titles.jsonl", TITLE):
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
                visual_id=row.optional_number("visual_id"),
                comment_id=row.optional_number("comment_id"),
            )

    def _mathml(self) -> Iterator[Record]:
        for row in read_table(self.path / "slt.tsv", ("id", "mathml"), quoted=False):
            if row["mathml"]:
                yield RawMathML(self._number(row["id"], row), "mathml", row["mathml"])
