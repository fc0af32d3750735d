"""The report of an experiment: tables and figures in one HTML file that needs no other file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from porism import __version__
from porism.corpus.topics.files import TopicInfo
from porism.evaluate.measures.score import Experiment, teams
from porism.evaluate.qrels import count
from porism.evaluate.reliability import judged_by_depth, precision_by_depth, recall_by_depth
from porism.evaluate.reports import svg, tables
from porism.evaluate.significance import Comparison, bootstrap, differences
from porism.evaluate.table import ResultTable, as_html
from porism.files import atomic_file

TICKS = [(math.log10(depth), str(depth)) for depth in (1, 10, 100, 1000)]


class LeaderboardRow(NamedTuple):
    """A run with its means, the bootstrap interval of the first measure, and which means are the best of all runs."""

    run: str
    topics: int
    means: tuple[float, ...]
    low: float
    high: float
    best: tuple[bool, ...]
    colour: str


class Figure(NamedTuple):
    """A picture as SVG, with its caption."""

    caption: str
    svg: str


class Figures(NamedTuple):
    """The pictures of the report, by section."""

    spread: Figure
    heat: Figure
    bars: tuple[Figure, ...]
    curves: tuple[Figure, ...]
    differences: tuple[Figure, ...]


def write_report(
    experiment: Experiment,
    path: str | Path,
    title: str = "",
    infos: Mapping[str, TopicInfo] | None = None,
    seed: int = 2022,
) -> None:
    """Write the report, without the sections that need more runs, more teams or topic information."""
    import jinja2

    source = files("porism.evaluate.reports").joinpath("report.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    page = environment.from_string(source).render(
        title=title or "Report of an experiment",
        version=__version__,
        experiment=experiment,
        counts=count(experiment.qrels),
        rows=leaderboard(experiment, seed),
        measure=str(experiment.measures[0]),
        figures=draw_figures(experiment),
        sections=[(heading, as_html(table)) for heading, table in _sections(experiment, infos, seed).items()],
    )
    with atomic_file(path) as out:
        out.write(page)


def leaderboard(experiment: Experiment, seed: int) -> list[LeaderboardRow]:
    """Return the runs by their first measure, best first."""
    first = experiment.measures[0]
    tops = [max(scores.mean(measure) for scores in experiment.scores) for measure in experiment.measures]
    rows = []
    for number, scores in enumerate(experiment.scores):
        low, high = bootstrap(scores.row(first), seed=seed)
        means = tuple(map(scores.mean, experiment.measures))
        best = tuple(abs(mean - top) < 5e-5 for mean, top in zip(means, tops, strict=True))
        rows.append(LeaderboardRow(scores.run, len(scores.topics), means, low, high, best, svg.colour(number)))
    return sorted(rows, key=lambda row: -row.means[0])


def hardest_first(experiment: Experiment) -> list[str]:
    """Return the topics in the order of all figures: ascending by the mean of the first measure over all runs."""
    every = [scores.values[experiment.measures[0]] for scores in experiment.scores]
    topics = [topic for topic in experiment.scores[0].topics if all(topic in values for values in every)]
    return sorted(topics, key=lambda topic: (sum(values[topic] for values in every), topic))


def draw_figures(experiment: Experiment) -> Figures:
    """Draw all figures of the report."""
    first, every, order = experiment.measures[0], experiment.scores, hardest_first(experiment)
    by_topic = {scores.run: {topic: scores.values[first][topic] for topic in order} for scores in every}
    return Figures(
        spread=Figure("", svg.boxes({scores.run: scores.row(first) for scores in every}, f"{first} over topics")),
        heat=Figure("", svg.heat(by_topic, f"{first} of every run and topic")),
        bars=tuple(
            Figure(name, svg.bars(values, f"{first} of {name} by topic", number))
            for number, (name, values) in enumerate(by_topic.items())
        ),
        curves=tuple(_curves(experiment)),
        differences=tuple(_differences(experiment)),
    )


# Caption and label of each picture over the depth, and the function that computes its points.
CURVES = (
    ("Precision of judged hits, by depth", "precision", precision_by_depth),
    ("Recall, by depth; unjudged hits keep their ranks", "recall", recall_by_depth),
    ("Share of judged hits, by depth", "judged", judged_by_depth),
)


def _curves(experiment: Experiment) -> Iterator[Figure]:
    """Draw curves over the logarithm of the depth."""
    for caption, label, compute in CURVES:
        points = {run.name: compute(run, experiment.qrels) for run in experiment.runs}
        logarithmic = {name: [(math.log10(depth), value) for depth, value in row] for name, row in points.items()}
        yield Figure(caption, svg.lines(logarithmic, label, TICKS))


def _differences(experiment: Experiment) -> Iterator[Figure]:
    """Draw the differences of the best run to each other run, topic by topic."""
    first = experiment.measures[0]
    best = max(experiment.scores, key=lambda scores: scores.mean(first))
    number = experiment.scores.index(best)
    for scores in experiment.scores:
        if scores is not best:
            values = dict(sorted(differences(best, scores, first).items(), key=lambda pair: -pair[1]))
            picture = svg.bars(values, "difference by topic", number, signed=True)
            yield Figure(f"{best.run} minus {scores.run}", picture)


def _sections(experiment: Experiment, infos: Mapping[str, TopicInfo] | None, seed: int) -> dict[str, ResultTable]:
    """Return the tables below the figures, those that apply, by heading."""
    found = {}
    if len(experiment.scores) > 1:
        found["Is the difference real?"] = _comparison_table(tables.compare_runs(experiment, seed))
    if len(experiment.scores) > 2:
        found["Do the measures agree?"] = tables.measure_correlations(experiment)
    if infos:
        found["By kind of topic"] = tables.subset_table(experiment, infos)
    found["How much was judged?"] = tables.coverage_table(experiment)
    if len(teams(experiment.runs)) > 1:
        found["Is the pool fair to new systems?"] = tables.left_out_table(experiment)
    return found


def _comparison_table(comparisons: Sequence[Comparison]) -> ResultTable:
    """The comparison in fewer columns, to fit a page."""
    rows = tuple(
        (
            *(svg.shorten(one.one, 28), svg.shorten(one.two, 28), str(one.measure), one.difference),
            *(f"{one.low:.3f} to {one.high:.3f}", one.p_randomisation, one.p_holm),
            f"{one.wins} / {one.losses} / {one.ties}",
        )
        for one in comparisons
    )
    columns = ("run", "against", "measure", "difference", "95% interval", "p", "p Holm", "won / lost / tied")
    notes = (
        "p: paired randomisation test, two-sided, 10,000 rounds. p Holm: corrected over the pairs of a measure. "
        "Interval: bootstrap over topics. Marked rows: p Holm below 0.05.",
    )
    marked = tables.significant_rows(comparisons)
    return ResultTable("comparison", columns, rows, "Comparison", notes, digits=4, marked=marked)
