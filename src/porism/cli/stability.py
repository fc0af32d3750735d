"""porism lab stability: how many judgments does a stable order of systems need?"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

HELP = "print how stable the order of systems is with the judgments so far, and when to stop judging"
EXAMPLE = "porism lab stability sample/qrels/task1.txt sample/runs/*task1*.tsv"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("judgments", metavar="JOURNAL|QRELS", help="a journal of judgments, or a qrels file")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="two or more runs of Task 1 or 2")
    parser.add_argument("--task", type=int, choices=(1, 2), default=1, help="the task of a journal (default: 1)")
    parser.add_argument(
        "--measure", default="nDCG'", metavar="M", help="the measure that orders the systems (default: %(default)s)"
    )
    parser.add_argument("--points", type=int, default=20, help="points of the curve (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=500, help="draws of topics at each point (default: %(default)s)")
    parser.add_argument(
        "--seed",
        type=int,
        default=2022,
        help="seed of the draws and of the order of a qrels file (default: %(default)s)",
    )
    parser.add_argument(
        "--collection", metavar="DIR", help="Task 2: look up the visual ids of formulas in this collection"
    )
    parser.add_argument("--visual-map", metavar="FILE", help="Task 2: look up visual ids in this table")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
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
        return 0
    print("judgments\ttopics\ttau\ttau_5%\ttau_to_all")
    for point in found.points:
        taus = ("" if value is None else f"{value:.3f}" for value in (point.tau, point.low, point.final))
        print(point.judgments, point.topics, *taus, sep="\t")
    print(found.hint)
    return 0
