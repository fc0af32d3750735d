"""Options of a server that its operator switches on: metrics, slow queries, analytics."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.values import port, positive, positive_seconds

if TYPE_CHECKING:
    from porism.web.operations.settings import Operations


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
    from porism.web.operations.settings import Operations

    return Operations(
        metrics=args.metrics,
        slow_ms=args.slow_ms,
        slow_text=args.slow_text,
        analytics=args.analytics,
        minimum_count=args.analytics_minimum,
        open_pages=args.open_pages,
        port=args.operator_port,
    )
