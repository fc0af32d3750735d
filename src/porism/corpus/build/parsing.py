"""The third stage of a build: each distinct expression is parsed once, on all cores, and gets its visual id."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from porism.corpus.build.expressions import Workspace
from porism.corpus.build.ledger import Ledger
from porism.corpus.build.select import TreesFrom
from porism.corpus.build.visual import BATCH, VisualIds, VisualKeyRow, visual_key
from porism.corpus.build.work import ExpressionRow, columns, note, progress, replace, rows, top
from porism.deadline import ProcessorLimitExceeded, processor_limit
from porism.formula import Parsed, Problem, parse, parse_mathml
from porism.formula.binary import pack
from porism.formula.mathml.clean import is_well_formed
from porism.formula.parsed import opaque
from porism.parallel import Pool, TaskQueue, ordered

OFFICIAL = "official MathML"
SECONDS = 20.0  # of processor time, for a batch of expressions and then for each of them

# Reasons not to use the MathML of a source; the trees then come from LaTeX.
ILL_FORMED = "ill-formed, trees from LaTeX"
ERROR = "with an error of its converter (merror), trees from LaTeX"
EMPTY = "shows nothing, trees from LaTeX"
LARGE = "too large or too deep, trees from LaTeX"
REFUSED = frozenset((ILL_FORMED, ERROR, EMPTY, LARGE))


class SourceExpression(NamedTuple):
    """An expression to parse: its LaTeX, and the Presentation and Content MathML of its source."""

    latex: str
    mathml: str | None
    content: str | None


class ParsedExpression(NamedTuple):
    """A parsed expression: its packed trees, the hash of its visual key, its converter, and its first problem."""

    packed: bytes
    key: int
    path: str
    problem: str


class StoredExpression(NamedTuple):
    """A row of the store's `expressions`."""

    id: int
    latex: str
    mathml: str | None
    content: str | None
    trees: bytes
    path: str
    problem: str
    key: int
    visual_id: int | None


INSERT = replace("expressions", StoredExpression)


def load_parser() -> None:
    """Load, in a worker, what parsing needs."""
    parse("x")


def parse_all(expressions: list[SourceExpression], official: bool = False) -> list[ParsedExpression]:
    """Parse expressions from their LaTeX, and from the MathML of their source where LaTeX is absent or not understood;
    with `official`, the other way round. One that takes too much processor time is kept as tokens."""
    try:
        with processor_limit(SECONDS):
            return [_parse_one(given, official) for given in expressions]
    except ProcessorLimitExceeded as error:
        if len(expressions) > 1:
            return [parsed for given in expressions for parsed in parse_all([given], official)]
        given = expressions[0]
        return [_packed(opaque(given.latex, (Problem(error.message, 0, len(given.latex)),)))]


# Records between processes are plain tuples, which are pickled in a third of the time.
SourceTuple = tuple[str, str | None, str | None]
ParsedTuple = tuple[bytes, int, str, str]
_Queue = TaskQueue[list[ExpressionRow], list[SourceTuple], list[ParsedTuple]]
AHEAD = 20  # batches that are parsed while expressions are still added, about 20 MB


def _parse_tuples(official: bool, expressions: list[SourceTuple]) -> list[ParsedTuple]:
    """Parse expressions: the work of one worker."""
    parsed = parse_all([SourceExpression(*one) for one in expressions], official)
    return [(one.packed, one.key, one.path, one.problem) for one in parsed]


def _parse_one(given: SourceExpression, official: bool) -> ParsedExpression:
    refused = ""
    try:
        if given.mathml and official:
            found = read_mathml(given.latex, given.mathml, given.content)
            if isinstance(found, Parsed):
                return _packed(found)
            refused = found
        parsed = parse(given.latex)
        if given.mathml and (not given.latex.strip() or parsed.path == "opaque"):
            parsed = parse_mathml(given.mathml, given.latex)
            without_places(parsed)
        trees = _packed(parsed)
        return trees._replace(problem=refused) if refused else trees
    except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError, RecursionError) as error:
        # The parser does not raise on user text. If it does, a fault of ours must not end a build of hours: it is
        # counted.
        fault = Problem(f"fault in the parser: {type(error).__name__}: {error}", 0, len(given.latex))
        return _packed(opaque(given.latex, (fault,)))


def read_mathml(latex: str, mathml: str, content: str | None) -> Parsed | str:
    """Return both trees of Presentation and Content MathML, or the reason why they cannot be used.

    Where Content MathML is absent or ill-formed, the operator tree comes from the layout tree."""
    if "<merror" in mathml or "<cerror" in (content or ""):
        return ERROR
    if not is_well_formed(mathml):
        return ILL_FORMED
    parsed = parse_mathml(mathml, latex, content if content and is_well_formed(content) else "")
    if parsed.path == "opaque":
        return LARGE
    if parsed.layout.label == "W!" and not parsed.layout.children:
        return EMPTY
    without_places(parsed)
    return parsed


def without_places(parsed: Parsed) -> None:
    """Remove the positions of nodes: pages draw formulas from their LaTeX, where they would mean other symbols."""
    for tree in (parsed.layout, parsed.operators):
        for node in tree.walk():
            node.places = ()


def _packed(parsed: Parsed) -> ParsedExpression:
    problem = parsed.problems[0].message if parsed.problems else ""
    return ParsedExpression(pack(parsed), visual_key(parsed), parsed.path, problem)


class Parsing:
    """The parsing of all expressions in a work database. It may begin before all of them are there."""

    def __init__(self, work: sqlite3.Connection, pool: Pool | None, trees_from: TreesFrom) -> None:
        self.official = trees_from == "official"
        self._work = work
        self._after = progress(work, "parse")
        self._parse = partial(_parse_tuples, self.official)
        self._queue: _Queue | None = None if pool is None else TaskQueue(pool, self._parse)

    def begin(self) -> None:
        """Let idle workers parse whole batches of what is there; at most AHEAD batches, since their results wait."""
        queue = self._queue
        while queue is not None and len(queue) < AHEAD and len(batch := self._next_batch()) == BATCH:
            queue.submit(batch, _task(batch))
            self._after = batch[-1].id

    def results(self) -> Iterator[tuple[list[ExpressionRow], list[ParsedTuple]]]:
        """Yield batches of expressions with their trees, in the order of ids."""
        tasks = ((batch, _task(batch)) for batch in self._batches())
        return ordered(None, self._parse, tasks) if self._queue is None else self._queue.results(tasks)

    def _batches(self) -> Iterator[list[ExpressionRow]]:
        while batch := self._next_batch():
            self._after = batch[-1].id
            yield batch

    def _next_batch(self) -> list[ExpressionRow]:
        query = f"SELECT {columns(ExpressionRow)} FROM latex WHERE id > ? ORDER BY id LIMIT {BATCH}"
        return rows(self._work, ExpressionRow, query, self._after)


def _task(batch: list[ExpressionRow]) -> list[SourceTuple]:
    return [(row.latex, row.mathml, row.content) for row in batch]


def parse_expressions(space: Workspace, parsing: Parsing, advance: Callable[[int], None]) -> None:
    """Parse what is not parsed yet, in the order of ids."""
    work, store, ledger = space.work, space.store, space.ledger
    visuals = VisualIds(work, top(work, "visuals"))
    for batch, found in parsing.results():
        parsed = [ParsedExpression(*trees) for trees in found]
        keyed = [VisualKeyRow(row.id, trees.key, row.visual_id) for row, trees in zip(batch, parsed, strict=True)]
        stored = []
        for row, trees, visual in zip(batch, parsed, visuals.assign(keyed), strict=True):
            packed = (trees.packed, trees.path, trees.problem, trees.key)
            stored.append(StoredExpression(row.id, row.latex, row.mathml, row.content, *packed, visual))
            _count(ledger, row, trees, parsing.official)
        store.executemany(INSERT, stored)
        note(work, "parse", batch[-1].id)
        ledger.save()
        store.commit()
        work.commit()
        advance(len(batch))
    visuals.settle(store)


def _count(ledger: Ledger, row: ExpressionRow, trees: ParsedExpression, official: bool) -> None:
    ledger.keep("expressions")
    if official and row.mathml:
        ledger.read(OFFICIAL)
        if trees.problem in REFUSED:
            ledger.drop(OFFICIAL, trees.problem, row.latex[:200])
        else:
            ledger.keep(OFFICIAL)
    if trees.path == "opaque":
        ledger.drop("expressions", "not understood, kept as tokens", f"{row.latex[:200]}  ({trees.problem})")
