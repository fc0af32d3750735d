"""Every option that a page writes behind a command exists: options were lost in a rewrite once, and the page was not run."""

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
OPTION = re.compile(r"(?<=\s)(--[a-z][a-z0-9-]+)")


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Return the long options of a command and of its actions."""
    found = {name for action in parser._actions for name in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                found |= options(inner)
    return found


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all commands."""
    (actions,) = (one for one in make_parser()._actions if isinstance(one, argparse._SubParsersAction))
    return dict(actions.choices)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_of_commands_exist(page: Path) -> None:
    known = commands()
    text = page.read_text("utf-8").replace("\\\n", " ")
    wrong = [
        f"porism {line}: there is no {option}"
        for line in COMMAND.findall(text)
        if (parser := known.get(line.split()[0]))
        for option in OPTION.findall(re.split(r"\s[|;&]", line)[0])
        if option not in options(parser)
    ]
    assert not wrong, "\n".join(wrong)
