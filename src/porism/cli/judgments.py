"""porism lab agreement, stability, qrels: what judgments say."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import argument, command
from porism.cli.options import JSON

if TYPE_CHECKING:
    from porism.lab.judging.qrels import QrelsVariants


@command(
    "porism lab agreement lab.journal",
    argument("journal", metavar="JOURNAL", help="a journal of judgments, made by porism lab assess"),
    argument("--task", type=int, choices=(1, 2), help="only this task"),
    argument(
        "--training",
        action="store_true",
        help="compare training rounds instead: with the known grades, and among assessors",
    ),
    argument(
        "--models",
        action="store_true",
        help="compare models with people instead, grade by grade: rows are the grades of people, columns those of "
        "the model",
    ),
    JSON,
)
def agreement(args: argparse.Namespace) -> None:
    """Print a table."""
    from porism.evaluate.table import tsv
    from porism.lab.judging.exports import agreement_table, model_table, training_table
    from porism.lab.judging.journal import Journal

    journal = Journal.open(args.journal)
    make = training_table if args.training else model_table if args.models else agreement_table
    table = make(journal, args.task)
    if args.json:
        objects = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        named = {table.name: objects}
        print(json.dumps(_pairs_and_mean(objects) if make is agreement_table else named))
    else:
        print(tsv(table), end="")


def _pairs_and_mean(rows: list[dict[str, str | int | float | None]]) -> dict[str, object]:
    """Separate the pairs of assessors from the last row: the mean over all pairs, and alpha over all assessors."""
    pairs = [{name: value for name, value in row.items() if name != "alpha"} for row in rows[:-1]]
    mean = {name: value for name, value in rows[-1].items() if name not in ("first", "second", "alpha")}
    return {"pairs": pairs, "mean": mean, "alpha": rows[-1]["alpha"]}


@command(
    "porism lab stability sample/qrels/task1.txt sample/runs/*task1*.tsv",
    argument("judgments", metavar="JOURNAL|QRELS", help="a journal of judgments, or a qrels file"),
    argument("runs", nargs="+", metavar="RUN", help="two or more runs of Task 1 or 2"),
    argument("--task", type=int, choices=(1, 2), default=1, help="the task of a journal (default: 1)"),
    argument(
        "--measure", default="nDCG'", metavar="M", help="the measure that orders the systems (default: %(default)s)"
    ),
    argument("--points", type=int, default=20, help="points of the curve (default: %(default)s)"),
    argument("--draws", type=int, default=500, help="draws of topics at each point (default: %(default)s)"),
    argument(
        "--seed",
        type=int,
        default=2022,
        help="seed of the draws and of the order of a qrels file (default: %(default)s)",
    ),
    argument("--collection", metavar="DIR", help="Task 2: look up the visual ids of formulas in this collection"),
    argument("--visual-map", metavar="FILE", help="Task 2: look up visual ids in this table"),
    JSON,
)
def stability(args: argparse.Namespace) -> None:
    """Print a table and the hint."""
    from porism.evaluate.measures.measure import parse
    from porism.evaluate.reliability import stability
    from porism.evaluate.runs.lookup import find_visual_ids, read_runs
    from porism.lab.judging.assessments import judgments_in_order

    judgments = judgments_in_order(args.judgments, args.task, args.seed)
    found = stability(
        judgments,
        read_runs(args.runs, find_visual_ids(args.runs, args.collection, args.visual_map, {})),
        parse(args.measure),
        points=args.points,
        draws=args.draws,
        seed=args.seed,
    )
    if args.json:
        print(
            json.dumps(
                {
                    "points": [asdict(point) for point in found.points],
                    "stable_from": found.stable_from,
                    "hint": found.hint,
                }
            )
        )
        return
    print("judgments\ttopics\ttau\ttau_5%\ttau_to_all")
    for point in found.points:
        taus = ("" if value is None else f"{value:.3f}" for value in (point.tau, point.low, point.final))
        print(point.judgments, point.topics, *taus, sep="\t")
    print(found.hint)


@command(
    "porism lab qrels lab.journal --task 1 -o qrels",
    argument(
        "journal",
        metavar="JOURNAL",
        help="a journal made by porism lab assess, or (Task 2) a table with the columns topic, post_id, latex, grade",
    ),
    argument("--task", type=int, choices=(1, 2, 3), required=True, help="the task"),
    argument("-o", "--output", required=True, metavar="DIR", help="the folder for the files"),
    argument("--name", default="", help="a part of the file names, such as the year"),
    argument(
        "--minimum",
        type=int,
        default=2,
        metavar="N",
        help="leave topics with fewer High or Medium items out of the official file (default: %(default)s)",
    ),
    argument(
        "--sampled", action="store_true", help="also write a file with pooled but unjudged items as -1, for infAP"
    ),
    argument("--collection", metavar="DIR", help="for a table: look up the visual ids of formulas in this collection"),
)
def qrels(args: argparse.Namespace) -> None:
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
