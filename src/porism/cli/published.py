"""porism published: the tables of the lab."""

from __future__ import annotations

import argparse
import sys

HELP = "print the published tables of the lab"
EXAMPLE = "porism published task1"
NAMES = ("teams", "scale", "task1", "task2", "task3", "correlations", "task1-as-task3", "qrels")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("table", choices=NAMES, help="which table")
    parser.add_argument(
        "--format",
        default="table",
        choices=("table", "tsv", "json", "markdown", "latex", "html"),
        help="how to print it",
    )
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    """Print a table."""
    from porism.evaluate.published import published
    from porism.evaluate.reports.table import render

    sys.stdout.write(render([published(args.table)], args.format))
    return 0
