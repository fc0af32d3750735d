"""Values of the command line: numbers that are checked where they are typed, with a message that says what to type
instead."""

from __future__ import annotations

import argparse
import math

from porism.cli.command import argument

JSON = argument("--json", action="store_true", help="print JSON")
QUIET = argument("--quiet", action="store_true", help="show no progress bars")
HIGHEST_PORT = 65535


def port(text: str) -> int:
    """Return a port number."""
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text} is not a port; give a number from 1 to {HIGHEST_PORT}, for example --port 8100, or 0 for a free one"
        )
    return int(text)


def positive(text: str) -> int:
    """Return a number of at least 1."""
    return _at_least(text, 1, "10")


def jobs(text: str) -> int | str:
    """Return a number of processes, or the address of a Dask scheduler."""
    return text if "://" in text else not_negative(text)


def add_jobs_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says who does the work."""
    parser.add_argument(
        "--jobs",
        type=jobs,
        default=0,
        metavar="N",
        help="number of processes (default: one per core), or the address of a Dask scheduler: tls://scheduler:8786",
    )


def not_negative(text: str) -> int:
    """Return a number of at least 0."""
    return _at_least(text, 0, "20")


def positive_seconds(text: str) -> float:
    """Return a time in seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds; give a positive number, for example 10")
    return seconds


def add_state_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that names the state folder of a store, for a command that keeps or reads something there."""
    parser.add_argument(
        "--state",
        metavar="DIR",
        help=f"the state folder, which keeps {what} (default: beside or in a folder INDEX; needed for any other address)",
    )


def _at_least(text: str, least: int, example: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number; give one, for example {example}") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{text} is too small; give {least} or more, for example {example}")
    return number
