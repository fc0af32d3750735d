"""porism site backup: copy an index with everything that belongs to it, while it is in use."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "copy an index, its collection, waiting changes, journals and settings, also while they are in use"
EXAMPLE = "porism site backup demo/index -o backup.tar"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", type=Path, help="a folder made by porism index")
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR|FILE.tar", type=Path, help="the new folder or tar file to write"
    )
    parser.add_argument(
        "--journal", action="append", default=[], metavar="FILE", type=Path, help="a journal of judgments (repeat)"
    )
    parser.add_argument(
        "--site",
        metavar="FILE.toml",
        type=Path,
        help="the settings file, with the logo and the user file that it names",
    )
    parser.add_argument(
        "--file", action="append", default=[], metavar="FILE", type=Path, help="another file of the site (repeat)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")


def run(args: argparse.Namespace) -> int:
    """Write the backup, and say what it holds."""
    from porism.progress import Silent, for_terminal
    from porism.web.site.backup import back_up

    progress = Silent() if args.quiet else for_terminal()
    made = back_up(args.index, args.output, args.journal, [*_site_files(args.site), *args.file], progress)
    print(f"{args.output}: {len(made.files):,} files, {made.size / 1e6:,.1f} MB, verified", file=sys.stderr)
    return 0


def _site_files(settings: Path | None) -> list[Path]:
    """Return a settings file and the files that it names."""
    if settings is None:
        return []
    from porism.web.site.reading import read_settings

    site = read_settings(settings).checked()
    return [settings, *(Path(name) for name in (site.site.logo, site.access.users) if name)]
