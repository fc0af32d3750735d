"""Small sources that the tests write, and the shortest way to build them."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

from porism.corpus.build.pipeline import build
from porism.corpus.build.select import Options
from porism.corpus.sources.detect import open_source
from porism.corpus.store.collection import Collection

Row = dict[str, object]

DATE = "2015-03-01T10:00:00.000"


def question(number: int, body: str = "<p>Why?</p>", title: str = "A title", **more: object) -> Row:
    return {
        "Id": number,
        "PostTypeId": 1,
        "CreationDate": DATE,
        "Score": 1,
        "Title": title,
        "Body": body,
        "Tags": "<algebra>",
        **more,
    }


def answer(number: int, parent: int, body: str = "<p>Because.</p>", **more: object) -> Row:
    return {"Id": number, "PostTypeId": 2, "ParentId": parent, "CreationDate": DATE, "Score": 2, "Body": body, **more}


def comment(number: int, post: int, text: str = "Nice.", **more: object) -> Row:
    return {"Id": number, "PostId": post, "Score": 0, "Text": text, "CreationDate": DATE, **more}


def xml(root: str, rows: list[Row]) -> str:
    lines = [
        "  <row " + " ".join(f"{name}={quoteattr(str(value))}" for name, value in row.items()) + " />\n" for row in rows
    ]
    return f'<?xml version="1.0" encoding="utf-8"?>\n<{root}>\n' + "".join(lines) + f"</{root}>\n"


def write_dump(folder: Path, **files: list[Row]) -> Path:
    """write_dump(path, Posts=[...], Comments=[...])"""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        (folder / f"{name}.xml").write_text(xml(name.lower(), rows), "utf-8")
    return folder


def built(target: Path, *sources: Path, options: Options | None = None, jobs: int = 1) -> Collection:
    """The collection of some sources, in this process."""
    return Collection.open(build([open_source(source) for source in sources], target, options, jobs=jobs))


def tally(collection: Collection) -> dict[tuple[str, str], int]:
    """The ledger as (what, why) -> number."""
    return {(entry["what"], entry["why"]): entry["number"] for entry in collection.manifest["ledger"]}


def examples(collection: Collection, what: str, why: str) -> list[str]:
    return next(e["examples"] for e in collection.manifest["ledger"] if (e["what"], e["why"]) == (what, why))
