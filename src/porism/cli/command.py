"""What a command is: its options, an example, and the function that does it; and what commands share: values that are
checked where they are typed, arguments that several commands have, and the options of servers and language models.

    @command("porism store merge demo/index", argument("index", metavar="INDEX", help="an index"), QUIET)
    def merge(args: argparse.Namespace) -> None:

`words.tsv` says where the command is and what it is for. A plug-in is a module with HELP, EXAMPLE, arguments(parser)
and run(args).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from porism.progress import Silent, for_terminal

if TYPE_CHECKING:
    from porism.progress import Progress

Run = Callable[[argparse.Namespace], int | None]  # the exit code, None for 0
Adds = Callable[[argparse._ActionsContainer], object]  # adds an option, or several, to a parser


@dataclass(frozen=True, slots=True)
class Command:
    """A command. `resume` says how to continue after Ctrl-C, if that is possible."""

    run: Run
    example: str
    options: tuple[Adds, ...] = ()
    description: str = ""
    resume: str = ""

    def fill(self, parser: argparse.ArgumentParser) -> None:
        """Give a parser the options and the example."""
        parser.description = self.description or parser.description
        parser.epilog = f"example:\n  {self.example}"
        parser.set_defaults(run=self.run, resume=self.resume)
        for add in self.options:
            add(parser)


def command(example: str, *options: Adds, description: str = "", resume: str = "") -> Callable[[Run], Command]:
    """Make a command of the function that does it."""
    return lambda run: Command(run, example, options, description, resume)


def argument(*names: str, **properties: Any) -> Adds:
    """Return an argument or option, described as in argparse."""
    return lambda parser: parser.add_argument(*names, **properties)


def flag(name: str, help: str) -> Adds:
    """Return an option without a value."""
    return argument(name, action="store_true", help=help)


def with_default(name: str, default: Any, help: str, **properties: Any) -> Adds:
    """Return an option with a default, which its help names, of the default's type unless another one is given."""
    properties = {"type": type(default), **properties}
    return argument(name, default=default, help=f"{help} (default: %(default)s)", **properties)


def options(*several: Adds) -> Adds:
    """Return several options as one value."""

    def add(parser: argparse._ActionsContainer) -> None:
        for one in several:
            one(parser)

    return add


def section(title: str, *several: Adds) -> Adds:
    """Return options that the help lists under a title."""

    return lambda parser: options(*several)(parser.add_argument_group(title))


def module_command(module: ModuleType) -> Command:
    """Return the command of a module with EXAMPLE, arguments and run, as plug-ins are."""

    def add_examples(parser: argparse._ActionsContainer) -> None:
        for name, example in getattr(module, "EXAMPLES", {}).items():
            actions = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
            actions.choices[name].epilog = f"example:\n  {example}"

    return Command(module.run, module.EXAMPLE, (module.arguments, add_examples))


HIGHEST_PORT = 65535


def port(text: str) -> int:
    """Return a port number."""
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        fix = f"give a number from 1 to {HIGHEST_PORT}, for example --port 8100, or 0 for a free one"
        raise argparse.ArgumentTypeError(f"{text} is not a port; {fix}")
    return int(text)


def positive(text: str) -> int:
    """Return a number of at least 1."""
    return _at_least(text, 1, "10")


def not_negative(text: str) -> int:
    """Return a number of at least 0."""
    return _at_least(text, 0, "20")


def jobs(text: str) -> int | str:
    """Return a number of processes, or the address of a Dask scheduler."""
    return text if "://" in text else not_negative(text)


def positive_seconds(text: str) -> float:
    """Return a time in seconds."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds; give a positive number, for example 10")
    return seconds


def _at_least(text: str, least: int, example: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number; give one, for example {example}") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{text} is too small; give {least} or more, for example {example}")
    return number


INDEX = argument("index", metavar="INDEX", help="an index: its folder, or its address in a cluster")
COLLECTION = argument("collection", metavar="COLLECTION", help="a folder made by porism build")
JOURNAL = argument("journal", metavar="JOURNAL", help="the journal of judgments, one file")
JSON = flag("--json", "print JSON")
JSON_LINES = flag("--json", "print one JSON object on each line")
QUIET = flag("--quiet", "show no progress bars")
HOST = with_default("--host", "127.0.0.1", "address to listen on")
TABLE_FORMATS = ("table", "tsv", "json", "markdown", "latex", "html")
FORMAT = options(
    with_default("--format", "table", "the format to print", choices=TABLE_FORMATS),
    argument("--json", action="store_const", const="json", dest="format", help="the same as --format json"),
)
JOBS = argument(
    "--jobs",
    type=jobs,
    default=0,
    metavar="N",
    help="number of processes (default: one per core), or the address of a Dask scheduler: tls://scheduler:8786",
)


def state_option(what: str) -> Adds:
    """Return the option that names the state folder of a store, for a command that keeps or reads something there."""
    help = f"the state folder, which keeps {what} (default: beside or in a folder INDEX; needed for any other address)"
    return argument("--state", metavar="DIR", help=help)


def names_option(**more: str) -> Adds:
    """Return the option that names the hosts of a server."""
    help = "a host name of the server, besides localhost (repeat for several)"
    return argument("--name", action="append", default=[], help=help, **more)


def chosen_progress(args: argparse.Namespace) -> Progress:
    """Return bars on a terminal, or nothing with --quiet."""

    return Silent() if args.quiet else for_terminal()


# Options of every command that serves.
SERVER = options(
    with_default(
        "--connections",
        1000,
        "connections that each process keeps open, if it may open as many files",
        type=positive,
        metavar="N",
    ),
    with_default(
        "--idle-seconds",
        15.0,
        "close a connection without a request after this time",
        type=positive_seconds,
        metavar="S",
    ),
    with_default(
        "--frozen-seconds",
        5.0,
        "replace a process that gives no sign of life for this time",
        type=positive_seconds,
        metavar="S",
    ),
    with_default(
        "--stop-seconds", 10.0, "time for requests to finish after SIGTERM", type=positive_seconds, metavar="S"
    ),
    with_default("--log-format", "text", "format of the log on standard error", choices=("text", "json")),
)

# The address, the name and the time limit of a language model.
ENDPOINT = options(
    argument(
        "--endpoint",
        default="",
        metavar="URL",
        help="let the language model at this chat-completions address write answers from the best passages (API key: "
        "PORISM_ENDPOINT_KEY)",
    ),
    with_default("--endpoint-model", "default", "name of the language model", metavar="NAME"),
    with_default(
        "--endpoint-seconds", 60.0, "time for a whole generated answer, in seconds", type=positive_seconds, metavar="S"
    ),
)
