"""Systems as people and programs read them: a table, JSON lines, and a page for each."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from porism.errors import PorismError
from porism.evaluate.reports.table import Cell, Table, render
from porism.systems.declared.declaration import MEASURES, Declaration, declared, find_declaration, shipped
from porism.systems.declared.drawing import drawing
from porism.systems.declared.parts import part_options
from porism.systems.declared.pipeline import all_models
from porism.systems.neural.named_models import named_models

COLUMNS = ("system", "task", "data", "runtype", "eval", "status", "2022")


def system_table() -> str:
    """Return the list of systems as a table; those of plug-ins have one of their own."""
    note = "2022: the published nDCG' (Task 3: AR) on the whole collection; porism systems show NAME tells more"
    tables = [Table("systems", COLUMNS, _rows(shipped()), "Systems of the ARQMath-3 tables", (note,))]
    if added := declared()[len(shipped()) :]:
        tables.append(Table("plug-ins", COLUMNS, _rows(added), "Systems of plug-ins"))
    return render(tables, "table")


def _rows(systems: Sequence[Declaration]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (one.name, one.task, one.data, _run_type(one), "P" if one.primary else "A", one.status, _main_score(one))
        for one in systems
    )


def _run_type(one: Declaration) -> str:
    return "manual" if one.manual else "auto"


def _main_score(one: Declaration) -> float | None:
    return one.published.get(2022, {}).get(MEASURES[one.task][0])


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
    yield f"{one.name}  (Task {one.task}, {one.year}, {kind}, {'primary' if one.primary else 'alternate'}, data: {one.data})"
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
