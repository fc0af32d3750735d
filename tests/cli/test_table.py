"""The table of words is complete, and so is the table of what the commands of before are now."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from porism.cli import make_parser
from porism.cli.parser import WORDS, renamed

ROOT = Path(__file__).resolve().parents[2]
# The 41 commands before there were groups, with their actions.
BEFORE = {
    "demo": "", "search": "", "formulas": "", "ask": "", "explain": "", "serve": "", "users": "add remove list", "tokens": "create list revoke",
    "editor": "install remove", "mcp": "", "build": "", "index": "", "encode": "", "update": "", "watch": "", "merge": "", "verify": "",
    "backup": "", "restore": "", "show": "", "stats": "", "export": "", "formula": "", "match": "", "run": "check fix fuse convert",
    "systems": "show verify fuse", "eval": "", "published": "", "train": "encoder cross-encoder", "models": "show prove export convert",
    "topics": "make show", "submissions": "add list withdraw", "pool": "build report",
    "assess": "create account load train assign move dual training extra serve judge-model progress export backup", "agreement": "",
    "stability": "", "qrels": "", "turkle": "export upload download import", "analytics": "", "doctor": "", "completion": "",
}  # fmt: skip
STAYED = {
    "demo",
    "search",
    "formulas",
    "ask",
    "explain",
    "build",
    "index",
    "update",
    "serve",
    "run",
    "eval",
    "systems",
    "formula",
}
# They read judged data that no installation has: `python -m bench verify [--fuse N]`.
BENCH = {"systems verify", "systems fuse"}
NEW = {"collection", "lab", "model train", "site", "store"} | {
    f"store {one}" for one in ("copy", "restore", "rollback", "snapshot")
}


def paths(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield all commands and groups below a parser."""
    for commands in parser._actions:
        if isinstance(commands, argparse._SubParsersAction):
            for below in commands.choices.values():
                yield below.prog.removeprefix("porism ")
                yield from paths(below)


def test_every_command_of_before_has_a_place() -> None:
    assert len(BEFORE) == 41
    every = {path for name, actions in BEFORE.items() for path in (name, *(f"{name} {one}" for one in actions.split()))}
    stayed = {path for path in every if path.split()[0] in STAYED} - BENCH
    assert set(renamed()) == every - stayed - BENCH
    known = set(paths(make_parser()))
    places = stayed | {new for new in renamed().values() if " --" not in new and not new.startswith("--")}
    assert known == places | NEW
    for new in set(renamed().values()) - places:  # options
        path, _, option = new.rpartition("--")
        assert f"--{option}" in make_parser().format_help() + help_of(path.strip())


def help_of(path: str) -> str:
    """Return the help of a command, empty for none."""
    return next((one.format_help() for one in parsers(make_parser()) if path and one.prog == f"porism {path}"), "")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for commands in parser._actions:
        if isinstance(commands, argparse._SubParsersAction):
            for below in commands.choices.values():
                yield from parsers(below)


def test_what_became_another_thing_has_a_reason() -> None:
    lines = (ROOT / "src" / "porism" / "cli" / "renamed.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    assert rows[0] == ["old", "new", "why"]
    assert all(why for old, new, why in rows if new.split()[-1] != old.split()[-1] and old != "train")


@pytest.mark.parametrize("path", WORDS)
def test_a_word_stands_below_its_group(path: str) -> None:
    group = path.rpartition(" ")[0]
    assert not group or group in WORDS
    assert bool(WORDS[path].where) != bool(WORDS[path].example) or path in ("run", "systems")


def test_no_text_names_a_command_of_before() -> None:
    old = "|".join({name.split()[0] for name in renamed()})
    named = re.compile(rf"\bporism ({old})\b")
    files = [
        path for folder in ("src", "docs", "attack", "bench", "deploy", "sample") for path in (ROOT / folder).rglob("*")
    ]
    texts = [
        path
        for path in (*files, *ROOT.glob("*.md"))
        if path.suffix in (".py", ".md", ".html", ".toml", ".conf", ".service", "")
    ]
    wrong = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in texts
        if path.is_file()
        for found in named.finditer(path.read_text("utf-8", errors="replace"))
    ]
    assert not wrong
