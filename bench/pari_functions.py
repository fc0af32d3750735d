"""The functions of PARI/GP, a collection on which nothing was fitted: python -m bench pari_functions --description
pari.desc -o FOLDER.

`pari.desc` (Debian: libpari-dev) has for each function a line of help and a page of documentation in TeX. The page is
the document, with the name of the function as title and its chapter as section; the first sentence of the help, without
the call, is a query that should find it. FOLDER gets documents.jsonl, queries.tsv and queries.qrels, which `python -m
bench known_items` and other programs read. Printed are BM25 and Porism as it ships.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from bench._known import Documents, add_encoder, index_documents
from bench.collections import KnownItem, Search, Test, bm25, by_order, by_vectors, shown
from porism.search.engine import Engine
from porism.search.query import Kind

FIELD = re.compile(r"^([A-Z][\w-]*):[ ]?", re.M)
CALL = re.compile(r"^[^:]*: ")
SENTENCE = re.compile(r"[.;](?:\s|$)")


def functions(text: str) -> Iterator[dict[str, str]]:
    """Yield the fields of each function that users call and that has a page."""
    for block in re.split(r"\n(?=Function: )", text):
        pieces = FIELD.split(block)[1:]
        fields = {name: value.strip() for name, value in zip(pieces[::2], pieces[1::2], strict=True)}
        if fields.get("Class") == "basic" and "Doc" in fields and "Obsolete" not in fields and "Help" in fields:
            yield fields


def query_of(fields: dict[str, str]) -> str:
    """Return the first sentence of the help, without the call of the function."""
    help = " ".join(fields["Help"].split())
    return SENTENCE.split(CALL.sub("", help, count=1), maxsplit=1)[0].strip()


def write(found: list[dict[str, str]], folder: Path) -> None:
    """Write documents, queries and right documents."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "id": one["Function"],
            "title": one["Function"],
            "section": one["Section"].replace("_", " "),
            "body": one["Doc"],
        }
        for one in found
    ]
    (folder / "documents.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    queries = {f"q{number}": query_of(one) for number, one in enumerate(found, 1)}
    table = "".join(f"{name}\t{query}\n" for name, query in queries.items())
    (folder / "queries.tsv").write_text(f"id\tquery\n{table}", "utf-8")
    right = (f"{name} 0 {one['Function']} 1\n" for name, one in zip(queries, found, strict=True))
    (folder / "queries.qrels").write_text("".join(right), "utf-8")


def command(arguments: list[str]) -> None:
    """Write the files and print the table."""
    parser = argparse.ArgumentParser("python -m bench pari_functions", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--description", required=True, type=Path, metavar="pari.desc")
    parser.add_argument("-o", "--output", dest="folder", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--encoder", metavar="MODEL", help="a model directory, or an installed package with a model")
    args = parser.parse_args(arguments)
    found = list(functions(args.description.read_text("utf-8", "replace")))
    write(found, args.folder)
    place = index_documents(Documents.read(args.folder / "documents.jsonl"), args.folder / "index")
    items = [KnownItem(query_of(one), frozenset({number})) for number, one in enumerate(found, 1)]
    test = Test("PARI/GP", "help of a function", "MRR@10", lambda: place, items)
    show(test, {"BM25": bm25, "Porism": ranked})
    if args.encoder:
        add_encoder(place, args.encoder)
        show(test, {"model alone": by_vectors, "Porism + model": ranked})


def show(test: Test, searches: dict[str, Callable[[Engine, Kind], Search]]) -> None:
    """Print the measure of each way of searching."""
    engine = Engine.open(test.index())
    for name, search in searches.items():
        print(f"{name}\t{shown(by_order(test, engine, search(engine, test.kind)))}", flush=True)


def ranked(engine: Engine, kind: Kind) -> Search:
    """Return the search of the engine itself."""
    return lambda query: engine.rank(query, kind).ids[:100].tolist()
