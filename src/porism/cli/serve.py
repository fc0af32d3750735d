"""porism serve, demo, site mcp: an index for people and programs."""

from __future__ import annotations

import argparse
import sys

from porism.cli.command import (
    ENDPOINT,
    HOST,
    OPERATIONS,
    SERVER,
    add_site_options,
    argument,
    command,
    names_option,
    not_negative,
    operations,
    port,
    positive_seconds,
    site_settings,
    state_option,
    with_default,
)
from porism.errors import PorismError
from porism.locks import require_posix

MOST_WORKERS = 4


@command(
    "porism serve demo/index --port 8100",
    argument("index", nargs="?", metavar="INDEX", help="an index: its folder, or its address in a cluster"),
    HOST,
    argument("--port", type=port, default=8100, help="port to listen on (default: %(default)s; 0 picks a free one)"),
    names_option(),
    argument(
        "--cors",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="an origin whose pages may call the API (repeat for several; * allows all)",
    ),
    argument(
        "--workers",
        type=int,
        default=0,
        metavar="N",
        help=f"number of processes (default: one per core, at most {MOST_WORKERS})",
    ),
    with_default("--seconds", 10.0, "time limit of a query, in seconds", type=positive_seconds),
    with_default(
        "--queue", 32, "queries that may wait in each process; more are refused", type=not_negative, metavar="N"
    ),
    SERVER,
    OPERATIONS,
    argument(
        "--writable",
        action="store_true",
        help="take changes of posts over HTTP from programs that have a token (porism site tokens)",
    ),
    argument("--tokens", default="", metavar="FILE", help="the file of the tokens (default: INDEX.tokens)"),
    state_option("the change log and tokens"),
    argument(
        "--experiment", metavar="DIR", help="show a leaderboard of this experiment: a folder with qrels.txt and runs/"
    ),
    argument("--remote-images", action="store_true", help="show pictures in posts from other machines"),
    argument("--assess-url", default="", metavar="URL", help="link to the assessment server at this address"),
    ENDPOINT,
    add_site_options,
)
def serve(args: argparse.Namespace) -> int:
    """Open the index and serve it until Ctrl-C; or check the settings, or print a template of them."""
    if args.print_settings:
        from porism.web.site.settings import template_text

        print(template_text(), end="")
        return 0
    if args.check:
        return _check(args)
    if args.index is None:
        raise PorismError("INDEX is missing", fix="porism serve INDEX")
    require_posix("porism serve")
    from porism.web.api.changes import WriteSettings
    from porism.web.server.run import Settings
    from porism.web.server.run import serve as run_server
    from porism.web.site.reading import check_settings

    reading = site_settings(args)
    site = reading.checked()
    checked = check_settings(reading)
    for warning in checked.warnings:
        print(f"porism: warning: {warning}", file=sys.stderr)
    for problem in checked.problems:
        raise PorismError(problem.fact, where=problem.where, fix=problem.fix)
    writing = WriteSettings.of(args.index, args.tokens, args.state) if args.writable else None
    run_server(Settings(args.index, site, operations=operations(args), writing=writing))
    return 0


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


@command(
    "porism demo --port 8100",
    with_default("--directory", "demo", "where to keep the collection and the index"),
    argument("--sample", help="the sample (default: the folder sample, or the one that was installed)"),
    HOST,
    argument("--port", type=port, default=8100, help="port to listen on (default: %(default)s; 0 picks a free one)"),
    argument("--build-only", action="store_true", help="build and index, but do not serve"),
    argument("--editor", action="store_true", help="install the visual formula editor too, if npm is available"),
    resume="run the same command again to continue",
)
def demo(args: argparse.Namespace) -> None:
    """Build what is missing, then serve."""
    from porism.web.server.demo import demo

    demo(args.directory, args.sample, args.host, args.port, serve_it=not args.build_only, editor=args.editor)


@command("porism site mcp demo/index", argument("index", metavar="INDEX", help="a folder made by porism index"))
def mcp(args: argparse.Namespace) -> None:
    """Serve until the client closes the connection."""
    from porism.web.server.mcp_tools import serve_tools

    serve_tools(args.index)
