"""The words of the command line, the parser that is made of those that are needed, and what it says when something is
typed wrong.

`porism --help` and the help of a group read only the table of words. The module of a command is imported when the
command is typed.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from porism import __version__, plugins
from porism.cli.command import Command, module_command
from porism.errors import PorismError


@dataclass(frozen=True, slots=True)
class Word:
    """A command (`where` is MODULE:NAME in this package), or a group with its example. `run` and `systems` are both."""

    help: str
    where: str = ""
    example: str = ""


def _rows(name: str) -> Iterator[list[str]]:
    """Yield the cells of a table beside this module."""
    for line in (Path(__file__).parent / name).read_text("utf-8").splitlines()[1:]:
        yield line.split("\t")


# The most useful word comes first, in the help of each group, too.
WORDS = {word: Word(help, where, *example) for word, where, help, *example in _rows("words.tsv")}

# The titles of `porism --help`, and the words below each.
SECTIONS = {
    "search": ("demo", "search", "formulas", "ask", "explain", "formula"),
    "your own posts": ("build", "index", "update", "serve"),
    "experiments": ("run", "eval", "systems"),
    "groups of commands": ("lab", "site", "model", "store", "collection"),
}
COMMANDS = tuple(word for words in SECTIONS.values() for word in words)
# Commands that give one answer and end. They end before garbage could fill the memory, and looking for it takes a
# quarter of their time.
QUICK = frozenset(("search", "formulas", "ask", "explain", "formula", "collection show"))


def words_below(path: str) -> dict[str, Word]:
    """Return the words after a path by name; those after `` are the first ones."""
    start = f"{path} " if path else ""
    below = {name.removeprefix(start): word for name, word in WORDS.items() if name.startswith(start)}
    return {name: word for name, word in below.items() if " " not in name}


def typed_path(words: Sequence[str]) -> str:
    """Return the longest path that the typed words begin with."""
    path = ""
    for word in words:
        longer = f"{path} {word}".strip()
        if longer not in WORDS:
            break
        path = longer
    return path


def renamed() -> dict[str, str]:
    """Return the commands of before by name, and what each is now."""
    return {old: new for old, new, _ in _rows("renamed.tsv")}


class _Help(argparse.HelpFormatter):
    """Wraps texts, but never an example."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("example:") else super()._fill_text(text, width, indent)


class CommandParser(argparse.ArgumentParser):
    """A parser that lists its commands by section, and names the nearest word for a wrong one."""

    def __init__(self, **properties: Any) -> None:
        super().__init__(formatter_class=_Help, **properties)
        self.sections: Mapping[str, Sequence[str]] = {}

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and what to type instead, and exit with 2."""
        if message.startswith("the following arguments are required: "):
            missing = message.rsplit(": ", 1)[1]
            self._refuse(f"{missing} is missing", " ".join(self.format_usage().split()))
        self._refuse(message.removeprefix("argument "), f"{self.prog} --help explains the options")

    def _refuse(self, fact: str, fix: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {fact}\n  fix: {fix}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is no choice of an option, or no command."""
        if action.choices is None or value in action.choices:
            return
        choices = {str(choice): str(choice) for choice in action.choices}
        if isinstance(action, argparse._SubParsersAction):
            fact = f"there is no command {value!r}"
            known = {name: f"{self.prog} {name}" for name in choices}
            if self.prog == "porism":
                known |= {old: f"porism {new}" for old, new in renamed().items()}
        else:
            fact = f"{'/'.join(action.option_strings) or action.metavar or action.dest} cannot be {value!r}"
            known = choices
        nearest = difflib.get_close_matches(str(value), known, 1, 0.5)
        advice = f"did you mean {known[nearest[0]]}?" if nearest else f"choose from {', '.join(choices)}"
        if value in known:
            advice = f"porism {value} is now {known[value]}"
        self._refuse(fact, f"{advice} ({self.prog} --help explains)")

    def format_help(self) -> str:
        """Return the help text."""
        commands = next((one for one in self._actions if isinstance(one, argparse._SubParsersAction)), None)
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        entries = {} if commands is None else {one.dest: one for one in commands._get_subactions()}
        for title, names in self.sections.items():
            formatter.start_section(title)
            formatter.add_arguments([entries[name] for name in names if name in entries])
            formatter.end_section()
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments([action for action in group._group_actions if action is not commands])
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


class _Completion(argparse.Action):
    """Prints a script for a shell that completes the words and options of all commands."""

    def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> NoReturn:
        import shtab

        print(shtab.complete(make_parser(), shell=given[1]))
        parser.exit()


def make_parser(words: Sequence[str] | None = None) -> CommandParser:
    """Build the parser of the typed words. Without words, build it whole: completion and the generated reference read
    it."""
    parser = CommandParser(
        prog="porism",
        description="A search engine that understands formulas, with tools to measure how well it does.",
        epilog="porism COMMAND --help explains a command and gives an example.",
    )
    parser.add_argument("--version", action="version", version=f"porism {__version__}")
    parser.add_argument(
        "--completion",
        action=_Completion,
        choices=("bash", "zsh", "tcsh"),
        metavar="SHELL",
        help="print a script that completes commands in your shell: bash, zsh or tcsh",
    )
    _fill(parser, "", words)
    parser.sections = SECTIONS
    if not words or words[0] not in COMMANDS:
        _add_plugins(parser, words)
    return parser


def _fill(parser: CommandParser, path: str, words: Sequence[str] | None) -> None:
    """Give a parser the words below a path and its own options. Only the typed word below gets options, or each if
    words are None."""
    below = words_below(path)
    if below:
        commands = parser.add_subparsers(metavar="COMMAND", parser_class=CommandParser)
        parser.sections = {"commands": tuple(below)}
        parser.set_defaults(run=lambda args: _explain(parser))
        at = next((place for place, word in enumerate(words or ()) if word in below), None)
        for name, word in below.items():
            made = _add_parser(commands, name, word.help, word.example)
            if words is None:
                _fill(made, f"{path} {name}".strip(), None)
            elif at is not None and words[at] == name:
                _fill(made, f"{path} {name}".strip(), words[at + 1 :])
    if path and WORDS[path].where:
        module, _, function = WORDS[path].where.partition(":")
        found: Command = getattr(importlib.import_module(f"porism.cli.{module}"), function)
        found.fill(parser)


def _add_parser(
    commands: argparse._SubParsersAction[CommandParser], name: str, text: str, example: str = ""
) -> CommandParser:
    """Add the parser of a command or group, with its help and example."""
    description = f"{text[0].upper()}{text[1:]}."
    epilog = f"example:\n  {example}" if example else None
    return commands.add_parser(name, help=text, description=description, epilog=epilog)


def _explain(parser: CommandParser) -> int:
    """Print the help of a group where a command was expected."""
    parser.print_help(sys.stderr)
    return 2


def _add_plugins(parser: CommandParser, words: Sequence[str] | None) -> None:
    """Add the commands of plug-ins. One that is broken is listed, and an error if it is typed. A name that Porism has
    itself stays Porism's."""
    commands = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    added = {name: one for name, one in plugins.plugins(plugins.COMMANDS).items() if name not in COMMANDS}
    parser.sections = {**SECTIONS, "plug-ins": tuple(added)}
    for name, plugin in added.items():
        try:
            module = plugin.load()
        except PorismError:
            if words and words[0] == name:
                raise
            _add_parser(commands, name, "cannot be imported; porism site doctor says why")
        else:
            module_command(module).fill(_add_parser(commands, name, module.HELP))
