from __future__ import annotations

import argparse

HELP = "Build the sample collection and its index if they are not there yet, and serve the search page."
EXAMPLE = "porism demo --port 8100"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "--directory", default="demo", help="where collection and index are kept (default: %(default)s)"
    )
    parser.add_argument("--sample", default="sample", help="the sample of the project (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind to (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8100, help="port (default: %(default)s; 0 picks a free one)")
    parser.add_argument("--build-only", action="store_true", help="build, but do not serve")


def run(args: argparse.Namespace) -> int:
    """Build what is missing, then serve."""
    from porism.web.server.demo import demo

    demo(args.directory, args.sample, args.host, args.port, serve_it=not args.build_only)
    return 0
