"""porism lab submissions: collect the runs of teams."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

HELP = "collect the runs of teams: check each run when it is submitted, and keep receipts"
EXAMPLE = "porism lab submissions add submitted --topics sample/topics/task1.xml --files sample/runs/Abacus-task1-words-auto-text-P.tsv"
EXAMPLES = {
    "add": EXAMPLE,
    "list": "porism lab submissions list submitted",
    "withdraw": "porism lab submissions withdraw submitted Abacus Abacus-task1-words-auto-text-P.tsv",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = actions.add_parser(
        "add", help="submit run files", description="Submit run files. The group in a file's name is its team."
    )
    add.add_argument("folder", metavar="FOLDER", help="the folder of submissions")
    add.add_argument("--files", nargs="+", required=True, metavar="RUN", help="run files")
    add.add_argument("--collection", metavar="DIR", help="look up every hit in this collection")
    add.add_argument("--topics", nargs="*", default=[], metavar="FILE", help="topic files of the tasks")
    show = actions.add_parser("list", help="list the receipts", description="List the receipts.")
    show.add_argument("folder", metavar="FOLDER", help="the folder of submissions")
    show.add_argument("--team", default="", help="only the receipts of this team")
    withdraw = actions.add_parser("withdraw", help="withdraw a run", description="Withdraw a run. Its file is kept.")
    withdraw.add_argument("folder", metavar="FOLDER", help="the folder of submissions")
    withdraw.add_argument("team", help="the team")
    withdraw.add_argument("file", help="the name of the run file")


def run(args: argparse.Namespace) -> int:
    """Do the action; exit with 1 if a run was refused."""
    from porism.lab.submissions import Submissions, submit_files

    if args.action == "add":
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
