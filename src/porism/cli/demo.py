"""porism demo: search the sample."""

from __future__ import annotations

import argparse

from porism.cli.values import port

HELP = "build and index the sample, if that is not done yet, and serve its search page"
EXAMPLE = "porism demo --port 8100"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--directory", default="demo", help="where to keep the collection and the index (default: %(default)s)"
    )
    parser.add_argument("--sample", help="the sample (default: the folder sample, or the one that was installed)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=port, default=8100, help="port to listen on (default: %(default)s; 0 picks a free one)"
    )
    parser.add_argument("--build-only", action="store_true", help="build and index, but do not serve")
    parser.add_argument(
        "--editor", action="store_true", help="install the visual formula editor too, if npm is available"
    )
    parser.set_defaults(resume="run the same command again to continue")


def run(args: argparse.Namespace) -> int:
    """Build what is missing, then serve."""
    from porism.web.server.demo import demo

    demo(args.directory, args.sample, args.host, args.port, serve_it=not args.build_only, editor=args.editor)
    return 0
