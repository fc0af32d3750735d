"""The tables that one asks of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from porism.corpus.topics.info import TopicInfo
from porism.errors import PorismError
from porism.evaluate.comparison.compare import Comparison, compare_all
from porism.evaluate.comparison.correlate import COEFFICIENTS, correlations
from porism.evaluate.comparison.coverage import DEPTHS, LeftOut, found_share, judged_rates, leave_team_out
from porism.evaluate.comparison.subsets import score_subsets
from porism.evaluate.measures.measure import parse_all
from porism.evaluate.measures.score import score
from porism.evaluate.published import MEASURES, among, year_of
from porism.evaluate.reports.experiment import Experiment, teams
from porism.evaluate.reports.table import Cell, Table

Rows = list[tuple[Cell, ...]]


def main_table(made: Experiment) -> Table:
    """A row per run: the averaging, the number of topics, the means."""
    rows: Rows = [
        (one.run, one.average, len(one.topics), *(one.mean(measure) for measure in made.measures))
        for one in made.scores
    ]
    return Table(("run", "average", "topics", *map(str, made.measures)), tuple(rows), notes=(made.note,))


def topic_table(made: Experiment) -> Table:
    """A row per run and topic."""
    rows: Rows = [
        (one.run, topic, *(one.values[measure][topic] for measure in made.measures))
        for one in made.scores
        for topic in one.topics
    ]
    return Table(("run", "topic", *map(str, made.measures)), tuple(rows), "Per topic", digits=4)


def subset_table(made: Experiment, infos: Mapping[str, TopicInfo]) -> Table:
    """A row per run and property of topics."""
    rows: Rows = []
    for one in made.scores:
        for field, value, part in score_subsets(one, infos):
            rows.append((one.run, field, value, len(part.topics), *(part.mean(measure) for measure in made.measures)))
    if not rows:
        raise PorismError(
            "the topic information and the qrels share no topic", fix="give the information of the same topics"
        )
    return Table(
        ("run", "property", "value", "topics", *map(str, made.measures)), tuple(rows), "By kind of topic", (made.note,)
    )


def compare_table(found: Sequence[Comparison]) -> Table:
    """A row per pair of runs and measure."""
    columns = (
        "run",
        "against",
        "measure",
        "topics",
        "difference",
        "low",
        "high",
        "p",
        "p Holm",
        "p t-test",
        "wins",
        "losses",
        "ties",
    )
    rows = tuple(
        (
            one.one,
            one.two,
            str(one.measure),
            one.topics,
            one.difference,
            one.low,
            one.high,
            one.p_randomisation,
            one.p_holm,
            one.p_t,
            one.wins,
            one.losses,
            one.ties,
        )
        for one in found
    )
    notes = (
        "p: paired randomisation test, two-sided, 10,000 rounds; p Holm: corrected over the pairs of a measure; low, high: 95% bootstrap interval; marked rows: p Holm below 0.05",
    )
    marked = frozenset(place for place, one in enumerate(found) if one.p_holm < 0.05)
    return Table(columns, rows, "Comparison", notes, digits=4, marked=marked)


def pairs(made: Experiment, seed: int) -> list[Comparison]:
    """All pairs of runs on all measures but judged@k."""
    if len(made.scores) < 2:
        raise PorismError("a comparison needs two runs", fix="name two or more run files")
    return compare_all(made.scores, [measure for measure in made.measures if measure.name != "judged"], seed=seed)


def coverage_table(made: Experiment) -> Table:
    """How much of each run was judged, and how much of what is relevant it found."""
    rows: Rows = [
        (run.name, *judged_rates(run, made.qrels).values(), found_share(run, made.qrels)) for run in made.runs
    ]
    return Table(
        ("run", *(f"judged@{depth}" for depth in DEPTHS), "relevant found"),
        tuple(rows),
        "Coverage",
        ("over all hits of the topics of run and qrels",),
    )


def left_out(made: Experiment, depth: int) -> list[LeftOut]:
    """Leave one team out of the pool; by the first measure."""
    by_team = teams(made.runs)
    if len(by_team) < 2:
        raise PorismError(
            "leaving a team out needs runs of two teams", fix="name runs of several teams (group-task-id-...)"
        )
    return leave_team_out(made.qrels, by_team, made.measures[0], depth, made.average)


def left_out_table(found: Sequence[LeftOut], note: str) -> Table:
    """A row per run."""
    rows = tuple((one.team, one.run, str(one.measure), one.removed, one.full, one.reduced, one.change) for one in found)
    return Table(
        ("team", "run", "measure", "judgments removed", "all", "without the team", "change"),
        rows,
        "Leave one team out",
        (note,),
        digits=4,
    )


def correlation_table(columns: Mapping[str, Sequence[float]], title: str) -> Table:
    """Both coefficients of every pair of columns."""
    rows: Rows = []
    for name in COEFFICIENTS:
        found = correlations(columns, name)
        rows += [(name, one, *(found[one, two] for two in columns)) for one in columns]
    return Table(("coefficient", "", *columns), tuple(rows), title)


def measure_correlations(made: Experiment) -> Table:
    """Do the measures order these runs alike?"""
    return correlation_table(
        {str(measure): [one.mean(measure) for one in made.scores] for measure in made.measures}, "Measures over runs"
    )


def run_correlations(made: Experiment) -> Table:
    """Do the runs find the same topics hard? By the first measure, over the topics that all of them count."""
    first = made.measures[0]
    topics = [topic for topic in made.scores[0].topics if all(topic in one.topics for one in made.scores)]
    columns = {one.run: [one.values[first][topic] for topic in topics] for one in made.scores}
    return correlation_table(columns, f"Runs over topics, {first}")


def published_tables(made: Experiment) -> list[Table]:
    """The runs among the published ones, a table per test collection that the qrels touch."""
    measures = parse_all(MEASURES)
    years = sorted({year_of(topic) for topic in made.qrels})
    task = 2 if next(iter(made.qrels)).startswith("B") else 1
    tables = []
    for year in years:
        qrels = {topic: grades for topic, grades in made.qrels.items() if year_of(topic) == year}
        means = {run.name: score(qrels, run, measures, made.average) for run in made.runs}
        values = {name: {str(measure): one.mean(measure) for measure in measures} for name, one in means.items()}
        table = among(task, year, values)
        tables.append(
            Table(
                table.columns,
                table.rows,
                table.title,
                (made.note, "the published values average as the lab did (official)"),
                marked=table.marked,
            )
        )
    return tables
