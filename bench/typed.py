"""Queries as people type them: words, ASCII and Unicode mathematics, wildcards and misspelt words, over the slice.

    python -m bench typed                       all three suites; PORISM_BENCH_KEEP names a folder with the slice's index
    python -m bench typed development           only the half of each suite that is read while developing

Each suite is a table in `bench/typed`. The queries are our own; the threads that they must find were chosen by reading
the slice.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from bench._judged import index, is_missing
from porism.formula import parse
from porism.formula.canonical.forms import canonical
from porism.formula.plaintext import tree_text
from porism.search.display.results import SearchHit
from porism.search.engine import Engine
from porism.search.query import Kind

TABLES = Path(__file__).with_name("typed")
Half = Literal["development", "check"]
FIRST, FIRST_FORMULAS = 3, 5  # a target must be among so many hits
BINDS = "*"  # the target of a query whose first hits must contain a formula to which it binds
LISTS: tuple[Kind, ...] = ("answers", "questions")


class Outcome(NamedTuple):
    """A query of a suite, and in which of the lists it holds."""

    half: str
    kind: str
    query: str
    holds: tuple[bool, ...]

    @property
    def any(self) -> bool:
        """Whether it holds in one of the lists."""
        return any(self.holds)


def rows(name: str, half: str = "") -> Iterator[list[str]]:
    """Yield the rows of a suite, of one half or of both."""
    for line in (TABLES / f"{name}.tsv").read_text("utf-8").splitlines():
        row = line.split("\t")
        if not line.startswith("#") and half in ("", row[0]):
            yield row


def query_outcomes(engine: Engine, half: str = "") -> Iterator[Outcome]:
    """Yield for each typed query whether one of its threads is among the first three answers, and among the first three
    questions."""
    for part, kind, query, threads in rows("queries", half):
        wanted = set(map(int, threads.split()))
        yield Outcome(
            part, kind, query, tuple(bool(wanted & set(first_threads(engine, query, each))) for each in LISTS)
        )


def first_threads(engine: Engine, query: str, kind: Kind, k: int = FIRST) -> list[int]:
    """Return the threads of the first hits."""
    return [hit.thread_id for hit in engine.search(query, k=k, kind=kind).hits]


def wildcard_outcomes(engine: Engine, half: str = "") -> Iterator[Outcome]:
    """Yield for each wildcard query whether it finds one of its targets."""
    for part, kind, query, targets in rows("wildcards", half):
        if kind == "answers":
            wanted = set() if targets == BINDS else set(map(int, targets.split()))
            found = engine.search(query, k=FIRST).hits
            holds = bool(wanted & {hit.thread_id for hit in found}) if wanted else _all_bind(engine, query, found)
        else:
            hits = engine.formulas(
                query, k=FIRST_FORMULAS, mode="subformula" if kind == "subformula" else "similar"
            ).hits
            forms = {_form(target) for target in targets.split(" ;; ")}
            binds = bool(hits) and all(hit.level for hit in hits[:FIRST])
            holds = binds if targets == BINDS else any(_form(hit.latex) in forms for hit in hits)
        yield Outcome(part, kind, query, (holds,))


def _form(latex: str) -> str:
    return tree_text(canonical(parse(latex).operators, "commutative").tree)


def _all_bind(engine: Engine, query: str, hits: Sequence[SearchHit]) -> bool:
    """Return whether each hit contains a formula to which the first formula of the query binds."""
    from porism.formula.match.matcher import match

    pattern = engine.read(query).formulas[0].parsed.operators
    posts = engine.snapshot.posts([hit.id for hit in hits]).posts
    return bool(posts) and all(
        any(match(pattern, parse(segment.text).operators) for segment in one.post.body.formulas) for one in posts
    )


def spelling_outcomes(engine: Engine, half: str = "") -> Iterator[Outcome]:
    """Yield for each misspelt query whether its first hit is that of the right spelling, in answers and in
    questions."""
    for part, wrong, right in rows("spelling", half):
        holds = tuple(_first(engine, wrong, each) == _first(engine, right, each) != 0 for each in LISTS)
        yield Outcome(part, "misspelt", wrong, holds)


def _first(engine: Engine, query: str, kind: Kind) -> int:
    hits = engine.search(query, k=1, kind=kind).hits
    return hits[0].id if hits else 0


SUITES = {"queries": query_outcomes, "wildcards": wildcard_outcomes, "spelling": spelling_outcomes}


def report(name: str, outcomes: Sequence[Outcome], *, failures: bool) -> None:
    """Print the share of queries that hold, by half and by kind, and those of the development half that do not."""
    for number, label in enumerate(("answers", "questions", "either")[: len(outcomes[0].holds) + 1]):
        held = [one.any if number == len(one.holds) else one.holds[number] for one in outcomes]
        if number and len(outcomes[0].holds) == 1:
            break
        total, good = Counter[str](), Counter[str]()
        for one, ok in zip(outcomes, held, strict=True):
            for group in ("all", one.half, one.kind):
                total[group] += 1
                good[group] += ok
        print(name, label, "  ".join(f"{group} {good[group]}/{total[group]}" for group in total))
    for one in outcomes:
        if failures and one.half == "development" and not all(one.holds):
            print(f"  {one.holds} {one.query}")


def main(arguments: Sequence[str] = ()) -> None:
    """Run the suites."""
    if is_missing("typed"):
        return
    half = next((one for one in arguments if one in ("development", "check")), "")
    chosen = [one for one in arguments if one in SUITES] or list(SUITES)
    engine = Engine.open(index(True))
    for name in chosen:
        report(name, list(SUITES[name](engine, half)), failures=half == "development")


if __name__ == "__main__":
    main(sys.argv[1:])
