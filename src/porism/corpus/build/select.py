"""The options of a build, and the selection of rows by them: a table of rules, each counted with examples, then
applied."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

from porism.corpus.build.ledger import EXAMPLES, Ledger
from porism.errors import PorismError

TreesFrom = Literal["latex", "official"]
YEARS = re.compile(r"(\d{4})?-(\d{4})?|(\d{4})")


@dataclass(frozen=True, slots=True)
class Options:
    """Options that change the collection. Years are inclusive; None leaves that side open.

    `trees` chooses where the trees of formulas come from: `latex` for our parser, `official` for the MathML of the
    source where it has any."""

    first_year: int | None = None
    last_year: int | None = None
    compat: bool = False
    answers: bool = True
    comments: bool = True
    trees: TreesFrom = "latex"

    def as_dict(self) -> dict[str, object]:
        """Return the options as JSON values, for the manifest."""
        return asdict(self)


def parse_years(text: str) -> tuple[int | None, int | None]:
    """Parse `2010-2018`, `-2018`, `2015-` or `2015`."""
    match = YEARS.fullmatch(text.strip())
    if not match or not any(match.groups()):
        fix = "write --years 2010-2018, --years -2018 or --years 2015-"
        raise PorismError(f"years {text!r} are not understood", fix=fix)
    if match[3]:
        return int(match[3]), int(match[3])
    first, last = (int(year) if year else None for year in match.groups()[:2])
    if first is not None and last is not None and first > last:
        raise PorismError(f"years {text!r} end before they begin", fix=f"write --years {last}-{first}")
    return first, last


class DropRule(NamedTuple):
    """A rule that drops rows of a work table, with its reason. In the condition the row has the alias `row`."""

    table: str
    why: str
    condition: str


TABLES = ("posts", "comments")
REPEATED = "EXISTS(SELECT 1 FROM {0} o WHERE o.source = row.source AND o.id = row.id AND o.seq < row.seq)"
# An official id means the same post in all sources.
AGAIN = """row.source IN ({1})
    AND EXISTS(SELECT 1 FROM {0} o WHERE o.source IN ({1}) AND o.source < row.source AND o.id = row.id)"""
# In the collection that is added to, ids of a source are shifted.
BASE = "SELECT 1 FROM shifts s JOIN {0} b ON b.id = row.{1} + s.shift WHERE s.source = row.source"
ORPHANS = (
    DropRule(
        "posts",
        "an answer whose question is not kept",
        f"""row.kind = 'answer' AND NOT EXISTS(SELECT 1 FROM posts o
            WHERE o.source = row.source AND o.id = row.parent_id AND o.kind = 'question')
            AND NOT EXISTS({BASE.format("base_posts", "parent_id")} AND b.kind = 'question')""",
    ),
    DropRule(
        "comments",
        "on a post that is not kept",
        f"""NOT EXISTS(SELECT 1 FROM posts o WHERE o.source = row.source AND o.id = row.post_id)
            AND NOT EXISTS({BASE.format("base_posts", "post_id")})""",
    ),
)


def _years(options: Options) -> list[DropRule]:
    """Return the rules for years. In compat mode only the question's year counts, as in the lab."""
    tests = []
    if options.first_year is not None:
        tests.append(f"substr(row.created, 1, 4) < '{options.first_year:04d}'")
    if options.last_year is not None:
        tests.append(f"substr(row.created, 1, 4) > '{options.last_year:04d}'")
    if not tests:
        return []
    only = "row.kind = 'question' AND " if options.compat else ""
    rules = [
        DropRule("posts", "no date, so not inside the years", f"{only}row.created = ''"),
        DropRule("posts", "outside the years", f"{only}({' OR '.join(tests)})"),
    ]
    if not options.compat:
        rules += [
            DropRule("comments", "no date, so not inside the years", "row.created = ''"),
            DropRule("comments", "outside the years", " OR ".join(tests)),
        ]
    return rules


def rules(options: Options, official: Sequence[int]) -> list[DropRule]:
    """Return all rules in the order in which they are applied."""
    chosen = [DropRule(table, "the id appeared before", REPEATED.format(table)) for table in TABLES]
    if len(official) > 1:
        inside = ", ".join(map(str, official))
        chosen += [DropRule(table, "already in an earlier source", AGAIN.format(table, inside)) for table in TABLES]
    there = ((table, f"EXISTS({BASE.format(f'base_{table}', 'id')})") for table in TABLES)
    chosen += [DropRule(table, "already in the collection", condition) for table, condition in there]
    chosen += _years(options)
    if not options.answers:
        chosen.append(DropRule("posts", "answers are left out", "row.kind = 'answer'"))
    if not options.comments:
        chosen.append(DropRule("comments", "comments are left out", "1"))
    return [*chosen, *ORPHANS]


def _file(database: sqlite3.Connection, source: int, name: str, table: str) -> str:
    """Return the file of the posts or comments of a source; in a cut, comments are in the lines of their posts."""
    files = [row[0] for row in database.execute("SELECT name FROM parts WHERE source = ? ORDER BY rowid", (source,))]
    mine = [file for wanted in (table, "posts") for file in files if file.lower().startswith(wanted)]
    return f"{name}/{mine[0]}" if mine else name


def select(
    database: sqlite3.Connection, options: Options, names: Sequence[str], official: Sequence[int], ledger: Ledger
) -> None:
    """Apply the rules to the work database, in one transaction."""
    for rule in rules(options, official):
        query = f"SELECT source, id, line FROM {rule.table} AS row WHERE {rule.condition} ORDER BY seq LIMIT {EXAMPLES}"
        examples = [
            f"{_file(database, source, names[source], rule.table)}:{line}: {rule.table[:-1]} {number}"
            for source, number, line in database.execute(query)
        ]
        if not examples:
            continue
        doomed = f"SELECT seq FROM {rule.table} AS row WHERE {rule.condition}"
        number = database.execute(f"DELETE FROM {rule.table} WHERE seq IN ({doomed})").rowcount
        ledger.drop(rule.table, rule.why, examples[0], number)
        for example in examples[1:]:
            ledger.drop(rule.table, rule.why, example, 0)
    for table in TABLES:
        ledger.keep(table, database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
