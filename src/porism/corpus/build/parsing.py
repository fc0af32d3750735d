"""The third stage of a build: each distinct LaTeX is parsed once, on all cores, and gets its visual id."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

from porism.corpus.build.base import top
from porism.corpus.build.given import note, progress
from porism.corpus.build.ledger import Ledger
from porism.corpus.build.official import REFUSED, read_official, without_places
from porism.corpus.build.options import Trees
from porism.corpus.build.visual import VisualIds, visual_key
from porism.formula import Parsed, Problem, parse, parse_mathml
from porism.formula.binary import pack
from porism.formula.parsed import opaque
from porism.parallel import Pool, ordered

BATCH = 500
OFFICIAL = "official MathML"
INSERT = "INSERT OR REPLACE INTO expressions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"

# (LaTeX, given Presentation MathML, given Content MathML) in; (packed trees, hash of the visual key, converter, problem) out.
Source = tuple[str, str | None, str | None]
Made = tuple[bytes, int, str, str]


def parse_all(sources: list[Source]) -> list[Made]:
    """What a worker does where trees come from LaTeX: from the given MathML only where LaTeX is absent or not understood."""
    return [_guarded(latex, mathml, None, official=False) for latex, mathml, *_ in sources]


def parse_all_official(sources: list[Source]) -> list[Made]:
    """What a worker does where trees come from the given Presentation and Content MathML, and from LaTeX only where these cannot be used."""
    return [_guarded(latex, mathml, content, official=True) for latex, mathml, content in sources]


def _guarded(latex: str, mathml: str | None, content: str | None, official: bool) -> Made:
    try:
        return _parse_one(latex, mathml, content, official)
    except (ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError, ValueError, RecursionError) as error:
        # The parser does not raise on user text. If it does, a fault of ours must not end a build of hours: it is counted.
        fault = Problem(f"fault in the parser: {type(error).__name__}: {error}", 0, len(latex))
        return _made(opaque(latex, (fault,)))


def _parse_one(latex: str, mathml: str | None, content: str | None, official: bool) -> Made:
    refused = ""
    if mathml and official:
        found = read_official(latex, mathml, content)
        if isinstance(found, Parsed):
            return _made(found)
        refused = found
    parsed = parse(latex)
    if mathml and (not latex.strip() or parsed.path == "opaque"):
        parsed = parse_mathml(mathml, latex)
        without_places(parsed)
    trees, key, path, problem = _made(parsed)
    return trees, key, path, refused or problem


def _made(parsed: Parsed) -> Made:
    return pack(parsed), visual_key(parsed), parsed.path, parsed.problems[0].message if parsed.problems else ""


def parse_expressions(
    work: sqlite3.Connection,
    store: sqlite3.Connection,
    ledger: Ledger,
    pool: Pool | None,
    window: int,
    trees_from: Trees,
    advance: Callable[[int], None],
) -> None:
    """Parse what is not parsed yet, in the order of numbers."""
    visuals = VisualIds(work, top(work, "visuals"))
    official = trees_from == "official"
    tasks = ((rows, [row[1:4] for row in rows]) for rows in _batches(work))
    for rows, made in ordered(pool, parse_all_official if official else parse_all, tasks, window):
        for (number, latex, mathml, content, given), (trees, key, path, problem) in zip(rows, made, strict=True):
            visual = visuals.number(number, key, given)
            store.execute(INSERT, (number, latex, mathml, content, trees, path, problem, key, visual))
            ledger.keep("expressions")
            if official and mathml:
                _count_official(ledger, problem, latex)
            if path == "opaque":
                ledger.drop("expressions", "not understood, kept as tokens", f"{latex[:200]}  ({problem})")
        note(work, "parse", rows[-1][0])
        ledger.save()
        store.commit()
        work.commit()
        advance(len(rows))
    visuals.settle(store)


def _count_official(ledger: Ledger, problem: str, latex: str) -> None:
    ledger.read(OFFICIAL)
    if problem in REFUSED:
        ledger.drop(OFFICIAL, problem, latex[:200])
    else:
        ledger.keep(OFFICIAL)


def _batches(work: sqlite3.Connection) -> Iterator[list[tuple[int, str, str | None, str | None, int | None]]]:
    after = progress(work, "parse")
    query = f"SELECT id, latex, mathml, content, visual_id FROM latex WHERE id > ? ORDER BY id LIMIT {BATCH}"
    while rows := work.execute(query, (after,)).fetchall():
        yield rows
        after = rows[-1][0]
