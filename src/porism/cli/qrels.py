"""porism lab qrels: write qrels files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.lab.judging.qrels import QrelsVariants

HELP = "write qrels from a journal of judgments, or from a table of judged formulas"
EXAMPLE = "porism lab qrels lab.journal --task 1 -o qrels"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "journal",
        metavar="JOURNAL",
        help="a journal made by porism lab assess, or (Task 2) a table with the columns topic, post_id, latex, grade",
    )
    parser.add_argument("--task", type=int, choices=(1, 2, 3), required=True, help="the task")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder for the files")
    parser.add_argument("--name", default="", help="a part of the file names, such as the year")
    parser.add_argument(
        "--minimum",
        type=int,
        default=2,
        metavar="N",
        help="leave topics with fewer High or Medium items out of the official file (default: %(default)s)",
    )
    parser.add_argument(
        "--sampled", action="store_true", help="also write a file with pooled but unjudged items as -1, for infAP"
    )
    parser.add_argument(
        "--collection", metavar="DIR", help="for a table: look up the visual ids of formulas in this collection"
    )


def run(args: argparse.Namespace) -> int:
    """Write the variants and say which topics were left out."""
    from porism.lab.judging.qrels import write_variants

    found = _from_table(args) if args.collection else _from_journal(args)
    for path in write_variants(found, args.task, Path(args.output), args.name):
        print(path)
    if found.removed:
        print(
            f"left out of the official file (fewer than {args.minimum} High or Medium): {' '.join(found.removed)}",
            file=sys.stderr,
        )
    return 0


def _from_journal(args: argparse.Namespace) -> QrelsVariants:
    from porism.lab.judging.assessments import assessments
    from porism.lab.judging.items import pooled_items
    from porism.lab.judging.journal import Journal
    from porism.lab.judging.qrels import variants

    journal = Journal.open(args.journal)
    pooled = pooled_items(journal, 2 if args.task == 2 else 1) if args.sampled else None
    return variants(assessments(journal, "main"), args.task, minimum=args.minimum, pooled=pooled)


def _from_table(args: argparse.Namespace) -> QrelsVariants:
    from porism.errors import PorismError
    from porism.lab.judging.qrels import variants_by_visual_id
    from porism.store import open_content

    if args.task != 2:
        raise PorismError("a table of judged formulas is of Task 2", where=args.journal, fix="write --task 2")
    return variants_by_visual_id(Path(args.journal), open_content(args.collection), args.minimum)
