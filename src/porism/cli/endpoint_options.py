"""Options that name a language model, for the commands that let one write answers."""

from __future__ import annotations

import argparse

from porism.cli.values import positive_seconds


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
