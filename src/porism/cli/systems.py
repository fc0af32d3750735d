"""porism systems: list the named systems, and show what each is made of."""

from __future__ import annotations

import argparse
import sys

HELP = "list the named systems of the published tables; show one"
EXAMPLE = "porism systems"
EXAMPLES = {"show": "porism systems show MSM/BM25_system"}


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


def run(args: argparse.Namespace) -> int:
    """List the systems, or do an action."""
    from porism.systems.declared.describe import described, drawn, system_lines, system_table

    if args.action == "show":
        sys.stdout.write(drawn(args.name, args.task) if args.svg else described(args.name, args.task))
    else:
        sys.stdout.write(system_lines() if args.json else system_table())
    return 0
