"""The command line: one file per command, no logic. Data go to standard output, messages and progress to standard error."""

from __future__ import annotations

import argparse
import difflib
import gc
import importlib
import os
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from porism import __version__, plugins
from porism.errors import PorismError
from porism.safe_path import protect_process

# The commands by use, as `porism --help` lists them. Each is a module of this package with HELP (one line), EXAMPLE (tested),
# arguments(parser) and run(args) -> exit code, and perhaps EXAMPLES (an example for each of its actions). A command whose work can be continued after Ctrl-C sets `resume`
# (parser.set_defaults): how to continue it. Modules import nothing heavy at the top, so that `porism --help` is instant. A plug-in is such a
# module, too.
GROUPS = {
    "search": ("demo", "search", "formulas", "ask", "explain", "serve", "users", "tokens", "editor", "mcp"),
    "collections and indexes": (
        "build",
        "index",
        "encode",
        "update",
        "watch",
        "merge",
        "verify",
        "backup",
        "restore",
        "show",
        "stats",
        "export",
    ),
    "formulas": ("formula", "match"),
    "experiments": ("run", "systems", "eval", "published", "train", "models"),
    "organising a lab": ("topics", "submissions", "pool", "assess", "agreement", "stability", "qrels", "turkle"),
    "running a site": ("analytics", "doctor"),
    "shell": ("completion",),
}
COMMANDS = tuple(sorted(name for names in GROUPS.values() for name in names))
# Commands that give one answer and end. They end before garbage could fill the memory, and looking for it takes a quarter of their time.
QUICK = frozenset(("search", "formulas", "ask", "explain", "show", "formula", "match"))


_NO_CHOICE = re.compile(r"argument (?P<name>.+?): invalid choice: '(?P<typed>.*)' \(choose from (?P<choices>.*)\)")


class Parser(argparse.ArgumentParser):
    """A parser whose help lists its commands by group, if it has groups."""

    groups: dict[str, tuple[str, ...]] | None = None

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and what to type instead, and exit with 2."""
        if found := _NO_CHOICE.search(message):
            choices = re.findall(r"'([^']*)'", found["choices"])
            nearest = difflib.get_close_matches(found["typed"], choices, 1, 0.5)
            name = "command" if found["name"] == "COMMAND" else found["name"]
            message = (
                f"there is no {name} {found['typed']!r}"
                if name == "command"
                else f"{name} cannot be {found['typed']!r}"
            )
            advice = f"did you mean {nearest[0]}?" if nearest else f"choose from {', '.join(choices)}"
            self.exit(2, f"{self.prog}: {message}\n  fix: {advice} ({self.prog} --help explains)\n")
        if message.startswith("the following arguments are required: "):
            missing = message.rsplit(": ", 1)[1]
            self.exit(2, f"{self.prog}: {missing} is missing\n  fix: {' '.join(self.format_usage().split())}\n")
        shown = message.removeprefix("argument ")
        self.exit(2, f"{self.prog}: {shown}\n  fix: {self.prog} --help explains the options\n")

    def format_help(self) -> str:
        """Return the help text."""
        commands = next((one for one in self._actions if isinstance(one, argparse._SubParsersAction)), None)
        if not self.groups or commands is None:
            return super().format_help()
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, [])
        formatter.add_text(self.description)
        entries = {entry.dest: entry for entry in commands._get_subactions()}
        for title, names in self.groups.items():
            formatter.start_section(title)
            formatter.add_arguments([entries[name] for name in names if name in entries])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action is not commands])
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


def added_commands() -> dict[str, plugins.Plugin]:
    """Return the commands of plug-ins by name. A name that Porism has itself stays Porism's."""
    return {name: one for name, one in plugins.plugins(plugins.COMMANDS).items() if name not in COMMANDS}


def make_parser(names: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Build the parser of the whole command line, with plug-ins, or of some commands. Shell completion and the generated reference read it too."""
    added = added_commands() if names is None or not set(names) <= set(COMMANDS) else {}
    parser = Parser(
        prog="porism",
        description="A math-aware search engine and the lab that measures it.",
        epilog="porism COMMAND --help explains a command and gives an example.",
    )
    parser.groups = {**GROUPS, "plug-ins": tuple(added)}
    parser.add_argument("--version", action="version", version=f"porism {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name in (*COMMANDS, *added) if names is None else names:
        try:
            module = added[name].load() if name in added else importlib.import_module(f"porism.cli.{name}")
        except PorismError:
            commands.add_parser(name, help="cannot be imported; porism doctor says why")
        else:
            _add_command(commands, name, module)
    return parser


def _add_command(commands: argparse._SubParsersAction[Parser], name: str, module: ModuleType) -> None:
    """Add the parser of a command."""
    parser = commands.add_parser(
        name,
        help=module.HELP,
        description=f"{module.HELP[0].upper()}{module.HELP[1:]}.",
        epilog=f"example:\n  {module.EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.arguments(parser)
    parser.set_defaults(run=module.run)
    for action, example in getattr(module, "EXAMPLES", {}).items():
        _add_example(parser, action, example)


def _add_example(parser: argparse.ArgumentParser, action: str, example: str) -> None:
    """Show an example in the help of an action of a command."""
    actions = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    actions.choices[action].epilog = f"example:\n  {example}"
    actions.choices[action].formatter_class = argparse.RawDescriptionHelpFormatter


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Return 0 for success, 1 for a problem in the data, 2 for wrong use."""
    if argv is None:
        protect_process()
    if argv is not None or sys.argv[1:2] == [] or sys.argv[1] not in QUICK:
        return run_command(sys.argv[1:] if argv is None else argv)
    gc.disable()
    code = run_command(sys.argv[1:])
    gc.freeze()  # or Python would look for garbage once more when it exits
    return code


def run_command(argv: Sequence[str]) -> int:
    """Run one command of these arguments; see `main`."""
    args: argparse.Namespace | None = None
    try:
        parser = make_parser(_typed(argv[:1]))
        args = parser.parse_args(argv)
        if args.command is None:
            parser.print_help(sys.stderr)
            return 2
        code = int(args.run(args) or 0)
        sys.stdout.flush()
        return code
    except PorismError as error:
        print(f"porism: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # `porism ... | head` ends here: nothing more can be written, and that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        # Commands that read stored data without an engine end here when the data are damaged.
        if not _is_unreadable(error):
            raise
        fact = f"stored data cannot be read ({error or type(error).__name__})"
        print(f"porism: {PorismError(fact, fix='name the damaged part: porism verify PATH')}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        resume = getattr(args, "resume", "")
        print(f"porism: interrupted{resume and f'; {resume}'}", file=sys.stderr)
        return 130


def _typed(words: Sequence[str]) -> Sequence[str] | None:
    """Return the command that was typed, so that no other is imported; None if there is none with this name."""
    if words and words[0] not in COMMANDS:
        if words[0] not in added_commands():
            return None
        added_commands()[words[0]].load()
    return words or None


def _is_unreadable(error: Exception) -> bool:
    """Return whether an error is one of the libraries that read stored data."""
    import sqlite3
    import struct
    import zlib

    return isinstance(error, (sqlite3.DatabaseError, struct.error, UnicodeError, zlib.error, EOFError))


if __name__ == "__main__":
    sys.exit(main())
