"""A whole experiment on one page: tables, pictures and tests in a single HTML file that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from porism import __version__
from porism.corpus.topics.info import TopicInfo
from porism.evaluate.comparison.compare import Comparison, bootstrap, differences
from porism.evaluate.comparison.coverage import DEPTHS, judged_rates
from porism.evaluate.measures.curves import precision_by_depth, recall_by_depth
from porism.evaluate.measures.score import Scores
from porism.evaluate.qrels import count
from porism.evaluate.reports import svg, views
from porism.evaluate.reports.experiment import Experiment, teams
from porism.evaluate.reports.table import Table, as_html
from porism.files import atomic_file

TICKS = [(math.log10(depth), str(depth)) for depth in (1, 10, 100, 1000)]


def write_report(
    made: Experiment, path: str | Path, title: str = "", infos: Mapping[str, TopicInfo] | None = None, seed: int = 2022
) -> None:
    """Write the page. Parts that need several runs, teams or topic information are there when these are."""
    import jinja2

    source = files("porism.evaluate.reports").joinpath("report.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    page = environment.from_string(source).render(
        title=title or "Report of an experiment",
        version=__version__,
        made=made,
        counts=count(made.qrels),
        leaders=leaders(made, seed),
        measure=str(made.measures[0]),
        pictures=pictures(made),
        tables=[(name, as_html(table)) for name, table in tables(made, infos, seed)],
    )
    with atomic_file(path) as out:
        out.write(page)


def leaders(made: Experiment, seed: int) -> list[dict[str, object]]:
    """Runs by the first measure, with the bootstrap interval and the mean of every measure."""
    first = made.measures[0]
    rows = []
    for number, one in enumerate(made.scores):
        low, high = bootstrap(one.row(first), seed=seed)
        means = [one.mean(measure) for measure in made.measures]
        rows.append(
            {
                "run": one.run,
                "topics": len(one.topics),
                "means": means,
                "low": low,
                "high": high,
                "colour": svg.colour(number),
            }
        )
    best = [max(one.mean(measure) for one in made.scores) for measure in made.measures]
    for row in rows:
        row["best"] = [abs(mean - top) < 5e-5 for mean, top in zip(row["means"], best, strict=True)]  # type: ignore[call-overload]
    return sorted(rows, key=lambda row: -row["means"][0])  # type: ignore[index]


def hardest_first(made: Experiment) -> list[str]:
    """Topics by the mean of all runs, so that pictures share an order."""
    first = made.measures[0]
    topics = [topic for topic in made.scores[0].topics if all(topic in one.values[first] for one in made.scores)]
    return sorted(topics, key=lambda topic: (sum(one.values[first][topic] for one in made.scores), topic))


def in_order(one: Scores, made: Experiment) -> dict[str, float]:
    """A run's values in the shared order."""
    return {topic: one.values[made.measures[0]][topic] for topic in hardest_first(made)}


def pictures(made: Experiment) -> dict[str, list[tuple[str, str]]]:
    """The pictures by part of the page, each with its caption."""
    first = made.measures[0]
    best = max(made.scores, key=lambda one: one.mean(first))
    place = {run.name: number for number, run in enumerate(made.runs)}
    found = {
        "spread": [("", svg.boxes({one.run: one.row(first) for one in made.scores}, f"{first} over topics"))],
        "heat": [
            ("", svg.heat({one.run: in_order(one, made) for one in made.scores}, f"{first} of every run and topic"))
        ],
        "bars": [
            (one.run, svg.bars(in_order(one, made), f"{first} of {one.run} by topic", place[one.run]))
            for one in made.scores
        ],
        "curves": [
            (
                "Precision of judged items, by depth",
                curve({run.name: precision_by_depth(run, made.qrels) for run in made.runs}, "precision"),
            ),
            (
                "Recall, unjudged items keep their places",
                curve({run.name: recall_by_depth(run, made.qrels) for run in made.runs}, "recall"),
            ),
            (
                "Share of hits that were judged",
                curve({run.name: list(judged_rates(run, made.qrels, DEPTHS).items()) for run in made.runs}, "judged"),
            ),
        ],
        "differences": [],
    }
    for one in made.scores:
        if one is not best:
            values = dict(sorted(differences(best, one, first).items(), key=lambda pair: -pair[1]))
            most = max(0.1, *(abs(value) for value in values.values()))
            picture = svg.bars(values, "difference by topic", place[best.run], low=-most, high=most)
            found["differences"].append((f"{best.run} less {one.run}", picture))
    return found


def curve(series: Mapping[str, list[tuple[int, float]]], label: str) -> str:
    """Curves over the logarithm of depth."""
    return svg.lines(
        {name: [(math.log10(depth), value) for depth, value in row] for name, row in series.items()}, label, TICKS
    )


def tables(made: Experiment, infos: Mapping[str, TopicInfo] | None, seed: int) -> list[tuple[str, Table]]:
    """The tables below the pictures, those that apply."""
    found: list[tuple[str, Table]] = []
    if len(made.scores) > 1:
        found.append(("Is the difference real?", comparison_table(views.pairs(made, seed))))
    if len(made.scores) > 2:
        found.append(("Do the measures agree?", views.measure_correlations(made)))
    if infos:
        found.append(("By kind of topic", views.subset_table(made, infos)))
    found.append(("How much was judged?", views.coverage_table(made)))
    if len(teams(made.runs)) > 1:
        found.append(
            ("Would the pool be fair to a newcomer?", views.left_out_table(views.left_out(made, 1000), made.note))
        )
    return found


def comparison_table(found: Sequence[Comparison]) -> Table:
    """The comparison as a page has room for it."""
    rows = tuple(
        (
            svg.shorten(one.one, 28),
            svg.shorten(one.two, 28),
            str(one.measure),
            one.difference,
            f"{one.low:.3f} to {one.high:.3f}",
            one.p_randomisation,
            one.p_holm,
            f"{one.wins} / {one.losses} / {one.ties}",
        )
        for one in found
    )
    columns = ("run", "against", "measure", "difference", "95% interval", "p", "p Holm", "won / lost / tied")
    notes = (
        "p: paired randomisation test, two-sided, 10,000 rounds. p Holm: corrected over the pairs of a measure. "
        "The interval is the bootstrap's. Rows with a bar: p Holm below 0.05.",
    )
    marked = frozenset(place for place, one in enumerate(found) if one.p_holm < 0.05)
    return Table(columns, rows, "Comparison", notes, digits=4, marked=marked)
