"""Evaluate runs as `porism eval` does: read, score, compare, and render tables, figures and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from porism.corpus.topics.files import read_topic_info
from porism.errors import PorismError
from porism.evaluate import task3
from porism.evaluate.measures.measure import LAB, parse_all
from porism.evaluate.measures.score import Average, Experiment, read_experiment
from porism.evaluate.qrels import Qrels, read_qrels
from porism.evaluate.reports import tables
from porism.evaluate.reports.figures import ImageFormat, write_figures
from porism.evaluate.reports.html_report import write_report
from porism.evaluate.runs.lookup import CollectionLookup, find_visual_ids
from porism.evaluate.runs.run import read_run
from porism.evaluate.table import ResultTable, render
from porism.evaluate.text_measures import OWN, local_encoder, local_tokenizer


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """The options of `porism eval`."""

    qrels: str
    runs: Sequence[str] = ()
    measures: Sequence[str] | None = None
    average: Average = "complete"
    format: str = "table"
    against: str | None = None
    anyway: bool = False
    subsets: str | None = None
    compare: bool = False
    per_topic: bool = False
    coverage: bool = False
    correlate: bool = False
    leave_team_out: bool = False
    plots: str | None = None
    plot_format: ImageFormat = "svg"
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


class Evaluation(NamedTuple):
    """The rendered tables, and messages for the user: warnings and files written."""

    text: str
    messages: tuple[str, ...] = ()


def evaluate(options: EvaluationOptions) -> Evaluation:
    """Run the whole evaluation."""
    qrels = read_qrels(options.qrels)
    if options.answers or task3.is_task3(qrels, options.qrels):
        return Evaluation(render([_task3_table(options, qrels)], options.format))
    if not options.runs:
        raise PorismError("no run to score", fix="name at least one run file")
    if options.as_task3:
        runs = [read_run(path) for path in options.runs]
        return Evaluation(render([task3.as_task3_table(runs, qrels)], options.format))
    visual = find_visual_ids(options.runs, options.collection, options.visual_map, qrels if options.instances else {})
    measures = parse_all(options.measures) if options.measures else LAB
    experiment = read_experiment(options.qrels, options.runs, measures, options.average, visual, options.instances)
    found = _tables(options, experiment)
    messages = (*_id_warnings(experiment), *_write_files(options, experiment))
    return Evaluation(render(found, options.format), messages)


def _id_warnings(experiment: Experiment) -> list[str]:
    """Warn about Task 2 runs whose formula ids were not mapped to visual ids (mapped runs have another kind)."""
    fact = "its formula ids are compared with visual ids as they are"
    return [
        f"{run.name}: {fact}; map them with --collection DIR or --visual-map FILE"
        for run in experiment.runs
        if run.kind == "task2" and any(set(row.posts) - {"-"} for row in run.rankings.values())
    ]


def _task3_table(options: EvaluationOptions, qrels: Qrels) -> ResultTable:
    """Score Task 3 runs: AR, P@1, and text measures if the options give what they need."""
    if not options.answers:
        fix = "give the map of answers: --answers MAP (run, topic, answer id)"
        raise PorismError("these are judgments of Task 3 answers", where=options.qrels, fix=fix)
    texts = task3.TextMeasures(
        tokenizer=local_tokenizer(options.tokenizer) if options.tokenizer else OWN,
        encoder=local_encoder(options.encoder) if options.encoder else None,
        references=_task1_references(options),
        flags=task3.read_flags(options.flags) if options.flags else {},
    )
    runs = [read_run(path, "task3") for path in options.runs]
    return task3.answer_table(qrels, task3.read_answer_map(options.answers), runs, texts)


def _task1_references(options: EvaluationOptions) -> list[task3.Reference]:
    """Return relevant Task 1 answers as references, with their texts from the collection."""
    if not options.task1_runs:
        return []
    if not options.task1_qrels or not options.collection:
        fact = "references from Task 1 runs need qrels and texts"
        raise PorismError(fact, fix="give --task1-qrels FILE and --collection DIR")
    qrels, runs = read_qrels(options.task1_qrels), [read_run(path) for path in options.task1_runs]
    items = {item for grades in qrels.values() for item, grade in grades.items() if grade in task3.RELEVANT}
    return task3.task1_references(runs, qrels, CollectionLookup(options.collection).bodies(items))


def _tables(options: EvaluationOptions, experiment: Experiment) -> list[ResultTable]:
    """Return the requested tables; the means come first."""
    found = [tables.mean_table(experiment)]
    if options.against:
        found += tables.published_tables(experiment, options.anyway)
    if options.subsets:
        found.append(tables.subset_table(experiment, read_topic_info(options.subsets)))
    if options.compare:
        found.append(tables.comparison_table(tables.compare_runs(experiment, options.seed)))
    if options.coverage:
        found.append(tables.coverage_table(experiment))
    if options.correlate:
        found += [tables.measure_correlations(experiment), tables.run_correlations(experiment)]
    if options.leave_team_out:
        found.append(tables.left_out_table(experiment))
    if options.per_topic:
        found.append(tables.topic_table(experiment))
    return found


def _write_files(options: EvaluationOptions, experiment: Experiment) -> list[str]:
    """Write the figures and the report; return a message for each file."""
    messages = []
    if options.plots:
        messages += [f"wrote {path}" for path in write_figures(experiment, options.plots, options.plot_format)]
    if options.report:
        infos = read_topic_info(options.subsets) if options.subsets else None
        write_report(experiment, options.report, options.title, infos, options.seed)
        messages.append(f"wrote {options.report}")
    return messages
