"""porism site mcp: the engine for assistants."""

from __future__ import annotations

import argparse

HELP = "serve an index to an assistant by the Model Context Protocol (standard input and output)"
EXAMPLE = "porism site mcp demo/index"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("index", metavar="INDEX", help="a folder made by porism index")


def run(args: argparse.Namespace) -> int:
    """Serve until the client closes the connection."""
    from porism.web.server.mcp_tools import serve_tools

    serve_tools(args.index)
    return 0
