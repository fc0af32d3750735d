"""porism train: fit the ranking model on judged topics."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "fit the ranking model on judged topics, cross-validated"
EXAMPLE = "porism train demo/index --topics sample/topics/task1.xml --qrels sample/qrels/task1.txt -o model.toml"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")
    parser.add_argument("--topics", nargs="+", required=True, metavar="FILE", help="topic files")
    parser.add_argument(
        "--qrels", nargs="+", required=True, metavar="FILE", help="as many judgment files, in the same order"
    )
    parser.add_argument("--kind", choices=("answers", "questions"), default="answers", help="what the topics look for")
    parser.add_argument("--model", metavar="FILE", help="the model to start from; the shipped one if not given")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL.toml", help="the file to write")


def run(args: argparse.Namespace) -> int:
    """Fit, report, write."""
    from porism.search.engine import Engine
    from porism.search.train import train_files

    if len(args.topics) != len(args.qrels):
        print("porism train: give as many --qrels as --topics", file=sys.stderr)
        return 2
    engine = Engine.open(args.index, args.model)
    pairs = list(zip(args.topics, args.qrels, strict=True))
    for line in train_files(engine, pairs, args.kind, Path(args.output)):
        print(line)
    return 0
