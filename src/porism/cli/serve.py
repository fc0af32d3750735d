"""porism serve, demo, site mcp: an index for people and programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import (
    ENDPOINT,
    HOST,
    SERVER,
    argument,
    command,
    flag,
    names_option,
    not_negative,
    port,
    positive,
    positive_seconds,
    state_option,
    with_default,
)
from porism.errors import PorismError
from porism.locks import require_posix

if TYPE_CHECKING:
    from porism.web.site.reading import SettingsReading

MOST_WORKERS = 4
# Options with a name of their own, and the settings that they give.
KEYS = {
    "host": "server.host",
    "port": "server.port",
    "name": "server.names",
    "cors": "server.cors",
    "workers": "server.workers",
    "seconds": "limits.seconds",
    "queue": "limits.queue",
    "connections": "limits.connections",
    "idle_seconds": "limits.idle_seconds",
    "frozen_seconds": "limits.frozen_seconds",
    "log_format": "server.log_format",
    "stop_seconds": "limits.stop_seconds",
    "experiment": "pages.experiment",
    "assess_url": "pages.assess_url",
    "remote_images": "posts.remote_images",
    "endpoint": "endpoint.url",
    "endpoint_model": "endpoint.model",
    "endpoint_seconds": "endpoint.seconds",
}
SITE = "posts.site"  # --site NAME gives this setting, --site FILE.toml all of them


def leave_to_settings(parser: argparse._ActionsContainer) -> None:
    """Let options that are left out have no value, so that the settings file decides."""
    for action in parser._actions:
        if action.dest in KEYS:
            action.help = (action.help or "").replace("%(default)s", str(action.default))
            action.default = None


def site_settings(args: argparse.Namespace) -> SettingsReading:
    """Read the settings of the file, of `--set`, and of the options; later ones win."""
    from porism.web.site.reading import GivenSetting, read_settings

    given = [
        GivenSetting(key, value, f"--{name.replace('_', '-')}", Path.cwd())
        for name, key in KEYS.items()
        if (value := getattr(args, name)) is not None
    ]
    files = [name for name in args.site or () if name.endswith(".toml")]
    given += [GivenSetting(SITE, name, "--site", Path.cwd()) for name in args.site or () if not name.endswith(".toml")]
    return read_settings(Path(files[-1]) if files else None, args.set, given)


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
    flag("--metrics", "answer /metrics in the text format of Prometheus"),
    argument(
        "--slow-ms",
        type=positive_seconds,
        metavar="MS",
        help="log queries that take this many milliseconds or more, without their text",
    ),
    flag("--slow-text", "log the text of slow queries, too"),
    argument(
        "--analytics",
        type=Path,
        metavar="FILE",
        help="count searches and clicks in this file, without personal data; shown at /analytics",
    ),
    with_default(
        "--analytics-minimum", 5, "store the text of a query after this many searches", type=positive, metavar="N"
    ),
    argument(
        "--operator-port",
        type=port,
        metavar="PORT",
        help="port of this machine for the pages of the operator, /metrics and /analytics (default: the one after "
        "--port; 0 picks a free one)",
    ),
    flag("--open-pages", "answer the pages of the operator to everyone, on the port of the site"),
    flag("--writable", "take changes of posts over HTTP from programs that have a token (porism site tokens)"),
    argument("--tokens", default="", metavar="FILE", help="the file of the tokens (default: INDEX.tokens)"),
    state_option("the change log and tokens"),
    argument(
        "--experiment", metavar="DIR", help="show a leaderboard of this experiment: a folder with qrels.txt and runs/"
    ),
    flag("--remote-images", "show pictures in posts from other machines"),
    argument("--assess-url", default="", metavar="URL", help="link to the assessment server at this address"),
    ENDPOINT,
    argument(
        "--site",
        action="append",
        metavar="FILE.toml|NAME",
        help="the settings file of the site; or the host that the posts come from, to link to the originals there",
    ),
    argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting, such as site.title=Notes (repeat for several; docs/reference/settings.md lists all)",
    ),
    flag("--check", "check the settings, print all problems, and end"),
    flag("--print-settings", "print a settings file with all defaults, and end"),
    leave_to_settings,
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
    from porism.web.server.observer import Operations
    from porism.web.server.run import Settings
    from porism.web.server.run import serve as run_server
    from porism.web.site.reading import check_settings

    reading = site_settings(args)
    site = reading.checked()
    checked = check_settings(reading)
    for warning in checked.warnings:
        print(f"porism: warning: {warning}", file=sys.stderr)
    for problem in checked.problems:
        raise problem
    writing = WriteSettings.of(args.index, args.tokens, args.state) if args.writable else None
    operations = Operations(
        metrics=args.metrics,
        slow_ms=args.slow_ms,
        slow_text=args.slow_text,
        analytics=args.analytics,
        minimum_count=args.analytics_minimum,
        open_pages=args.open_pages,
        port=args.operator_port,
    )
    run_server(Settings(args.index, site, operations=operations, writing=writing))
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
    flag("--build-only", "build and index, but do not serve"),
    flag("--editor", "install the visual formula editor too, if npm is available"),
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
