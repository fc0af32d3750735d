"""Declared systems for people: as tables, JSON and SVG drawings."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import NamedTuple
from xml.sax.saxutils import escape

from porism.errors import PorismError
from porism.evaluate.table import Cell, ResultTable, render
from porism.systems.declared.declaration import MEASURES, Declaration, declared, find_declaration, shipped
from porism.systems.declared.parts import part_options
from porism.systems.declared.pipeline import all_models
from porism.systems.named_models import named_models

LETTER, LINE, PADDING = 7.2, 17, 10  # width of a letter, height of a line, space around a text
ARROW, GAP, MARGIN = 34, 12, 8  # length of an arrow, space between systems, space around the drawing
LONGEST = 44  # letters of an option that are shown
RESULTS = {1: "answers", 2: "formulas", 3: "one answer"}
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
    'width="{width:.0f}" height="{height:.0f}" '
    'font-family="ui-monospace, monospace" font-size="12" role="img"><title>{title}</title>'
    "<style>rect{{fill:#f4f6fa;stroke:#51617d}}text{{fill:#1c2430}}path{{fill:none;stroke:#51617d}}"
    "@media(prefers-color-scheme:dark){{rect{{fill:#232b38;stroke:#8fa0bd}}"
    "text{{fill:#e6eaf2}}path{{stroke:#8fa0bd}}}}</style>"
)


class Shape(NamedTuple):
    """Something of a size that draws itself at a place; arrows enter and leave it at half its height."""

    width: float
    height: float
    draw: Callable[[float, float], Iterator[str]]


def file_name(declaration: Declaration) -> str:
    """Return the name of the file with the drawing of a system."""
    letters = re.sub(r"[^a-z0-9]+", "-", declaration.name.casefold()).strip("-")
    return f"{letters}-task{declaration.task}.svg"


def drawing(declaration: Declaration) -> str:
    """Return the pipeline of a system as SVG."""
    shape = _row([_box(["query"]), *_parts(declaration), _box([RESULTS[declaration.task]])])
    width, height = shape.width + 2 * MARGIN, shape.height + 2 * MARGIN
    head = HEAD.format(width=width, height=height, title=escape(f"The pipeline of {declaration.name}"))
    return "\n".join([head, *shape.draw(MARGIN, MARGIN), "</svg>"]) + "\n"


def _parts(declaration: Declaration) -> Iterator[Shape]:
    for part in declaration.parts:
        members = [find_declaration(name, declaration.member_task) for name in part.options.get("of", ())]
        if members:
            yield _stack([_row([_box([one.name]), *_parts(one)]) for one in members])
        lines = [f"{name} = {value}" for name, value in part.options.items() if name != "of"]
        yield _box([part.use, *(line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines)])


def _box(lines: Sequence[str]) -> Shape:
    width = max(map(len, lines)) * LETTER + 2 * PADDING
    height = len(lines) * LINE + 2 * PADDING

    def draw(x: float, y: float) -> Iterator[str]:
        yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5"/>'
        for number, line in enumerate(lines):
            weight = ' font-weight="bold"' if number == 0 else ""
            base = y + PADDING + LINE * (number + 0.75)
            yield f'<text x="{x + PADDING:.1f}" y="{base:.1f}"{weight}>{escape(line)}</text>'

    return Shape(width, height, draw)


def _row(shapes: Sequence[Shape]) -> Shape:
    """Return shapes from left to right, with arrows between them."""
    height = max(shape.height for shape in shapes)

    def draw(x: float, y: float) -> Iterator[str]:
        for number, shape in enumerate(shapes):
            if number:
                left, middle = f"{x - 6:.1f}", y + height / 2
                yield (
                    f'<path d="M{x - ARROW:.1f} {middle:.1f}H{x:.1f}M{left} {middle - 4:.1f}'
                    f'L{x:.1f} {middle:.1f}L{left} {middle + 4:.1f}"/>'
                )
            yield from shape.draw(x, y + (height - shape.height) / 2)
            x += shape.width + ARROW

    return Shape(sum(shape.width for shape in shapes) + ARROW * (len(shapes) - 1), height, draw)


def _stack(shapes: Sequence[Shape]) -> Shape:
    """Return shapes one under another, with lines from the left and to the right."""
    width = max(shape.width for shape in shapes)
    height = sum(shape.height for shape in shapes) + GAP * (len(shapes) - 1)

    def draw(x: float, y: float) -> Iterator[str]:
        middle, right = y + height / 2, x + 2 * ARROW + width
        for shape in shapes:
            level = y + shape.height / 2
            yield f'<path d="M{x:.1f} {middle:.1f}V{level:.1f}H{x + ARROW:.1f}"/>'
            yield f'<path d="M{x + ARROW + shape.width:.1f} {level:.1f}H{right:.1f}V{middle:.1f}"/>'
            yield from shape.draw(x + ARROW, y)
            y += shape.height + GAP

    return Shape(width + 2 * ARROW, height, draw)


COLUMNS = ("system", "task", "data", "runtype", "eval", "status", "2022")


def system_table() -> str:
    """Return the list of systems as a table; those of plug-ins have one of their own."""
    note = "2022: the published nDCG' (Task 3: AR) on the whole collection; porism systems show NAME tells more"
    tables = [ResultTable("systems", COLUMNS, _rows(shipped()), "Systems of the ARQMath-3 tables", (note,))]
    if added := declared()[len(shipped()) :]:
        tables.append(ResultTable("plug-ins", COLUMNS, _rows(added), "Systems of plug-ins"))
    return render(tables, "table")


def _rows(systems: Sequence[Declaration]) -> tuple[tuple[Cell, ...], ...]:
    rows = []
    for one in systems:
        kind, rank = "manual" if one.manual else "auto", "P" if one.primary else "A"
        score = one.published.get(2022, {}).get(MEASURES[one.task][0])
        rows.append((one.name, one.task, one.data, kind, rank, one.status, score))
    return tuple(rows)


def system_lines() -> str:
    """Return one JSON object per system."""
    return "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in declared())


def described(name: str, task: int | None = None) -> str:
    """Return the pages of a system: one for each task that it has."""
    return "\n".join("\n".join(_lines(one)) + "\n" for one in _named(name, task))


def drawn(name: str, task: int | None = None) -> str:
    """Return the pipeline of a system as SVG: that of its first task, unless `task` names another."""
    return drawing(_named(name, task)[0])


def _named(name: str, task: int | None) -> list[Declaration]:
    """Return the declarations of a name: one for each task that it has."""
    found: list[Declaration] = []
    for number in MEASURES if task is None else (task,):
        try:
            found.append(find_declaration(name, number))
        except PorismError as error:
            last = error
    if not found:
        raise last from None
    return found


def _lines(one: Declaration) -> Iterator[str]:
    kind = "manual" if one.manual else "automatic"
    rank = "primary" if one.primary else "alternate"
    yield f"{one.name}  (Task {one.task}, {one.year}, {kind}, {rank}, data: {one.data})"
    yield f"status: {one.status}"
    if one.printed:
        yield f"printed in the tables as: {one.printed}"
    yield "pipeline:" if one.parts else "pipeline: none in this version"
    for number, part in enumerate(one.parts, 1):
        yield f"  {number}. {part}"
        for option, parameter in part_options(part.use).items():
            value = part.options.get(option, parameter.default)
            shown = "required" if value is inspect.Parameter.empty else repr(value)
            source = one.sources.get(option, "")
            yield f"       --set {part.use}.{option}={shown}{f'   ({source})' if source else ''}"
    for need in one.needs:
        yield f"needs: {need}"
    for name in dict.fromkeys(all_models(one)):
        model = named_models()[name]
        yield f"model {name} ({model.kind}): {model.remedy()}"
    if one.automatic_query:
        yield f"query without --queries: {one.automatic_query}"
    for fact in one.approximations:
        yield f"approximation: {fact}"
    for check in one.checks:
        yield f"checked: {check}"
    if one.gap:
        yield f"gap: {one.gap}"
    for year, scores in one.published.items():
        yield f"published {year}: {', '.join(f'{name} {value:.3f}' for name, value in scores.items())}"
    if one.as_task3:
        yield f"published 2022, first answers as Task 3: {', '.join(f'{n} {v:.3f}' for n, v in one.as_task3.items())}"
