"""Known-item search on a file of documents: each query has one right document, or few.

A document is a line of JSON with id, name or title, body, section and chapter; its texts are LaTeX. It becomes a post,
whose title has levels.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from porism.cli import main
from porism.corpus.build.pipeline import build
from porism.corpus.post import LEVEL
from porism.corpus.sources.documents.latex import read_latex
from porism.corpus.sources.raw import Part, RawPost, Record
from porism.search.learning.teaching import record_choice
from porism.store import open_content, open_store
from porism.store.maintenance import build_index


def open_text(path: Path) -> IO[str]:
    """Open a file of text, compressed or not."""
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else open(path, encoding="utf-8")


class Documents:
    """Documents as a source of posts. The id of a post is the position of its document, from 1 on."""

    kind = "folder"
    official = False

    def __init__(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        self.path = path
        self.ids = [str(row["id"]) for row in rows]
        self.rows = rows

    @classmethod
    def read(cls, path: Path, sections: bool = True) -> Documents:
        """Read a file of JSON Lines. Without `sections`, they and chapters do not count."""
        left_out = () if sections else ("section", "chapter")
        with open_text(path) as lines:
            rows = [json.loads(line) for line in lines if line.strip()]
        return cls(path, [{key: value for key, value in row.items() if key not in left_out} for row in rows])

    def parts(self) -> Sequence[Part]:
        """Return the file as one part."""
        return [Part.of(self.path, self._posts)]

    def _posts(self) -> Iterator[Record]:
        for number, row in enumerate(self.rows, 1):
            yield RawPost(number, "question", None, _title(row), _html(str(row.get("body", ""))), "spans")


def _title(row: Mapping[str, Any]) -> str:
    own = next((str(row[key]) for key in ("name", "title", "kind", "id") if row.get(key)), "")
    return LEVEL.join([*(_inline(str(row[key])) for key in ("chapter", "section") if row.get(key)), _inline(own)])


def _inline(latex: str) -> str:
    return _html(latex).removeprefix("<p>").removesuffix("</p>")


def _html(latex: str) -> str:
    """Return LaTeX as HTML with formulas in spans."""
    return "".join(section.body for section in read_latex(latex).sections).strip()


def read_queries(path: Path) -> dict[str, str]:
    """Return the queries of a table with the columns id and query, by id."""
    with open_text(path) as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row[0]: row[1] for row in rows if len(row) > 1 and row[:2] != ["id", "query"]}


def index_documents(source: Documents, place: Path) -> Path:
    """Return the index of documents in a folder; build it if it is not there."""
    index = place / "index"
    if not index.exists():
        place.mkdir(parents=True, exist_ok=True)
        home = build([source], place / "collection")
        build_index(open_content(home), index, finish=record_choice)
    return index


def add_encoder(index: Path, model: str) -> None:
    """Add vectors of posts by a model as `porism model encode` does, if the index has none."""
    if not open_store(index).status().encoder:
        main(["model", "encode", str(index), "--encoder", model])
