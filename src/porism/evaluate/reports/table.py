"""A table and the six ways to print it."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from porism.errors import PorismError

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows; `notes` (the averaging mode, for one) go with the table in every format but tsv. `marked` rows are those to look for."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    digits: int = 3
    marked: frozenset[int] = field(default=frozenset())

    def text(self, cell: Cell) -> str:
        """A cell as it is printed."""
        if cell is None:
            return ""
        return f"{cell:.{self.digits}f}" if isinstance(cell, float) else str(cell)

    def right(self, column: int) -> bool:
        """Whether the column holds numbers."""
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and all(isinstance(cell, int | float) for cell in cells)

    def lines(self) -> list[list[str]]:
        """All cells as text."""
        return [[self.text(cell) for cell in row] for row in self.rows]


def aligned(table: Table) -> str:
    """For a terminal."""
    lines = [list(table.columns), *table.lines()]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    out = [table.title] if table.title else []
    for number, line in enumerate(lines):
        cells = [
            text.rjust(width) if table.right(place) else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        mark = ("> " if number - 1 in table.marked else "  ") if table.marked else ""
        out.append((mark + "  ".join(cells)).rstrip())
        if number == 0:
            out.append((" " * len(mark)) + "  ".join("-" * width for width in widths))
    return "\n".join([*out, *table.notes]) + "\n"


def tsv(table: Table) -> str:
    """For programs: the header and the rows. Notes would be taken for rows; the averaging mode is a column where it matters."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.lines())
    return out.getvalue()


def as_json(table: Table) -> str:
    """Numbers at full length."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return (
        json.dumps({"title": table.title, "notes": list(table.notes), "rows": rows}, ensure_ascii=False, indent=1)
        + "\n"
    )


def markdown(table: Table) -> str:
    """A pipe table."""
    rules = ["--:" if table.right(place) else "---" for place in range(len(table.columns))]
    rows = [list(table.columns), rules, *table.lines()]
    body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    head = f"**{table.title}**\n\n" if table.title else ""
    return head + body + "\n" + "".join(f"\n{note}\n" for note in table.notes)


LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "_": r"\_",
        "#": r"\#",
        "$": r"\$",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\^{}",
        "\\": r"\textbackslash{}",
    }
)


def latex(table: Table) -> str:
    """A booktabs table."""
    shape = "".join("r" if table.right(place) else "l" for place in range(len(table.columns)))
    rows = [" & ".join(cell.translate(LATEX) for cell in row) + r" \\" for row in table.lines()]
    head = " & ".join(column.translate(LATEX) for column in table.columns) + r" \\"
    notes = [f"% {note}" for note in table.notes]
    caption = [rf"\caption{{{table.title.translate(LATEX)}}}"] if table.title else []
    return "\n".join(
        [
            r"\begin{table}",
            *caption,
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            *notes,
            r"\end{table}",
            "",
        ]
    )


def as_html(table: Table) -> str:
    """A plain HTML table; styles are the page's."""
    kinds = [' class="number"' if table.right(place) else "" for place in range(len(table.columns))]
    head = "".join(f"<th{kind}>{html.escape(column)}</th>" for kind, column in zip(kinds, table.columns, strict=True))
    rows = []
    for number, line in enumerate(table.lines()):
        cells = "".join(f"<td{kind}>{html.escape(cell)}</td>" for kind, cell in zip(kinds, line, strict=True))
        rows.append(f"<tr{' class=marked' if number in table.marked else ''}>{cells}</tr>")
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    notes = "".join(f"<p>{html.escape(note)}</p>\n" for note in table.notes)
    return (
        f"<table>{caption}\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + f"\n</tbody></table>\n{notes}"
    )


FORMATS: dict[str, Callable[[Table], str]] = {
    "table": aligned,
    "tsv": tsv,
    "json": as_json,
    "markdown": markdown,
    "latex": latex,
    "html": as_html,
}


def render(tables: Sequence[Table], form: str = "table") -> str:
    """Tables in a format, one after the other; several in JSON are a list."""
    if form not in FORMATS:
        raise PorismError(f"no format {form!r}", fix=f"choose among {', '.join(FORMATS)}")
    if form == "json" and len(tables) > 1:
        return "[" + ",\n".join(as_json(table).rstrip() for table in tables) + "]\n"
    return "\n".join(FORMATS[form](table) for table in tables)
