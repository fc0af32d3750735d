"""porism qrels: judgments become the files that measures read."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "make qrels from a journal of judgments"
EXAMPLE = "porism qrels lab.journal --task 1 -o qrels"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The journal, the task and where to write."""
    parser.add_argument("journal")
    parser.add_argument("--task", type=int, choices=(1, 2, 3), required=True)
    parser.add_argument("-o", "--output", required=True, help="folder for the files")
    parser.add_argument("--name", default="", help="a word for the file names, such as the year")
    parser.add_argument(
        "--minimum", type=int, default=2, help="High or Medium items that a topic needs to stay official (default 2)"
    )
    parser.add_argument(
        "--sampled", action="store_true", help="also write pooled items that nobody judged as -1, for infAP"
    )


def run(args: argparse.Namespace) -> int:
    """Write the variants and say which topics were left out."""
    from porism.lab.journal import Journal
    from porism.lab.judging import assessments
    from porism.lab.loading import pooled_items
    from porism.lab.qrels import variants, write_variants

    journal = Journal.open(args.journal)
    pooled = pooled_items(journal, 2 if args.task == 2 else 1) if args.sampled else None
    found = variants(assessments(journal, "main"), args.task, minimum=args.minimum, pooled=pooled)
    for path in write_variants(found, args.task, Path(args.output), args.name):
        print(path)
    if found.removed:
        print(
            f"left out of the official file (fewer than {args.minimum} High or Medium): {' '.join(found.removed)}",
            file=sys.stderr,
        )
    return 0
