"""A table, and the six formats in which it is printed."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from porism.errors import PorismError

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table. `name` is its key in JSON; every format but tsv has the `notes`; `marked` rows are highlighted."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    digits: int = 3
    marked: frozenset[int] = field(default=frozenset())

    def is_numeric(self, column: int) -> bool:
        """Return whether the column holds numbers only."""
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and all(isinstance(cell, int | float) for cell in cells)

    def lines(self) -> list[list[str]]:
        """Return all cells as they are printed."""

        def text(cell: Cell) -> str:
            return "" if cell is None else f"{cell:.{self.digits}f}" if isinstance(cell, float) else str(cell)

        return [[text(cell) for cell in row] for row in self.rows]


def aligned(table: ResultTable) -> str:
    """Render a table for a terminal."""
    lines = [list(table.columns), *table.lines()]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    out = [table.title] if table.title else []
    for number, line in enumerate(lines):
        cells = [
            text.rjust(width) if table.is_numeric(place) else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        mark = ("> " if number - 1 in table.marked else "  ") if table.marked else ""
        out.append((mark + "  ".join(cells)).rstrip())
        if number == 0:
            out.append((" " * len(mark)) + "  ".join("-" * width for width in widths))
    return "\n".join([*out, *table.notes]) + "\n"


# A spreadsheet computes a cell that begins so, also behind quotes, spaces and signs that nobody sees.
_FORMULA = re.compile(r"[\s\x00-\x1f'\"\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠\t\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?%?")


def spreadsheet_cell(text: str) -> str:
    """Return text for a table that people open in a spreadsheet: what would be computed gets an apostrophe. Numbers
    stay.

    Files that programs exchange (runs, qrels, topics) have exact cells instead.

    >>> [spreadsheet_cell(text) for text in ("=1+1", "-2.5", "-x", "a=b")]
    ["'=1+1", '-2.5', "'-x", 'a=b']
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def text_of_cell(cell: str) -> str:
    """Return the text of which `spreadsheet_cell` made a cell."""
    return cell[1:] if cell[:1] == "'" and spreadsheet_cell(cell[1:]) == cell else cell


def tsv(table: ResultTable) -> str:
    """Render header and rows, separated by tabs. Notes are left out: a program would take them for rows."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.lines())
    return out.getvalue()


def as_json(*tables: ResultTable) -> str:
    """Render tables as one object: name -> title, notes and rows, with unrounded numbers."""
    found = {}
    for table in tables:
        keys = [_json_key(column) for column in table.columns]
        rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
        found[table.name] = {"title": table.title, "notes": list(table.notes), "rows": rows}
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _json_key(column: str) -> str:
    """Return a key in snake_case for a column with spaces; other columns, names of measures and runs, stay as they are.

    >>> [_json_key(name) for name in ("run", "p t-test", "nDCG'", "2022 nDCG'")]
    ['run', 'p_t_test', "nDCG'", "2022_nDCG'"]
    """
    words = re.split(r"[ -]+", column) if " " in column else [column]
    return "_".join(word if len(words) == 1 or re.search(r"['@]", word) else word.lower() for word in words)


def markdown(table: ResultTable) -> str:
    """Render a pipe table."""
    rules = ["--:" if table.is_numeric(place) else "---" for place in range(len(table.columns))]
    rows = [list(table.columns), rules, *table.lines()]
    body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    head = f"**{table.title}**\n\n" if table.title else ""
    return head + body + "\n" + "".join(f"\n{note}\n" for note in table.notes)


LATEX = {mark: rf"\{mark}" for mark in "&%_#${}"} | {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}


def latex(table: ResultTable) -> str:
    """Render a booktabs table."""
    escaped = str.maketrans(LATEX)
    shape = "".join("r" if table.is_numeric(place) else "l" for place in range(len(table.columns)))
    head, *rows = [
        " & ".join(cell.translate(escaped) for cell in row) + r" \\" for row in (table.columns, *table.lines())
    ]
    notes = [f"% {note}" for note in table.notes]
    caption = [rf"\caption{{{table.title.translate(escaped)}}}"] if table.title else []
    start = [r"\begin{table}", *caption, rf"\begin{{tabular}}{{{shape}}}", r"\toprule", head, r"\midrule"]
    return "\n".join([*start, *rows, r"\bottomrule", r"\end{tabular}", *notes, r"\end{table}", ""])


def as_html(table: ResultTable) -> str:
    """Render a plain HTML table; the page brings the styles."""
    kinds = [' class="number"' if table.is_numeric(place) else "" for place in range(len(table.columns))]
    head = "".join(f"<th{kind}>{html.escape(column)}</th>" for kind, column in zip(kinds, table.columns, strict=True))
    rows = []
    for number, line in enumerate(table.lines()):
        cells = "".join(f"<td{kind}>{html.escape(cell)}</td>" for kind, cell in zip(kinds, line, strict=True))
        rows.append(f"<tr{' class=marked' if number in table.marked else ''}>{cells}</tr>")
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    notes = "".join(f"<p>{html.escape(note)}</p>\n" for note in table.notes)
    body = "\n".join(rows)
    return f"<table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n{notes}"


FORMATS: dict[str, Callable[[ResultTable], str]] = {
    "table": aligned,
    "tsv": tsv,
    "json": as_json,
    "markdown": markdown,
    "latex": latex,
    "html": as_html,
}


def render(tables: Sequence[ResultTable], form: str = "table") -> str:
    """Render tables in a format, one after the other. In JSON they are one object, keyed by the names of the tables."""
    if form not in FORMATS:
        raise PorismError(f"unknown format {form!r}", fix=f"choose one of {', '.join(FORMATS)}")
    if form == "json":
        return as_json(*tables)
    return "\n".join(FORMATS[form](table) for table in tables)
