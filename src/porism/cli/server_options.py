"""Options that the servers share: time limits of connections and of stopping."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from porism.cli.values import positive, positive_seconds

if TYPE_CHECKING:
    from porism.web.server.serving import ServerSettings


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
    from porism.web.server.connections import ConnectionLimits
    from porism.web.server.serving import ServerSettings

    limits = ConnectionLimits(idle_seconds=args.idle_seconds, connections=args.connections)
    return ServerSettings(
        max(1, processes), limits, args.frozen_seconds, args.stop_seconds, trust_proxy, args.log_format
    )
