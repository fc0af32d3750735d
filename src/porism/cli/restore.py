"""porism site restore: write a backup into a new folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "restore what porism site backup copied into a new folder, and verify every file"
EXAMPLE = "porism site restore backup.tar -o restored"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("backup", metavar="BACKUP", type=Path, help="a folder or tar file made by porism site backup")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", type=Path, help="the new folder to write")
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")


def run(args: argparse.Namespace) -> int:
    """Restore the backup, and say where its index is."""
    from porism.progress import Silent, for_terminal
    from porism.web.site.restore import restore

    index = restore(args.backup, args.output, Silent() if args.quiet else for_terminal())
    print(f"{args.output}: restored and verified; porism serve {index}", file=sys.stderr)
    return 0
