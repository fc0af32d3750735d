"""porism agreement: how well assessors agree."""

from __future__ import annotations

import argparse
import json

HELP = "Cohen's kappa of assessors, four-way and High or Medium against the rest"
EXAMPLE = "porism agreement lab.journal"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The journal, and what to compare."""
    parser.add_argument("journal")
    parser.add_argument("--task", type=int, choices=(1, 2), help="only this task")
    parser.add_argument(
        "--training", action="store_true", help="training rounds: against the known grades and among assessors"
    )
    parser.add_argument("--json", action="store_true", help="as JSON, one line per row")


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
