"""What a command is: its options, an example, and the function that does it.

    @command("porism store merge demo/index", argument("index", metavar="INDEX", help="an index"), QUIET)
    def merge(args: argparse.Namespace) -> None:

`table` says where the command stands and what it is for. A plug-in is a module with HELP, EXAMPLE, arguments(parser)
and run(args).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

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
    return Command(module.run, module.EXAMPLE, (module.arguments, lambda parser: _add_examples(parser, module)))


def _add_examples(parser: argparse._ActionsContainer, module: ModuleType) -> None:
    for name, example in getattr(module, "EXAMPLES", {}).items():
        actions = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
        actions.choices[name].epilog = f"example:\n  {example}"
