"""Every command that a page writes exists, and so does every option behind it: options were lost in a rewrite once, and
the page was not run."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from porism.cli import make_parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    page
    for page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    if page.name not in ("CHANGELOG.md", "commands.md")
)
# A command in a code span, or at the start of a line of a code block.
COMMAND = re.compile(r"(?:`|^\$ |^)porism ([a-z]+[^`\n]*)", re.MULTILINE)
ADDED = {"hello"}  # by the package that a page shows
OPTION = re.compile(r"(?<=\s)(--[a-z][a-z0-9-]+)")


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Return the long options of a command and of its actions."""
    found = {name for action in parser._actions for name in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found |= options(inner)
    return found


def below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the commands below a parser."""
    found = (one.choices for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    return dict(next(found, {}))


def command(parser: argparse.ArgumentParser, words: list[str]) -> argparse.ArgumentParser:
    """Return the parser of the command that the words begin with."""
    inner = below(parser).get(words[0]) if words else None
    return command(inner, words[1:]) if inner else parser


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_their_options_exist(page: Path) -> None:
    whole = make_parser()
    text = page.read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in COMMAND.findall(text) if line.split()[0] not in ADDED]
    wrong = [f"porism {line}: there is no such command" for line in lines if command(whole, line.split()) is whole]
    wrong += [
        f"porism {line}: there is no {option}"
        for line in lines
        for option in OPTION.findall(re.split(r"\s[|;&]", line)[0])
        if option not in options(command(whole, line.split()))
    ]
    assert not wrong, "\n".join(wrong)
