"""porism train: fit the weights of the ranking features."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.values import bias

if TYPE_CHECKING:
    from porism.search.engine import Engine

HELP = "fit the weights of the ranking model on judged topics or on clicks, with cross-validation"
EXAMPLE = "porism train demo/index --topics sample/topics/task1.xml --qrels sample/qrels/task1.txt -o model.toml"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")
    parser.add_argument("--topics", nargs="+", default=[], metavar="FILE", help="one or more topic files")
    parser.add_argument(
        "--qrels", nargs="+", default=[], metavar="FILE", help="the qrels of each topic file, in the same order"
    )
    parser.add_argument(
        "--clicks", metavar="FILE", help="learn from clicks instead: a file that porism serve --analytics wrote"
    )
    parser.add_argument(
        "--position-bias",
        type=bias,
        metavar="B",
        help="readers look at position k with probability k^-B (default: estimated from the clicks, else 1)",
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

    if bool(args.clicks) == bool(args.topics) or len(args.topics) != len(args.qrels):
        print("porism train: give --topics and as many --qrels, or --clicks", file=sys.stderr)
        return 2
    for line in _lines(args, Engine.open(args.index, args.model)):
        print(line)
    return 0


def _lines(args: argparse.Namespace, engine: Engine) -> Iterator[str]:
    if args.clicks:
        from porism.search.analytics.training import ClickOptions, train_on_clicks

        return train_on_clicks(
            engine, Path(args.clicks), ClickOptions(args.kind, args.position_bias), Path(args.output)
        )
    from porism.search.train import JudgedTopics, train_files

    files = [JudgedTopics(topics, qrels) for topics, qrels in zip(args.topics, args.qrels, strict=True)]
    return train_files(engine, files, args.kind, Path(args.output))
