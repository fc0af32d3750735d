from __future__ import annotations

import argparse

HELP = "Print a completion script for your shell."
EXAMPLE = "porism completion bash > ~/.local/share/bash-completion/completions/porism"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from porism.cli import make_parser

    print(shtab.complete(make_parser(), shell=args.shell))
    return 0
