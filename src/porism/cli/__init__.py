"""The command line: a thin door without logic. `parser` lists the commands, `command` says what one is. Data go to
standard output, messages and progress to standard error."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from porism.cli.parser import COMMANDS, QUICK, make_parser, typed_path
from porism.errors import PorismError
from porism.safe_path import protect_process

__all__ = ["COMMANDS", "main", "make_parser", "run_command"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Return 0 for success, 1 for a problem in the data, 2 for wrong use."""
    if argv is None:
        protect_process()
    if argv is not None or typed_path(sys.argv[1:]) not in QUICK:
        return run_command(sys.argv[1:] if argv is None else argv)
    gc.disable()
    code = run_command(sys.argv[1:])
    gc.freeze()  # or Python would look for garbage once more when it exits
    return code


def run_command(argv: Sequence[str]) -> int:
    """Run one command of these arguments; see `main`."""
    args: argparse.Namespace | None = None
    try:
        args = make_parser(argv).parse_args(argv)
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
        import sqlite3
        import struct
        import zlib

        # The errors of the libraries that read stored data.
        if not isinstance(error, (sqlite3.DatabaseError, struct.error, UnicodeError, zlib.error, EOFError)):
            raise
        fact = f"stored data cannot be read ({error or type(error).__name__})"
        print(f"porism: {PorismError(fact, fix='name the damaged part: porism store verify PATH')}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        resume = getattr(args, "resume", "")
        print(f"porism: interrupted{resume and f'; {resume}'}", file=sys.stderr)
        return 130
