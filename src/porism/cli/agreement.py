"""porism lab agreement: agreement of assessors."""

from __future__ import annotations

import argparse
import json

HELP = "print the agreement of assessors: Cohen's kappa (plain, High or Medium against the rest, weighted) and Krippendorff's alpha"
EXAMPLE = "porism lab agreement lab.journal"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("journal", metavar="JOURNAL", help="a journal of judgments, made by porism lab assess")
    parser.add_argument("--task", type=int, choices=(1, 2), help="only this task")
    parser.add_argument(
        "--training",
        action="store_true",
        help="compare training rounds instead: with the known grades, and among assessors",
    )
    parser.add_argument(
        "--models",
        action="store_true",
        help="compare models with people instead, grade by grade: rows are the grades of people, columns those of the model",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print a table."""
    from porism.lab.judging.exports import agreement_table, model_table, training_table
    from porism.lab.judging.journal import Journal

    journal = Journal.open(args.journal)
    make = training_table if args.training else model_table if args.models else agreement_table
    header, rows = make(journal, args.task)
    if args.json:
        objects = [dict(zip(header, row, strict=True)) for row in rows]
        name = "training" if args.training else "models" if args.models else ""
        print(json.dumps({name: objects} if name else _pairs_and_mean(objects)))
        return 0
    print("\t".join(header))
    for row in rows:
        cells = ["" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row]
        print("\t".join(cells))
    return 0


def _pairs_and_mean(rows: list[dict[str, str | int | float | None]]) -> dict[str, object]:
    """Separate the pairs of assessors from the last row: the mean over all pairs, and alpha over all assessors."""
    pairs = [{name: value for name, value in row.items() if name != "alpha"} for row in rows[:-1]]
    mean = {name: value for name, value in rows[-1].items() if name not in ("first", "second", "alpha")}
    return {"pairs": pairs, "mean": mean, "alpha": rows[-1]["alpha"]}
