"""porism site doctor: look over the installation and an index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from porism.doctor.environment import Finding

HELP = "check the installation and an index, and say what to do; exit code 1 if something needs action"
EXAMPLE = "porism site doctor demo/index"
MARKS = {"ok": "ok    ", "note": "note  ", "action": "ACTION"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", nargs="?", metavar="INDEX", help="an index (default: only the installation)")
    parser.add_argument("--verify", action="store_true", help="read every file of the index and its collection, too")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the findings. Return 1 if one needs action."""
    from dataclasses import asdict

    from porism.cli import COMMANDS
    from porism.doctor.checkup import checkup

    found = list(checkup(args.index, args.verify, COMMANDS))
    needs_action = any(finding.state == "action" for finding in found)
    if args.json:
        import json

        print(json.dumps({"ok": not needs_action, "findings": [asdict(one) for one in found]}, indent=1))
    else:
        for finding in found:
            _print(finding)
    return 1 if needs_action else 0


def _print(finding: Finding) -> None:
    print(f"{MARKS[finding.state]}  {finding.subject}: {finding.fact}")
    if finding.fix:
        print(f"          fix: {finding.fix}")
