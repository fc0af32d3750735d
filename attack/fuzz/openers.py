"""What to repeat, so that a reader searches in vain: openers without closers, derived from our patterns themselves.

Each regular expression of the package, for text or bytes, is parsed. For each of its alternatives, and before and inside each repetition, the
text that matches so far is an opener. Repeated many times without what closes it, it costs a pattern that is not bounded time that grows
with the square of the length, or worse.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import porism

# Characters that are tried where a pattern takes one of a class.
CANDIDATES = "ax1 A<>{}[]()$\\&;:=/*-_.,\"'`|#@!?^~+%\n\té∑\x1c"
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
AFTER = ("", "\x00", "!\n")
CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
SEARCHING = frozenset(("sub", "subn", "search", "finditer", "findall", "split"))
INLINE = SEARCHING | {"compile", "match", "fullmatch"}
FLAGS = {"I": re.I, "M": re.M, "S": re.S, "X": re.X, "A": re.A, "IGNORECASE": re.I, "MULTILINE": re.M, "DOTALL": re.S, "VERBOSE": re.X, "ASCII": re.A}  # fmt: skip


class OwnPattern(NamedTuple):
    """A pattern of the package, the module that defines it, and its name there ("" for one inside a function or a table)."""

    module: str
    name: str
    pattern: re.Pattern[Any]


class Pump(NamedTuple):
    """A text that is repeated between two others."""

    before: str
    run: str
    after: str

    def text(self, length: int) -> str:
        """Return the pump with as many repetitions as this length allows."""
        return self.before + self.run * max(1, (length - len(self.before)) // max(1, len(self.run))) + self.after


@cache
def own_patterns() -> tuple[OwnPattern, ...]:
    """Return all patterns of the package: those of modules and their tables, and those that are written inside functions."""
    found: dict[tuple[object, int], OwnPattern] = {}
    for module in pkgutil.walk_packages(porism.__path__, "porism."):
        if module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        named = [(name, one) for name, value in vars(loaded).items() for one in _patterns_in(value)]
        for name, pattern in (*named, *(("", one) for one in _inline(loaded.__file__ or ""))):
            found.setdefault((pattern.pattern, pattern.flags), OwnPattern(module.name, name, pattern))
    from porism.formula.latex.repair import pattern_repairs

    for row in pattern_repairs():
        key = row.pattern.pattern, row.pattern.flags
        found.setdefault(key, OwnPattern("porism.formula.latex.repair", "repairs.tsv", row.pattern))
    return tuple(found.values())


def _patterns_in(value: object, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns in a value of a module: a pattern, or a table that holds some."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        for part in (*value.keys(), *value.values()):
            yield from _patterns_in(part, depth - 1)
    elif depth and isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            yield from _patterns_in(part, depth - 1)


def _inline(path: str) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns that functions of a file write as literals: `re.split(r"...", text)`."""
    if not path.endswith(".py") and not Path(path.split(".")[0]).with_suffix(".py").is_file():
        return
    source = Path(path) if path.endswith(".py") else Path(path.split(".")[0]).with_suffix(".py")
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in INLINE
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            names = {part.attr for one in (*node.args[1:], *node.keywords) for part in ast.walk(one) if isinstance(part, ast.Attribute)}  # fmt: skip
            yield re.compile(node.args[0].value, sum((FLAGS[name] for name in names & FLAGS.keys()), re.RegexFlag(0)))


@cache
def pumps_of(pattern: re.Pattern[Any]) -> tuple[Pump, ...]:
    """Return the pumps of a pattern: the openers of its alternatives, and what its repetitions repeat."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    walk = _Walk(bool(pattern.flags & re.MULTILINE))
    found: dict[Pump, None] = {}
    for before, run in walk.pumps(tree, ""):
        for after in AFTER:
            if run:
                found[Pump(before, run, after)] = None
    return tuple(found)


@cache
def openers(packages: tuple[str, ...]) -> tuple[Pump, ...]:
    """Return the pumps of all patterns of some packages, each run once."""
    found: dict[tuple[str, str], Pump] = {}
    for own in own_patterns():
        if own.module.startswith(packages):
            for pump in pumps_of(own.pattern):
                found.setdefault((pump.before, pump.run), pump._replace(after=""))
    return tuple(found.values())


class _Walk:
    """Walks the tree of a pattern from left to right, with the text that matches so far."""

    def __init__(self, multiline: bool) -> None:
        self._line = "\n" if multiline else ""
        self._groups: dict[int, str] = {}

    def pumps(self, tree: Iterable[Any], before: str) -> Iterator[tuple[str, str]]:
        """Yield what is before a run, and the run."""
        so_far = ""
        for kind, value in tree:
            opener = before + so_far
            if kind is sre.BRANCH:
                for branch in value[1]:
                    yield "", opener + self.sample(branch)
                    yield from self.pumps(branch, opener)
            elif kind in REPEATS:
                item = self.sample(value[2])
                yield "", opener
                yield "", opener + item
                yield opener, item
                yield from self.pumps(value[2], opener)
            elif kind is sre.SUBPATTERN:
                yield from self.pumps(value[3], opener)
            elif kind is sre.ATOMIC_GROUP:
                yield from self.pumps(value, opener)
            elif kind in (sre.ASSERT, sre.ASSERT_NOT):
                yield from self.pumps(value[1], opener)
            elif kind is sre.GROUPREF_EXISTS:
                for branch in value[1:]:
                    yield from self.pumps(branch or (), opener)
            so_far += self.sample([(kind, value)])
        yield "", before + so_far
        yield "", (before + so_far)[:-1]

    def sample(self, tree: Iterable[Any]) -> str:
        """Return a short text that a part of a pattern matches; what is only looked at is left out."""
        return "".join(self._one(kind, value) for kind, value in tree)

    def _one(self, kind: Any, value: Any) -> str:
        if kind is sre.LITERAL:
            return chr(value)
        if kind is sre.NOT_LITERAL:
            return "a" if value != ord("a") else "b"
        if kind is sre.ANY:
            return "a"
        if kind is sre.IN:
            return _member(value)
        if kind is sre.BRANCH:
            return self.sample(value[1][0])
        if kind in REPEATS:
            least, _, item = value
            return self.sample(item) * max(1, min(least, 50))
        if kind is sre.SUBPATTERN:
            text = self.sample(value[3])
            if value[0] is not None:
                self._groups[value[0]] = text
            return text
        if kind is sre.ATOMIC_GROUP:
            return self.sample(value)
        if kind is sre.GROUPREF:
            return self._groups.get(value, "")
        if kind is sre.GROUPREF_EXISTS:
            return self.sample(value[1])
        return self._line if kind is sre.AT and value is sre.AT_BEGINNING else ""


def _member(items: list[Any]) -> str:
    """Return a character of a class."""
    return next((one for one in CANDIDATES if _has(items, one)), "") or _first(items)


def _has(items: list[Any], character: str) -> bool:
    negated, found = False, False
    for kind, value in items:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.LITERAL:
            found |= value == ord(character)
        elif kind is sre.RANGE:
            found |= value[0] <= ord(character) <= value[1]
        elif kind is sre.CATEGORY:
            found |= re.match(CATEGORIES[value], character) is not None
    return found != negated


def _first(items: list[Any]) -> str:
    """Return the first character that a class names."""
    return next((chr(value if kind is sre.LITERAL else value[0]) for kind, value in items if kind in (sre.LITERAL, sre.RANGE)), "")  # fmt: skip
