"""porism systems: list the named systems, and show what each is made of."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.systems.verify.sets import Workplace

HELP = "list the named systems of the published tables; show one"
EXAMPLE = "porism systems"
EXAMPLES = {
    "show": "porism systems show MSM/BM25_system",
    "fuse": "porism systems fuse --task 1 --size 2 --data ../shared/data --work /tmp/verify",
    "verify": "porism systems verify MSM/BM25_system --data ../shared/data --work /tmp/verify",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per system")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=False)
    show = actions.add_parser(
        "show",
        help="show the pipeline of a system",
        description="Show the pipeline of a system, its published scores, and what is known and unknown of it.",
    )
    show.add_argument("name", metavar="NAME", help="team/run, the run alone where it is unambiguous, or FILE.toml:NAME")
    show.add_argument("--task", type=int, choices=(1, 2, 3), help="the task, for a name of two tasks (default: both)")
    show.add_argument("--svg", action="store_true", help="draw the pipeline, as SVG")
    verify = actions.add_parser(
        "verify",
        help="run all systems on the test sets and compare every figure with the stored one",
        description="Run the systems on the test sets, compare scores and fidelity with the stored figures, write the reproduction matrix. "
        "Exit with 1 if a figure has changed.",
    )
    verify.add_argument("names", nargs="*", metavar="NAME", help="only these systems (default: all that can run)")
    verify.add_argument(
        "--on", action="append", default=[], dest="sets", metavar="SET", help="only this test set (repeat for several)"
    )
    verify.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="the directory of a pretrained model, or of all models of a kind; systems that use it are substitutes (repeat for several)",
    )
    verify.add_argument("--page", metavar="FILE", help="write the reproduction matrix to this file")
    verify.add_argument("--store", action="store_true", help="store the new figures beside the declarations")
    fuse = actions.add_parser(
        "fuse",
        help="show what the best pairs and triples of systems give when fused",
        description="Fuse all pairs or triples of systems on the test sets: weights chosen on one year and tested on the other.",
    )
    fuse.add_argument("--task", type=int, choices=(1, 2), default=1, help="default: %(default)s")
    fuse.add_argument("--size", type=int, choices=(2, 3), default=2, help="systems in a fusion (default: %(default)s)")
    fuse.add_argument(
        "--format", default="table", choices=("table", "tsv", "json", "markdown"), help="default: %(default)s"
    )
    for action in (verify, fuse):
        action.add_argument("--data", metavar="DIR", help="the test data (default: $PORISM_SHARED/data)")
        action.add_argument(
            "--work", metavar="DIR", help="where collections, indexes and runs are kept (default: $PORISM_BENCH_KEEP)"
        )
        action.set_defaults(resume="the same command continues where it stopped")


def run(args: argparse.Namespace) -> int:
    """List the systems, or do an action."""
    if args.action in ("verify", "fuse"):
        return verify_systems(args) if args.action == "verify" else fuse_systems(args)
    from porism.systems.declared.describe import described, drawn, system_lines, system_table

    if args.action == "show":
        sys.stdout.write(drawn(args.name, args.task) if args.svg else described(args.name, args.task))
    else:
        sys.stdout.write(system_lines() if args.json else system_table())
    return 0


def workplace(args: argparse.Namespace) -> Workplace:
    """Return the folders of test data and of work, by options or environment."""
    import os
    from pathlib import Path

    from porism.errors import PorismError
    from porism.systems.verify.sets import Workplace

    shared, kept = os.environ.get("PORISM_SHARED", ""), os.environ.get("PORISM_BENCH_KEEP", "")
    data, work = args.data or (shared and f"{shared}/data"), args.work or kept
    if not data or not work:
        raise PorismError("no test data, or no folder to work in", fix="name both: --data DIR --work DIR")
    return Workplace(Path(data), Path(work))


def fuse_systems(args: argparse.Namespace) -> int:
    """Print the best fusions."""
    from porism.evaluate.reports.table import render
    from porism.progress import for_terminal
    from porism.systems.verify.fusion import fusion_table

    progress = for_terminal()
    sys.stdout.write(render([fusion_table(workplace(args), args.task, args.size, progress)], args.format))
    return 0


def verify_systems(args: argparse.Namespace) -> int:
    """Verify the systems; return 1 if a figure is not the stored one."""
    from porism.files import atomic_file
    from porism.progress import for_terminal
    from porism.systems.neural.named_models import parse_models
    from porism.systems.verify.matrix import store_cells, verify
    from porism.systems.verify.page import matrix_page

    progress, models = for_terminal(), parse_models(args.model)
    outcome = verify(workplace(args), progress, args.names, args.sets, lambda line: print(line, flush=True), models)
    if args.store:
        print(f"stored {store_cells(outcome.cells)}", file=sys.stderr)
    if args.page:
        with atomic_file(args.page) as stream:
            stream.write(matrix_page(outcome.cells))
    for change in outcome.changes:
        print(f"changed: {change}", file=sys.stderr)
    return 1 if outcome.changes and not args.store else 0
