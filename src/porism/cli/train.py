"""porism train: fit the weights of the ranking features."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "fit the weights of the ranking model on judged topics, with cross-validation"
EXAMPLE = "porism train demo/index --topics sample/topics/task1.xml --qrels sample/qrels/task1.txt -o model.toml"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")
    parser.add_argument("--topics", nargs="+", required=True, metavar="FILE", help="one or more topic files")
    parser.add_argument(
        "--qrels", nargs="+", required=True, metavar="FILE", help="the qrels of each topic file, in the same order"
    )
    parser.add_argument(
        "--kind",
        choices=("answers", "questions"),
        default="answers",
        help="what the topics ask for (default: %(default)s)",
    )
    parser.add_argument(
        "--model", metavar="FILE", help="the model to start from (default: the one that comes with Porism)"
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL.toml", help="the file to write")


def run(args: argparse.Namespace) -> int:
    """Fit the model, print the cross-validated figures, write the model."""
    from porism.search.engine import Engine
    from porism.search.train import JudgedTopics, train_files

    if len(args.topics) != len(args.qrels):
        print("porism train: give as many --qrels as --topics", file=sys.stderr)
        return 2
    engine = Engine.open(args.index, args.model)
    files = [JudgedTopics(topics, qrels) for topics, qrels in zip(args.topics, args.qrels, strict=True)]
    for line in train_files(engine, files, args.kind, Path(args.output)):
        print(line)
    return 0
