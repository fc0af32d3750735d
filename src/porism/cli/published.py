"""porism lab published: the published tables of the lab."""

from __future__ import annotations

import argparse
import sys

HELP = "print the published tables of the lab"
EXAMPLE = "porism lab published task1"
NAMES = ("teams", "scale", "task1", "task2", "task3", "correlations", "task1-as-task3", "qrels")
FORMATS = ("table", "tsv", "json", "markdown", "latex", "html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("table", choices=NAMES, help="which table to print")
    parser.add_argument("--format", default="table", choices=FORMATS, help="the format to print (default: %(default)s)")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    """Print a table."""
    from porism.evaluate.published import published
    from porism.evaluate.table import render

    sys.stdout.write(render([published(args.table)], args.format))
    return 0
