"""One call of `porism eval`: what was asked for, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from porism.errors import PorismError
from porism.evaluate.measures.measure import LAB, parse_all
from porism.evaluate.measures.score import Average
from porism.evaluate.qrels import Qrels, read_qrels
from porism.evaluate.reports.experiment import Experiment, load, visual_ids
from porism.evaluate.reports.plot import Form, write_plots
from porism.evaluate.reports.table import Table, render
from porism.evaluate.runs.run import read_run
from porism.evaluate.task3.overlap import OWN, local_tokenizer
from porism.evaluate.task3.references import RELEVANT, Reference, task1_references
from porism.evaluate.task3.scores import read_answer_map, read_flags
from porism.evaluate.task3.similarity import local_encoder
from porism.evaluate.task3.table import TextMeasures, answer_table, as_task3_table, is_task3


@dataclass(frozen=True, slots=True)
class Options:
    """What a person can ask of an evaluation."""

    qrels: str
    runs: Sequence[str] = ()
    measures: Sequence[str] | None = None
    average: Average = "complete"
    format: str = "table"
    against: str | None = None
    subsets: str | None = None
    compare: bool = False
    per_topic: bool = False
    coverage: bool = False
    correlate: bool = False
    leave_team_out: bool = False
    plots: str | None = None
    plot_format: Form = "svg"
    report: str | None = None
    title: str = ""
    seed: int = 2022
    collection: str | None = None
    visual_map: str | None = None
    instances: bool = False
    answers: str | None = None
    flags: str | None = None
    tokenizer: str | None = None
    encoder: str | None = None
    as_task3: bool = False
    task1_qrels: str | None = None
    task1_runs: Sequence[str] = ()


def evaluate(options: Options) -> tuple[str, list[str]]:
    """The text for standard output, and words about files that were written."""
    qrels = read_qrels(options.qrels)
    if options.answers or is_task3(qrels, options.qrels):
        return render([task3_table(options, qrels)], options.format), []
    if not options.runs:
        raise PorismError("no run to score", fix="name at least one run file")
    if options.as_task3:
        return render([as_task3_table([read_run(path) for path in options.runs], qrels)], options.format), []
    visual = visual_ids(options.runs, options.collection, options.visual_map, qrels if options.instances else {})
    measures = parse_all(options.measures) if options.measures else LAB
    made = load(options.qrels, options.runs, measures, options.average, visual, options.instances)
    tables = ranked_tables(options, made)
    return render(tables, options.format), [*doubts(made), *write_files(options, made)]


def doubts(made: Experiment) -> list[str]:
    """A word of warning where formula ids may have been taken for visual ids (a run mapped to visual ids is no task2 file any more)."""
    strange = [
        run for run in made.runs if run.kind == "task2" and any(set(row.posts) - {"-"} for row in run.rankings.values())
    ]
    return [
        f"{run.name}: formula ids were taken for visual ids; if they are not, give --collection DIR or --visual-map FILE"
        for run in strange
    ]


def task3_table(options: Options, qrels: Qrels) -> Table:
    """AR, P@1 and what else the files allow."""
    if not options.answers:
        raise PorismError(
            "these are judgments of Task 3 answers",
            where=options.qrels,
            fix="give the map of answers: --answers MAP (run, topic, answer id)",
        )
    texts = TextMeasures(
        tokenizer=local_tokenizer(options.tokenizer) if options.tokenizer else OWN,
        encoder=local_encoder(options.encoder) if options.encoder else None,
        references=more_references(options),
        flags=read_flags(options.flags) if options.flags else {},
    )
    return answer_table(
        qrels, read_answer_map(options.answers), [read_run(path, "task3") for path in options.runs], texts
    )


def more_references(options: Options) -> list[Reference]:
    """Relevant Task 1 answers as references, their texts from the collection."""
    if not options.task1_runs:
        return []
    if not options.task1_qrels or not options.collection:
        raise PorismError(
            "references from Task 1 runs need judgments and texts", fix="give --task1-qrels FILE and --collection DIR"
        )
    from porism.evaluate.runs.facts import CollectionFacts

    qrels, runs = read_qrels(options.task1_qrels), [read_run(path) for path in options.task1_runs]
    items = {item for grades in qrels.values() for item, grade in grades.items() if grade in RELEVANT}
    return task1_references(runs, qrels, CollectionFacts(options.collection).bodies(items))


def ranked_tables(options: Options, made: Experiment) -> list[Table]:
    """The tables that were asked for; the means come first."""
    from porism.corpus.topics.info import read_topic_info
    from porism.evaluate.reports import views

    tables = [views.main_table(made)]
    if options.against:
        tables += views.published_tables(made)
    if options.subsets:
        tables.append(views.subset_table(made, read_topic_info(options.subsets)))
    if options.compare:
        tables.append(views.compare_table(views.pairs(made, options.seed)))
    if options.coverage:
        tables.append(views.coverage_table(made))
    if options.correlate:
        tables += [views.measure_correlations(made), views.run_correlations(made)]
    if options.leave_team_out:
        tables.append(views.left_out_table(views.left_out(made, 1000), made.note))
    if options.per_topic:
        tables.append(views.topic_table(made))
    return tables


def write_files(options: Options, made: Experiment) -> list[str]:
    """Figures and the page; what was written."""
    words = []
    if options.plots:
        words += [f"wrote {path}" for path in write_plots(made, options.plots, options.plot_format)]
    if options.report:
        from porism.corpus.topics.info import read_topic_info
        from porism.evaluate.reports.report import write_report

        write_report(
            made,
            options.report,
            options.title,
            read_topic_info(options.subsets) if options.subsets else None,
            options.seed,
        )
        words.append(f"wrote {options.report}")
    return words
