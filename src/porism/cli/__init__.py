"""The command line: one file per command, no logic. Data to stdout; words and progress to stderr."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from porism import __version__
from porism.errors import PorismError

# Each command is a module of this package with HELP (one line), EXAMPLE (tested), arguments(parser) and run(args) -> exit code.
# A command whose work can be continued after Ctrl-C sets `resume` (parser.set_defaults): how to continue it.
# Modules import nothing heavy at the top, so that `porism --help` is instant.
COMMANDS = (
    "agreement",
    "ask",
    "assess",
    "build",
    "completion",
    "demo",
    "eval",
    "explain",
    "export",
    "formula",
    "formulas",
    "index",
    "match",
    "pool",
    "published",
    "qrels",
    "run",
    "search",
    "serve",
    "show",
    "stats",
    "submissions",
    "topics",
    "train",
    "turkle",
)


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the example's line breaks."""


def make_parser() -> argparse.ArgumentParser:
    """The whole command line as one parser (also read by shell completion and the generated reference)."""
    parser = argparse.ArgumentParser(
        prog="porism", description="A math-aware search engine and the lab that measures it."
    )
    parser.add_argument("--version", action="version", version=f"porism {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in COMMANDS:
        module = importlib.import_module(f"porism.cli.{name}")
        epilog = f"example:\n  {module.EXAMPLE}"
        sub = commands.add_parser(
            name, help=module.HELP, description=module.HELP, epilog=epilog, formatter_class=Formatter
        )
        module.arguments(sub)
        sub.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 fine, 1 a problem in the data, 2 wrong use."""
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        code = int(args.run(args) or 0)
        sys.stdout.flush()
        return code
    except PorismError as error:
        print(f"porism: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # `porism ... | head` ends here: nothing more can be written, and that is fine.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        resume = getattr(args, "resume", "")
        print(f"porism: interrupted{resume and f'; {resume}'}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
