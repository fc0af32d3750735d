"""porism agreement: agreement of assessors."""

from __future__ import annotations

import argparse
import json

HELP = "print the agreement of assessors: Cohen's kappa on four grades, and on High or Medium against the others"
EXAMPLE = "porism agreement lab.journal"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("journal", metavar="JOURNAL", help="a journal of judgments, made by porism assess")
    parser.add_argument("--task", type=int, choices=(1, 2), help="only this task")
    parser.add_argument(
        "--training",
        action="store_true",
        help="compare training rounds instead: with the known grades, and among assessors",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per row")


def run(args: argparse.Namespace) -> int:
    """Print a table."""
    from porism.lab.judging.exports import agreement_table, training_table
    from porism.lab.judging.journal import Journal

    journal = Journal.open(args.journal)
    header, rows = training_table(journal, args.task) if args.training else agreement_table(journal, args.task)
    if not args.json:
        print("\t".join(header))
    for row in rows:
        shown = ["" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row]
        print(json.dumps(dict(zip(header, row, strict=True))) if args.json else "\t".join(shown))
    return 0
