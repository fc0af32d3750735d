"""Make a run: search each topic with a system, or in Task 3 answer it, and write a record of how the run was made
beside it.

A run that is interrupted, or that fails at a topic, continues at that topic when the same command runs again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from porism import __version__
from porism.corpus.content import Content
from porism.errors import PorismError
from porism.evaluate.runs.lines import RunKind
from porism.evaluate.runs.run import LIMIT, SUBSTITUTE_TAG, Run, RunAnswer, RunRanking, write_answers, write_rankings
from porism.files import atomic_file, digest_file
from porism.progress import Progress, Silent
from porism.records import Topic
from porism.search.index import Index
from porism.search.query import Kind
from porism.search.retriever import Pipeline
from porism.store import open_store
from porism.store.state import State
from porism.systems.answerer import Cost, WrittenAnswer
from porism.systems.declared.context import SystemContext
from porism.systems.declared.declaration import Declaration, find_declaration
from porism.systems.declared.pipeline import used_models, used_parts
from porism.systems.loading import DEFAULT, AnswerSystem, is_declared, load_answerer, load_system
from porism.systems.named_models import AppliedModel, model_digests
from porism.systems.runs.provenance import code_version, header_lines, run_metadata
from porism.systems.runs.topics import FinishedTopic, RunJournal, TopicRanking, topic_ranking
from porism.systems.topic_queries import HandQueries, read_hand_queries

Maker = Pipeline | AnswerSystem  # what makes a run
WEIGHTED = "feature_reranker"  # the part that takes a file of weights
RunFormat = Literal["lab", "trec"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to make a run. `system` is a name or `module:Class`; `kind` and `model` are for systems that rank by
    features; `overrides` are options of parts; `queries` is a file of hand-written queries; `models` are directories of
    named models; `cache` a folder for what named systems prepare; `header` puts ir_metadata before the run."""

    system: str = DEFAULT
    k: int = LIMIT
    kind: Kind | None = None
    model: str | Path | None = None
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    queries: str | Path | None = None
    cache: str | Path | None = None
    progress: Progress = field(default_factory=Silent)
    format: RunFormat = "lab"
    header: bool = False
    models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """How a run was made: what the file beside it says. `query_seconds` are the median and the 95th percentile of the
    time per topic; `models` are pretrained models, originals or substitutes."""

    system: str
    task: int
    options: Mapping[str, Any]
    overrides: Mapping[str, Mapping[str, Any]]
    collection: str
    topics: int
    seconds: float
    query_seconds: tuple[float, float]
    notes: tuple[str, ...]
    models: tuple[AppliedModel, ...]
    ir_metadata: Mapping[str, Any]
    cost: Cost | None = None  # of the answers of Task 3
    version: str = __version__


def make_run(index: str | Path, topics: Sequence[Topic], task: int, out: Path, options: RunOptions) -> RunRecord:
    """Write a run and its record, and return the record."""
    name, model = options.system, options.model
    declaration = find_declaration(name, task) if is_declared(name) else None
    if model is not None and not _takes_model(declaration):
        raise PorismError(f"{name} has no weights in Task {task}", fix="leave --model out")
    if options.models and not (declaration and used_models(declaration, options.overrides, options.models)):
        raise PorismError(f"{name} uses no named model", where="--model", fix="name a system that does: porism systems")
    snapshot = open_store(index).snapshot()
    titles_only = all(one.title and not one.question and not one.tags for one in topics) and bool(topics)
    wanted: Kind = options.kind or ("questions" if titles_only else "answers")
    overrides = dict(options.overrides)
    if model:
        overrides[WEIGHTED] = {**overrides.get(WEIGHTED, {}), "model": str(model)}
    queries = read_hand_queries(options.queries) if options.queries else None
    cache = Path(options.cache) if options.cache else State(index).systems
    context = SystemContext(Index(snapshot), task, cache, queries, options.progress, overrides, options.models, wanted)
    system: Maker = load_answerer(name, context) if task == 3 else load_system(name, context)
    began = time.perf_counter()
    journal = RunJournal(out, run_key(index, topics, task, options))
    with journal, options.progress.stage(run_tag(name), len(topics)) as advance:
        for topic in topics:
            if topic.id not in journal.finished:
                journal.add(_search(system, snapshot.content, topic, task, options))
            advance(1)
    done = [journal.finished[topic.id] for topic in topics]
    if topics and not any(one.ranking.items or (one.answer and one.answer.text) for one in done):
        needs = declaration.needs if declaration else ()
        fix = f"needed: {needs[0]}" if needs else "check the topics"
        raise PorismError(f"{name} found nothing for any topic", fix=fix)
    made = _Made(system, declaration, snapshot.content.digest, queries)
    record = _record(made, task, done, options, time.perf_counter() - began)
    encoder = snapshot.learned.encoder
    if encoder and _takes_model(declaration):
        record = replace(record, options={**record.options, "encoder": encoder.as_dict()})
    _write_run(out, task, done, record, options)
    with atomic_file(out.with_suffix(".json")) as stream:
        json.dump(asdict(record), stream, indent=1, sort_keys=True)
        stream.write("\n")
    journal.remove()
    return record


def _write_run(out: Path, task: int, done: Sequence[FinishedTopic], record: RunRecord, options: RunOptions) -> None:
    header = tuple(header_lines(record.ir_metadata)) if options.header else ()
    tag = record.ir_metadata["tag"]
    if task == 3:
        written = ((one.topic, one.answer) for one in done if one.answer is not None)
        answers = {topic: RunAnswer(topic, answer.text, answer.sources) for topic, answer in written}
        write_answers(Run(tag, "task3", tag=tag, answers=answers), out, header)
        return
    kind: RunKind = "trec" if options.format == "trec" else "task2" if task == 2 else "task1"
    write_rankings((TopicRanking(one.topic, one.ranking) for one in done), out, kind, tag, header)


def _search(retriever: Maker, content: Content, topic: Topic, task: int, options: RunOptions) -> FinishedTopic:
    """Search one topic. An error names the topic, and the part of a named system in which it happened."""
    began = time.perf_counter()
    answer: WrittenAnswer | None = None
    ranking = RunRanking([], [])
    try:
        if isinstance(retriever, AnswerSystem):
            answer = retriever.answer(topic)
        else:
            ranking = topic_ranking(retriever, content, topic, task, options.k)
    except PorismError as error:
        place = f"topic {topic.id}, {error.where}" if error.where else f"topic {topic.id}"
        raise PorismError(error.message, where=place, fix=error.fix) from error
    except Exception as error:
        place = f"topic {topic.id}, {options.system}"
        fix = "correct the system; the topics before this one are kept, and the same command continues here"
        raise PorismError(f"failed: {type(error).__name__}: {error}", where=place, fix=fix) from error
    seconds = time.perf_counter() - began
    if answer is not None:
        answer = replace(answer, cost=replace(answer.cost, seconds=round(seconds, 4)))
    return FinishedTopic(topic.id, ranking, seconds, answer)


def run_key(index: str | Path, topics: Sequence[Topic], task: int, options: RunOptions) -> str:
    """Return a digest of everything that shapes a run: system, parts, options, topics, index, code."""
    declared = find_declaration(options.system, task) if is_declared(options.system) else None
    status = open_store(index).status()
    parts = [
        declared.name if declared else options.system,
        [str(part) for part in used_parts(declared)] if declared else [],
        task,
        options.k,
        options.kind,
        None if options.model is None else digest_file(options.model),
        None if options.queries is None else digest_file(options.queries),
        {part: dict(values) for part, values in options.overrides.items()},
        model_digests(used_models(declared, options.overrides, options.models)) if declared else {},
        [asdict(topic) for topic in topics],
        [status.fingerprint, status.generation, status.settings, status.ranking, status.encoder],
        code_version(options.system, task),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


class _Made(NamedTuple):
    """What a run was made with. `declaration` is None for a class of the user's own."""

    system: Maker
    declaration: Declaration | None
    collection: str
    queries: HandQueries | None


def _takes_model(declaration: Declaration | None) -> bool:
    return declaration is not None and any(part.use == WEIGHTED for part in declaration.parts)


def _record(made: _Made, task: int, done: Sequence[FinishedTopic], options: RunOptions, seconds: float) -> RunRecord:
    each = [one.seconds for one in done] or [0.0]
    middle, slow = np.percentile(each, (50, 95)).tolist()
    declaration, models = made.declaration, made.system.models
    tag = run_tag(options.system) + (SUBSTITUTE_TAG if any(one.role == "substitute" for one in models) else "")
    model = None if options.model is None else digest_file(options.model)
    return RunRecord(
        system=declaration.name if declaration else options.system,
        task=task,
        options={"k": options.k, "kind": options.kind, "model": model},
        overrides=options.overrides,
        collection=made.collection,
        topics=len(done),
        seconds=round(seconds, 3),
        query_seconds=(round(middle, 4), round(slow, 4)),
        notes=run_notes(made.system, declaration, made.queries),
        models=models,
        ir_metadata=run_metadata(tag, declaration, options, task, made.collection, models),
        cost=sum((one.answer.cost for one in done if one.answer), Cost()) if task == 3 else None,
    )


def run_tag(name: str) -> str:
    """Return the run id of a system: the last part of its name, without blanks."""
    return name.rpartition(":")[2].replace(" ", "_")


def run_notes(system: Maker, declaration: Declaration | None, queries: HandQueries | None) -> tuple[str, ...]:
    """Return what a reader of the run must know: how queries were made, which members a fusion has."""
    notes = [*(use.note() for use in system.models), *system.notes]
    if declaration is None:
        return tuple(notes)
    if declaration.manual and queries is None:
        how = declaration.automatic_query or "from the topic as it is"
        notes.insert(0, f"{declaration.name} is a manual run; its queries were made automatically: {how}")
    elif queries is not None:
        notes.insert(0, f"queries of {Path(queries.path).name}")
    return tuple(notes)
