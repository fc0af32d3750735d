"""porism build: build a collection from its sources."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from porism.cli.values import add_jobs_option

HELP = "build a collection from a site's dump, the lab's files, a table of formulas or a folder of documents"
EXAMPLE = "porism build sample/dump -o sample-collection"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a Stack Exchange dump (folder or .7z), the lab's files, formulas.tsv, or a folder of documents",
    )
    parser.add_argument("-o", "--output", required=True, metavar="COLLECTION", help="the folder to create")
    parser.add_argument(
        "--add",
        default="",
        metavar="COLLECTION",
        help="start from this collection: the new one holds its posts and those of the sources",
    )
    parser.add_argument(
        "--apart",
        action="store_true",
        help="with --add: the sources are of another site, so equal ids are different posts",
    )
    parser.add_argument(
        "--source-kind", default="", metavar="KIND", help="the kind of the sources, if it is detected wrongly"
    )
    parser.add_argument(
        "--years", default="", metavar="FIRST-LAST", help="keep only posts of these years, e.g. 2010-2018 or -2018"
    )
    parser.add_argument(
        "--compat", action="store_true", help="find formulas and select years exactly as the lab did, with its errors"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=("answers", "comments"),
        help="leave these out (repeat for both)",
    )
    parser.add_argument(
        "--trees",
        default="latex",
        choices=("latex", "official"),
        help="build the trees of formulas from LaTeX (default), or from the MathML of the source where it has any",
    )
    add_jobs_option(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")
    parser.set_defaults(resume="run the same command again to continue the build")


def run(args: argparse.Namespace) -> int:
    """Build the collection and report how many rows were read, kept and left out."""
    from porism.corpus.build.ledger import report_lines
    from porism.corpus.build.pipeline import build
    from porism.corpus.build.select import Options, parse_years
    from porism.corpus.sources.detect import describe, open_source
    from porism.progress import Bars, Silent
    from porism.store import open_content

    first, last = parse_years(args.years) if args.years else (None, None)
    sources = [open_source(Path(path), args.source_kind) for path in args.sources]
    for source in sources:
        print(describe(source), file=sys.stderr)
    options = Options(
        first, last, args.compat, "answers" not in args.without, "comments" not in args.without, args.trees
    )
    folder = build(
        sources,
        args.output,
        options,
        base=args.add or None,
        apart=args.apart,
        jobs=args.jobs,
        progress=Silent() if args.quiet else Bars(),
        say=lambda text: print(text, file=sys.stderr),
    )
    for line in report_lines(open_content(folder).facts):
        print(line)
    return 0
