"""porism serve: serve an index over HTTP."""

from __future__ import annotations

import argparse
import sys

from porism.cli.options import (
    add_endpoint_options,
    add_operations_options,
    add_server_options,
    add_site_options,
    operations,
    site_settings,
)
from porism.cli.values import add_state_option, not_negative, port, positive_seconds
from porism.errors import PorismError
from porism.locks import require_posix

HELP = "serve the search page and the HTTP API of an index (on this machine only, unless --host says otherwise)"
EXAMPLE = "porism serve demo/index --port 8100"
MOST_WORKERS = 4


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", nargs="?", metavar="INDEX", help="an index: its folder, or its address in a cluster")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=port, default=8100, help="port to listen on (default: %(default)s; 0 picks a free one)"
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        help="a host name of the server, besides localhost (repeat for several)",
    )
    parser.add_argument(
        "--cors",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="an origin whose pages may call the API (repeat for several; * allows all)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        metavar="N",
        help=f"number of processes (default: one per core, at most {MOST_WORKERS})",
    )
    parser.add_argument(
        "--seconds",
        type=positive_seconds,
        default=10.0,
        help="time limit of a query, in seconds (default: %(default)s)",
    )
    parser.add_argument(
        "--queue",
        type=not_negative,
        default=32,
        metavar="N",
        help="queries that may wait in each process; more are refused (default: %(default)s)",
    )
    add_server_options(parser)
    add_operations_options(parser)
    parser.add_argument(
        "--writable",
        action="store_true",
        help="take changes of posts over HTTP from programs that have a token (porism site tokens)",
    )
    parser.add_argument("--tokens", default="", metavar="FILE", help="the file of the tokens (default: INDEX.tokens)")
    add_state_option(parser, "the change log and tokens")
    parser.add_argument(
        "--experiment", metavar="DIR", help="show a leaderboard of this experiment: a folder with qrels.txt and runs/"
    )
    parser.add_argument("--remote-images", action="store_true", help="show pictures in posts from other machines")
    parser.add_argument("--assess-url", default="", metavar="URL", help="link to the assessment server at this address")
    add_endpoint_options(parser)
    add_site_options(parser)


def run(args: argparse.Namespace) -> int:
    """Open the index and serve it until Ctrl-C; or check the settings, or print a template of them."""
    if args.print_settings:
        from porism.web.site.settings import template_text

        print(template_text(), end="")
        return 0
    if args.check:
        return _check(args)
    if args.index is None:
        raise PorismError("INDEX is missing", fix="porism serve INDEX")
    return _serve(args)


def _check(args: argparse.Namespace) -> int:
    """Print everything that is wrong with the settings, and with the index if it is named."""
    from porism.web.site.reading import check_settings
    from porism.web.site.settings import all_settings

    reading = site_settings(args)
    checked = check_settings(reading, args.index)
    for problem in checked.problems:
        print(problem)
    for warning in checked.warnings:
        print(f"warning: {warning}")
    given = f"{len(reading.places)} of {len(all_settings())} settings given"
    print(f"{given}, problems: {len(checked.problems)}, warnings: {len(checked.warnings)}")
    return 1 if checked.problems else 0


def _serve(args: argparse.Namespace) -> int:
    require_posix("porism serve")
    from porism.web.api.write_access import WriteSettings
    from porism.web.server.run import Settings, serve
    from porism.web.site.reading import check_settings

    reading = site_settings(args)
    site = reading.checked()
    checked = check_settings(reading)
    for warning in checked.warnings:
        print(f"porism: warning: {warning}", file=sys.stderr)
    for problem in checked.problems:
        raise PorismError(problem.fact, where=problem.where, fix=problem.fix)
    writing = WriteSettings.of(args.index, args.tokens, args.state) if args.writable else None
    serve(Settings(args.index, site, operations=operations(args), writing=writing))
    return 0
