"""The tables of an experiment: means, topics, subsets, comparisons, coverage, correlations, published runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from porism.corpus.topics.files import TopicInfo
from porism.errors import PorismError
from porism.evaluate.measures.measure import parse_all
from porism.evaluate.measures.score import Experiment, score, score_subsets, teams
from porism.evaluate.published import MEASURES, difference_from_official, with_published, year_of
from porism.evaluate.reliability import DEPTHS, judged_by_depth, leave_team_out, relevant_found
from porism.evaluate.significance import COEFFICIENTS, Comparison, compare_all, correlations
from porism.evaluate.table import Cell, ResultTable

Rows = list[tuple[Cell, ...]]
SIGNIFICANT = 0.05


def mean_table(experiment: Experiment) -> ResultTable:
    """A row per run: averaging mode, number of topics, means."""
    rows: Rows = [
        (scores.run, scores.average, len(scores.topics), *map(scores.mean, experiment.measures))
        for scores in experiment.scores
    ]
    columns = ("run", "average", "topics", *map(str, experiment.measures))
    return ResultTable("means", columns, tuple(rows), notes=(experiment.note,))


def topic_table(experiment: Experiment) -> ResultTable:
    """A row per run and topic."""
    rows: Rows = [
        (scores.run, topic, *(scores.values[measure][topic] for measure in experiment.measures))
        for scores in experiment.scores
        for topic in scores.topics
    ]
    columns = ("run", "topic", *map(str, experiment.measures))
    return ResultTable("per_topic", columns, tuple(rows), "Per topic", digits=4)


def subset_table(experiment: Experiment, infos: Mapping[str, TopicInfo]) -> ResultTable:
    """A row per run and property of topics."""
    rows: Rows = []
    for scores in experiment.scores:
        for subset in score_subsets(scores, infos):
            means = map(subset.scores.mean, experiment.measures)
            rows.append((scores.run, subset.property, subset.value, len(subset.scores.topics), *means))
    if not rows:
        fact = "the topic information and the qrels have no topic in common"
        raise PorismError(fact, fix="give the information of the same topics")
    columns = ("run", "property", "value", "topics", *map(str, experiment.measures))
    return ResultTable("subsets", columns, tuple(rows), "By kind of topic", (experiment.note,))


def compare_runs(experiment: Experiment, seed: int) -> list[Comparison]:
    """Compare all pairs of runs on all measures except judged@k."""
    if len(experiment.scores) < 2:
        raise PorismError("a comparison needs two runs", fix="name two or more run files")
    measures = [measure for measure in experiment.measures if measure.base.NAME != "Judged"]
    return compare_all(experiment.scores, measures, seed=seed)


def comparison_table(comparisons: Sequence[Comparison]) -> ResultTable:
    """A row per pair of runs and measure."""
    columns = (
        *("run", "against", "measure", "topics", "difference", "low", "high"),
        *("p", "p Holm", "p t-test", "wins", "losses", "ties"),
    )
    rows = tuple(
        (
            *(one.one, one.two, str(one.measure), one.topics, one.difference, one.low, one.high),
            *(one.p_randomisation, one.p_holm, one.p_t, one.wins, one.losses, one.ties),
        )
        for one in comparisons
    )
    notes = (
        "p: paired randomisation test, two-sided, 10,000 rounds; p Holm: corrected over the pairs of a measure; "
        "low, high: 95% bootstrap interval; marked rows: p Holm below 0.05",
    )
    return ResultTable("comparison", columns, rows, "Comparison", notes, digits=4, marked=significant_rows(comparisons))


def significant_rows(comparisons: Sequence[Comparison]) -> frozenset[int]:
    """Return the places of the significant comparisons."""
    return frozenset(place for place, one in enumerate(comparisons) if one.p_holm < SIGNIFICANT)


def coverage_table(experiment: Experiment) -> ResultTable:
    """A row per run: the share of judged hits by depth, and the share of the relevant items that it found."""
    rows: Rows = [
        (run.name, *(rate for _, rate in judged_by_depth(run, experiment.qrels)), relevant_found(run, experiment.qrels))
        for run in experiment.runs
    ]
    columns = ("run", *(f"judged@{depth}" for depth in DEPTHS), "relevant found")
    note = "over all hits of the topics of both run and qrels"
    return ResultTable("coverage", columns, tuple(rows), "Coverage", (note,))


def left_out_table(experiment: Experiment) -> ResultTable:
    """A row per run: its score without the judgments that only its team contributed, by the first measure."""
    by_team = teams(experiment.runs)
    if len(by_team) < 2:
        fact = "leaving a team out needs runs of two teams"
        raise PorismError(fact, fix="name runs of several teams (group-task-id-...)")
    found = leave_team_out(experiment.qrels, by_team, experiment.measures[0], average=experiment.average)
    rows = tuple((one.team, one.run, str(one.measure), one.removed, one.full, one.reduced, one.change) for one in found)
    columns = ("team", "run", "measure", "judgments removed", "all", "without the team", "change")
    return ResultTable("leave_team_out", columns, rows, "Leave one team out", (experiment.note,), digits=4)


def measure_correlations(experiment: Experiment) -> ResultTable:
    """Correlation of the measures over the runs."""
    columns = {str(measure): [scores.mean(measure) for scores in experiment.scores] for measure in experiment.measures}
    return _correlation_table("measure_correlations", "measure", columns, "Measures over runs")


def run_correlations(experiment: Experiment) -> ResultTable:
    """Correlation of the runs over the topics that all of them have, by the first measure."""
    first = experiment.measures[0]
    topics = [
        topic for topic in experiment.scores[0].topics if all(topic in scores.topics for scores in experiment.scores)
    ]
    columns = {scores.run: [scores.values[first][topic] for topic in topics] for scores in experiment.scores}
    return _correlation_table("run_correlations", "run", columns, f"Runs over topics, {first}")


def _correlation_table(name: str, of: str, columns: Mapping[str, Sequence[float]], title: str) -> ResultTable:
    """A row per coefficient and column, with the correlations to all columns."""
    rows: Rows = []
    for coefficient in COEFFICIENTS:
        found = correlations(columns, coefficient)
        rows += [(coefficient, one, *(found[one, two] for two in columns)) for one in columns]
    return ResultTable(name, ("coefficient", of, *columns), tuple(rows), title)


def published_tables(experiment: Experiment, anyway: bool = False) -> list[ResultTable]:
    """The runs among the published ones, by edition. Judgments other than the official ones need `anyway`."""
    measures = parse_all(MEASURES)
    years = sorted({year_of(topic) for topic in experiment.qrels})
    task = 2 if next(iter(experiment.qrels)).startswith("B") else 1
    tables = []
    for year in years:
        qrels = {topic: grades for topic, grades in experiment.qrels.items() if year_of(topic) == year}
        difference = difference_from_official(qrels, task, year)
        if difference and not anyway:
            raise PorismError(difference, fix="score on the official judgments, or add --anyway")
        means = {run.name: score(qrels, run, measures, experiment.average) for run in experiment.runs}
        values = {name: {str(measure): scores.mean(measure) for measure in measures} for name, scores in means.items()}
        notes = [experiment.note, "published values are averaged as the lab did (official)"]
        if difference:
            values = {f"{name} (not comparable)": row for name, row in values.items()}
            notes.insert(
                0, f"not comparable: {difference}. Scores and places of the marked runs say nothing about the others"
            )
        tables.append(with_published(task, year, values, tuple(notes)))
    return tables
