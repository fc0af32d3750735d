"""porism build: sources become a collection."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "build a collection from a dump, the lab's files, a table of formulas or a folder of documents"
EXAMPLE = "porism build sample/dump -o sample-collection"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="dump (folder or .7z), lab files, formulas.tsv, folder of documents",
    )
    parser.add_argument("-o", "--output", required=True, metavar="COLLECTION", help="the folder to make")
    parser.add_argument(
        "--add", default="", metavar="COLLECTION", help="make a new collection of this one and the sources"
    )
    parser.add_argument(
        "--apart", action="store_true", help="with --add: posts with the same ids are other posts (of another site)"
    )
    parser.add_argument("--source-kind", default="", metavar="KIND", help="what the sources are, if detection is wrong")
    parser.add_argument(
        "--years", default="", metavar="FIRST-LAST", help="keep what was written in these years, e.g. 2010-2018, -2018"
    )
    parser.add_argument(
        "--compat", action="store_true", help="find formulas and cut years as the lab did, defects included"
    )
    parser.add_argument(
        "--without", action="append", default=[], choices=("answers", "comments"), help="leave these out"
    )
    parser.add_argument(
        "--trees",
        default="latex",
        choices=("latex", "official"),
        help="where formulas' trees come from: our parser, or the MathML of the source where it has any",
    )
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    parser.set_defaults(resume="run the same command again to continue the build")


def run(args: argparse.Namespace) -> int:
    """Build, then tell what became of every row."""
    import json

    from porism.corpus.build.options import Options, parse_years
    from porism.corpus.build.pipeline import build
    from porism.corpus.build.report import report_lines
    from porism.corpus.sources.detect import describe, open_source
    from porism.corpus.store.collection import Collection
    from porism.corpus.store.schema import MANIFEST
    from porism.progress import Bars, Silent

    first, last = parse_years(args.years) if args.years else (None, None)
    sources = [open_source(Path(path), args.source_kind) for path in args.sources]
    for source in sources:
        print(describe(source), file=sys.stderr)
    options = Options(
        first, last, args.compat, "answers" not in args.without, "comments" not in args.without, args.trees
    )
    progress = Silent() if args.quiet else Bars()
    base = Collection.open(args.add) if args.add else None
    place = build(
        sources,
        args.output,
        options,
        base=base,
        apart=args.apart,
        jobs=args.jobs,
        progress=progress,
        say=lambda text: print(text, file=sys.stderr),
    )
    for line in report_lines(json.loads((place / MANIFEST).read_text("utf-8"))):
        print(line)
    return 0
