"""porism completion: completion scripts for shells."""

from __future__ import annotations

import argparse

HELP = "print a completion script for your shell"
EXAMPLE = "porism completion bash > ~/.local/share/bash-completion/completions/porism"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell to complete in")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from porism.cli import make_parser

    print(shtab.complete(make_parser(), shell=args.shell))
    return 0
