"""The named systems on the test sets: every figure against the stored one (expected.json), fidelity against runs of the
original programs.

Writes the reproduction matrix (--page), or shows what the best pairs and triples of systems give when they are fused
(--fuse), with weights that are chosen on one year and tested on the other. Exits with 1 if a figure has changed.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from porism.progress import for_terminal


def command(arguments: list[str]) -> None:
    """Verify the systems, or fuse them."""
    shared, kept = os.environ.get("PORISM_SHARED", "../shared"), os.environ.get("PORISM_BENCH_KEEP", ".verify")
    parser = argparse.ArgumentParser("python -m bench verify", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", type=Path, default=Path(shared, "data"), metavar="DIR", help="the test data")
    parser.add_argument(
        "--work", type=Path, default=Path(kept), metavar="DIR", help="where collections, indexes and runs are kept"
    )
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help="only these (default: all)")
    parser.add_argument("--on", action="append", default=[], metavar="SET", help="only these test sets")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=DIR", help="as of `porism run`")
    parser.add_argument("--page", metavar="FILE", help="write the reproduction matrix")
    parser.add_argument("--store", action="store_true", help="store the new figures")
    parser.add_argument("--fuse", type=int, choices=(2, 3), help="fuse pairs or triples of systems instead")
    parser.add_argument("--task", type=int, choices=(1, 2), default=1, help="of the fusions (default: %(default)s)")
    sys.exit(_run(parser.parse_args(arguments)))


def _run(args: argparse.Namespace) -> int:
    from bench.verify.fusion import fusion_table
    from bench.verify.matrix import store_cells, verify
    from bench.verify.page import matrix_page
    from bench.verify.sets import Workplace
    from porism.evaluate.table import render
    from porism.files import atomic_file
    from porism.systems.named_models import parse_models

    place, progress = Workplace(args.data, args.work), for_terminal()
    if args.fuse:
        sys.stdout.write(render([fusion_table(place, args.task, args.fuse, progress)]))
        return 0
    outcome = verify(place, progress, args.system, args.on, parse_models(args.model))
    if args.store:
        store_cells(outcome.cells)
    if args.page:
        with atomic_file(args.page) as stream:
            stream.write(matrix_page(outcome.cells))
    for change in outcome.changes:
        print(f"changed: {change}", file=sys.stderr)
    return 1 if outcome.changes and not args.store else 0
