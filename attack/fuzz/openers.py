"""What to repeat, so that a reader searches in vain: openers without closers, derived from our patterns themselves.

Each regular expression of the package, for text or bytes, is parsed. For each of its alternatives, and before and
inside each repetition, the text that matches so far is an opener. Repeated many times without what closes it, it costs
a pattern that is not bounded time that grows with the square of the length, or worse.
"""

from __future__ import annotations

import ast
import importlib
import math
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
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
USED = re.compile(r"\b(\w+)\.(\w+)\(")
FLAGS = {"I": re.I, "M": re.M, "S": re.S, "X": re.X, "A": re.A, "IGNORECASE": re.I, "MULTILINE": re.M, "DOTALL": re.S, "VERBOSE": re.X, "ASCII": re.A}  # fmt: skip


class OwnPattern(NamedTuple):
    """A pattern of the package, the module that defines it, its name there ("" inside a function), and whether it
    searches in a text."""

    module: str
    name: str
    pattern: re.Pattern[Any]
    searches: bool


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
    """Return all patterns of the package: those of modules and their tables, and those that are written inside
    functions."""
    found: dict[tuple[object, int], OwnPattern] = {}
    names = (module.name for module in pkgutil.walk_packages(porism.__path__, "porism."))
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    searched = {
        vars(module).get(name)
        for module in modules
        for name, method in USED.findall(_source(module.__file__))
        if method in SEARCHING and isinstance(vars(module).get(name), re.Pattern)
    }
    for module in modules:
        own = [
            OwnPattern(module.__name__, name, one, one in searched or not isinstance(value, re.Pattern))
            for name, value in vars(module).items()
            for one in _patterns_in(value)
        ]
        for one in (*own, *_inline(module.__name__, _source(module.__file__))):
            found.setdefault((one.pattern.pattern, one.pattern.flags), one)
    from porism.formula.latex.repair import pattern_repairs

    for row in pattern_repairs():
        one = OwnPattern("porism.formula.latex.repair", "repairs.tsv", row.pattern, True)
        found.setdefault((row.pattern.pattern, row.pattern.flags), one)
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


def _source(path: str | None) -> str:
    """Return the source of a module, which may be compiled."""
    place = Path(path or "")
    place = place.with_name(f"{place.name.partition('.')[0]}.py")
    return place.read_text("utf-8") if place.is_file() else ""


def _inline(module: str, source: str) -> Iterator[OwnPattern]:
    """Yield the patterns that functions of a module write as literals: `re.split(r"...", text)`."""
    for node in ast.walk(ast.parse(source)):
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
            pattern = re.compile(
                node.args[0].value, sum((FLAGS[name] for name in names & FLAGS.keys()), re.RegexFlag(0))
            )
            yield OwnPattern(module, "", pattern, node.func.attr in SEARCHING)


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


# Openers of the formats that libraries read for us: Markdown (markdown-it), reStructuredText (docutils), Org
# (orgparse), HTML (nh3), XML (lxml, expat).
LIBRARY_OPENERS = (
    *("[", "![", "[a](", "[a][", "[a]: b\n", "[a]:\n", "[a\n]:", "](<", "<a", "<a b='", "</", "`", "*a", "**a", "_a_", "*_", "~~a", "> ", "- ", "1. ", "# ", "a\n=\n"),
    *("|a|\n|-|\n", "|", "&a", "&#", "\\", "```\n", "~~~a\n", "    a\n\n", "\t", "<!--", "<?", "<![CDATA[", "<!A", "http://a.", "a@", "\n\n", "  \n", "* a\n", "---\n", "+\n\n "),
    *("*a ", "``a", "`a", "|a| ", "a_ ", "`a`_ ", "[1]_ ", "[#]_ ", ".. ", ".. a::\n", ".. _a: b_\n", ".. |a| replace:: |a|\n", "+-", "+-+\n|a|\n", "= =\n", "::\n\n a\n\n", ":a: b\n"),
    *("a\n b\n", ":a:`b", ".. math:: a\n\n", ".. [1] a\n", "a\n---\n", "-a  b\n", ">>> a\n", "_`a", ".. raw:: html\n\n a\n", ".. csv-table::\n\n a,b\n", ".. role:: a\n", "__ a\n", "a__ "),
    *("* a:", "* :a:\n", "** a\n", ":a:", ":a: ", "[[", "[[a][", "#+begin_src\n", "#+TITLE: a\n", "#+a: ", "| a ", "|-+", "CLOCK: ", "SCHEDULED: <", "<2020-01-01 ", ":PROPERTIES:\n"),
    *(":END:\n", "- [ ] a\n", "#+MACRO: a b\n", "{{{a}}} ", "#+INCLUDE: a\n", "* TODO [#A] ", "=a", "~a", "/a", "\\begin{a}\n", "# a\n", ":a:\n:END:\n", "* a\n:PROPERTIES:\n:a: "),
    *("<a>", "<b><i>", "<p><b>", "<a><b></a>", "<table>", "<table><tr><td>", "<select><option>", "<template>", "<svg>", "<math>", "<math><mi>", "<svg><a>", "<ul><li>", "<dl><dd>"),
    *("<a href=x>", "<nobr>", "<form>", "<script>", "<style>", "<textarea>", "<title>", "<font>", "<p>", "</p>", "</b>", "<h1>", "<pre>\n", "<a:b ", "<a xmlns:b='c'>", "&lt;", "&amp;"),
    *("<!DOCTYPE a [", "<!ENTITY a 'b'>", "&a;", "<a b='c' ", "<a b=\"&lt;", "{\"a\":", "[[", '"a",', "{\"cells\":[", "\\u00", "1e9,"),
    *("\\def\\a{", "\\def\\a#1{", "\\newcommand\\a[1][", "\\let\\a\\b ", "\\a{", "$\\def\\a{\\a\\a}$ ", "$\\a$ ", "\\DeclareMathOperator{\\a}{", "\\begin{verbatim}", "\\begin{a}[", "\\section[", "\\\\["),
    *("\\left(", "\\right)", "{", "}", "\\cases{", "\\matrix{", "\\text{$", "\\frac", "\\sqrt[", "^", "_", "&", "\\\\", "\\begin{matrix}", "\\end{matrix}", "\\over", "'", "\\not", "\\tag{", "%", "%\n"),
)  # fmt: skip


class Frame(NamedTuple):
    """How a pumped text is put into an input of a reader: what comes before and after it, and how it is escaped."""

    before: str = ""
    after: str = ""
    escape: Callable[[str], str] = str


class PumpedInput(NamedTuple):
    """An input that can be made in any length."""

    frame: Frame
    pump: Pump
    # run: repeated; stairs: on lines that are indented further and further; nest: with its mirror image behind it
    shape: str
    length: int

    def data(self, length: int) -> bytes:
        """Return the input with a text of this length."""
        before, run, after = self.pump
        if self.shape == "stairs":
            text = "".join(f"{' ' * step}{run.strip()}\n" for step in range(max(1, math.isqrt(2 * length))))[:length]
        elif self.shape == "nest":
            times = max(1, length // (2 * max(1, len(run))))
            text = before + run * times + run[::-1].translate(MIRRORED) * times
        else:
            text = self.pump.text(length)
        framed = self.frame.before + self.frame.escape(text + after) + self.frame.after
        return framed.encode("utf-8", "surrogatepass")


MIRRORED = str.maketrans("([{<", ")]}>")
# Lengths of pumps and how often each is chosen. What grows with the square shows it in a short one; then a long one is
# read.
LENGTHS, WEIGHTS = (8_000, 24_000, 80_000, 200_000), (70, 24, 5, 1)
SHAPES, SHAPE_WEIGHTS = ("run", "stairs", "nest"), (88, 4, 8)


@cache
def all_pumps(tokens: tuple[str, ...]) -> tuple[Pump, ...]:
    """Return what a reader is pumped with: openers of all our patterns, of libraries, and its own tokens."""
    ours = openers(("porism.",))
    others = (Pump("", run, "") for run in (*LIBRARY_OPENERS, *tokens) if run)
    return tuple(dict.fromkeys((*others, *ours)))


@cache
def in_frames(frames: tuple[Frame, ...], tokens: tuple[str, ...]) -> tuple[tuple[Frame, Pump], ...]:
    """Return every opener in every frame."""
    return tuple((frame, pump) for frame in frames for pump in all_pumps(tokens))


def pumped_inputs(
    pumps: Sequence[tuple[Frame, Pump]], seed: str, first: int, count: int, longest: int
) -> Iterator[PumpedInput]:
    """Yield some inputs, from number `first` on: every pump in an order of the seed, then two openers together."""
    every = list(pumps)
    Random(seed).shuffle(every)
    for number in range(first, first + count):
        rng = Random(f"{seed}/{number}")
        frame, pump = every[number % len(every)]
        if number >= len(every):
            other = rng.choice(every)[1]
            pump = Pump(pump.before, pump.run + other.run, rng.choice(AFTER))
        length = min(longest, rng.choices(LENGTHS, WEIGHTS)[0])
        yield PumpedInput(frame, pump, rng.choices(SHAPES, SHAPE_WEIGHTS)[0], length)
