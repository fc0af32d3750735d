"""A run of known-item queries on a file of documents: python -m bench known_items --documents FILE.jsonl[.gz] --queries
FILE.tsv -o RUN.

A document is a line of JSON with id, name or title, body, section and chapter, in LaTeX. Queries are a table with the
columns id and query. The run is in TREC form. --encoder names the model of vectors, --keep a folder for collection and
index, to be used again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench._known import Documents, add_encoder, index_documents, read_queries
from porism.files import atomic_file
from porism.search.engine import Engine

DEPTH = 100


def command(arguments: list[str]) -> None:
    """Index the documents, search for each query, write the run."""
    parser = argparse.ArgumentParser("python -m bench known_items", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--documents", required=True, type=Path, metavar="FILE.jsonl[.gz]")
    parser.add_argument("--queries", required=True, type=Path, metavar="FILE.tsv")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="RUN")
    parser.add_argument("--encoder", metavar="MODEL", help="a model directory, or an installed package with a model")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where collection and index stay")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        source = Documents.read(args.documents)
        index = index_documents(source, args.keep or Path(temporary))
        if args.encoder:
            add_encoder(index, args.encoder)
        engine = Engine.open(index)
        with atomic_file(args.output) as out:
            for topic, text in read_queries(args.queries).items():
                ranking = engine.rank(engine.read(text), "questions")
                for rank, (number, score) in enumerate(zip(ranking.ids[:DEPTH], ranking.scores, strict=False), 1):
                    out.write(f"{topic}\tQ0\t{source.ids[int(number) - 1]}\t{rank}\t{score:.6f}\tporism\n")
    print(f"{args.output}: written", file=sys.stderr)
