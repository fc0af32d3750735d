"""porism submissions: runs handed in by teams."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

HELP = "take runs of teams into a folder: checked at once, with receipts"
EXAMPLE = "porism submissions take handed-in --topics sample/topics/task1.xml --files sample/runs/Abacus-task1-words-auto-text-P.tsv"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Three actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    take = actions.add_parser("take", help="hand in run files; the group in a file's name is its team")
    take.add_argument("folder")
    take.add_argument("--files", nargs="+", required=True)
    take.add_argument("--collection", help="look up every hit there")
    take.add_argument("--topics", nargs="*", default=[], help="topics files of the tasks")
    show = actions.add_parser("list", help="every receipt")
    show.add_argument("folder")
    show.add_argument("--team", default="")
    withdraw = actions.add_parser("withdraw", help="take back a run; it is kept aside")
    withdraw.add_argument("folder")
    withdraw.add_argument("team")
    withdraw.add_argument("file")


def run(args: argparse.Namespace) -> int:
    """Do one action; 1 if a run was refused."""
    from porism.lab.submissions import Submissions, submit_files

    if args.action == "take":
        done = submit_files(Path(args.folder), args.files, args.topics, args.collection)
        for receipt in done:
            print(f"{receipt.number}\t{receipt.team}\t{receipt.file}\t{receipt.verdict}")
            for line in receipt.report:
                print(line, file=sys.stderr)
        return int(any(receipt.verdict == "refused" for receipt in done))
    submissions = Submissions(Path(args.folder))
    if args.action == "withdraw":
        print(submissions.withdraw(args.team, args.file).number)
        return 0
    for receipt in submissions.receipts(args.team):
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(receipt.at))
        print(f"{receipt.number}\t{when}\t{receipt.team}\t{receipt.file}\t{receipt.verdict}\t{receipt.sha256}")
    return 0
