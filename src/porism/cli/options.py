"""Options that commands share: of servers, of what an operator switches on, of a site, and of language models."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.values import port, positive, positive_seconds

if TYPE_CHECKING:
    from porism.web.http.workers import ServerSettings
    from porism.web.server.observer import Operations
    from porism.web.site.reading import SettingsReading


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command that serves."""
    parser.add_argument(
        "--connections",
        type=positive,
        default=1000,
        metavar="N",
        help="connections that each process keeps open, if it may open as many files (default: %(default)s)",
    )
    parser.add_argument(
        "--idle-seconds",
        type=positive_seconds,
        default=15.0,
        metavar="S",
        help="close a connection without a request after this time (default: %(default)s)",
    )
    parser.add_argument(
        "--frozen-seconds",
        type=positive_seconds,
        default=5.0,
        metavar="S",
        help="replace a process that gives no sign of life for this time (default: %(default)s)",
    )
    parser.add_argument(
        "--stop-seconds",
        type=positive_seconds,
        default=10.0,
        metavar="S",
        help="time for requests to finish after SIGTERM (default: %(default)s)",
    )

    parser.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="format of the log on standard error (default: %(default)s)",
    )


def server_settings(args: argparse.Namespace, processes: int = 1, *, trust_proxy: bool = False) -> ServerSettings:
    """Return the settings that the options give."""
    from porism.web.http.connections import ConnectionLimits
    from porism.web.http.workers import ServerSettings

    limits = ConnectionLimits(idle_seconds=args.idle_seconds, connections=args.connections)
    return ServerSettings(
        max(1, processes), limits, args.frozen_seconds, args.stop_seconds, trust_proxy, args.log_format
    )


def add_operations_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to the command."""
    parser.add_argument("--metrics", action="store_true", help="answer /metrics in the text format of Prometheus")
    parser.add_argument(
        "--slow-ms",
        type=positive_seconds,
        metavar="MS",
        help="log queries that take this many milliseconds or more, without their text",
    )
    parser.add_argument("--slow-text", action="store_true", help="log the text of slow queries, too")
    parser.add_argument(
        "--analytics",
        type=Path,
        metavar="FILE",
        help="count searches and clicks in this file, without personal data; shown at /analytics",
    )
    parser.add_argument(
        "--analytics-minimum",
        type=positive,
        default=5,
        metavar="N",
        help="store the text of a query after this many searches (default: %(default)s)",
    )
    parser.add_argument(
        "--operator-port",
        type=port,
        metavar="PORT",
        help="port of this machine for the pages of the operator, /metrics and /analytics (default: the one after --port; 0 picks a free one)",
    )
    parser.add_argument(
        "--open-pages",
        action="store_true",
        help="answer the pages of the operator to everyone, on the port of the site",
    )


def operations(args: argparse.Namespace) -> Operations:
    """Return what the options switch on."""
    from porism.web.server.observer import Operations

    return Operations(
        metrics=args.metrics,
        slow_ms=args.slow_ms,
        slow_text=args.slow_text,
        analytics=args.analytics,
        minimum_count=args.analytics_minimum,
        open_pages=args.open_pages,
        port=args.operator_port,
    )


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


def add_site_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of settings, and let options that are left out have no value, so that the settings file
    decides."""
    parser.add_argument(
        "--site",
        action="append",
        metavar="FILE.toml|NAME",
        help="the settings file of the site; or the host that the posts come from, to link to the originals there",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting, such as site.title=Notes (repeat for several; docs/reference/settings.md lists all)",
    )
    parser.add_argument("--check", action="store_true", help="check the settings, print all problems, and end")
    parser.add_argument(
        "--print-settings", action="store_true", help="print a settings file with all defaults, and end"
    )
    for action in parser._actions:
        if action.dest in KEYS:
            action.help = (action.help or "").replace("%(default)s", str(action.default))
            action.default = None


def site_settings(args: argparse.Namespace) -> SettingsReading:
    """Read the settings of the file, of `--set`, and of the options; later ones win."""
    from porism.web.site.reading import Given, read_settings

    given = [
        Given(key, value, _option(name), Path.cwd())
        for name, key in KEYS.items()
        if (value := getattr(args, name)) is not None
    ]
    files = [name for name in args.site or () if name.endswith(".toml")]
    given += [Given(SITE, name, "--site", Path.cwd()) for name in args.site or () if not name.endswith(".toml")]
    return read_settings(Path(files[-1]) if files else None, args.set, given)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def add_endpoint_options(parser: argparse.ArgumentParser) -> None:
    """Add the address, the name and the time limit of a language model."""
    parser.add_argument(
        "--endpoint",
        default="",
        metavar="URL",
        help="let the language model at this chat-completions address write answers from the best passages (API key: PORISM_ENDPOINT_KEY)",
    )
    parser.add_argument(
        "--endpoint-model", default="default", metavar="NAME", help="name of the language model (default: %(default)s)"
    )
    parser.add_argument(
        "--endpoint-seconds",
        type=positive_seconds,
        default=60.0,
        metavar="S",
        help="time for a whole generated answer, in seconds (default: %(default)s)",
    )
