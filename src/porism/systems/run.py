"""Make a run: search each topic with a system, and write a record of how the run was made beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from porism import __version__
from porism.corpus.post import Formula
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.evaluate.runs.run import LIMIT, Ranking, write_rankings
from porism.files import atomic_file, digest_file
from porism.progress import Progress, Silent
from porism.records import Topic
from porism.search.answers.model import load_model
from porism.search.engine import Engine
from porism.search.features.feature import Kind
from porism.search.retriever import Retriever
from porism.systems.context import CACHE, SystemContext
from porism.systems.hand_queries import HandQueries, read_hand_queries
from porism.systems.loading import DEFAULT, load_system
from porism.systems.pipeline import System
from porism.systems.topic_query import topic_query

TopicRanking = tuple[str, Ranking]

SPARE = 2  # times as many formulas are searched as are needed, since those in comments only may not be returned


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to make a run. `system` is a name or `module:Class`; `kind` and `model` are for the default system; `overrides` are options of parts;
    `queries` is a file of hand-written queries; `cache` a folder for what named systems prepare."""

    system: str = DEFAULT
    k: int = LIMIT
    kind: Kind | None = None
    model: str | Path | None = None
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    queries: str | Path | None = None
    cache: str | Path | None = None
    progress: Progress = field(default_factory=Silent)


def run_topics(
    index: Path,
    topics: Sequence[Topic],
    task: int,
    out: Path,
    system: str | None = None,
    k: int = LIMIT,
    kind: Kind | None = None,
    model: str | Path | None = None,
) -> None:
    """Write a run of at most k hits for each topic, and its record. Topics with nothing but a title search questions, others answers, unless
    `kind` says which. `system` is a name or `module:Class`; `model` names a file that `porism train` made, for the default system."""
    make_run(index, topics, task, out, RunOptions(system or DEFAULT, k, kind, model))


def make_run(index: Path, topics: Sequence[Topic], task: int, out: Path, options: RunOptions) -> RunRecord:
    """Write a run and its record, and return the record."""
    name, model, k = options.system, options.model, options.k
    if model is not None and (task == 2 or name != DEFAULT):
        raise PorismError("only Task 1 of the system porism takes a model", fix="leave --model out")
    engine = Engine.open(index, model)
    titles_only = bool(topics) and all(_is_title_only(topic) for topic in topics)
    wanted: Kind = options.kind or ("questions" if titles_only else "answers")
    fitted = load_model(None if model is None else Path(model))
    queries = read_hand_queries(options.queries) if options.queries else None
    cache = Path(options.cache) if options.cache else index / CACHE
    context = SystemContext(engine.index, engine.collection, task, cache, queries, options.progress, options.overrides)
    retriever = load_system(name, engine.index, task, wanted, fitted, context)
    tag = run_tag(name)
    began = time.perf_counter()
    with options.progress.stage(tag, len(topics)) as advance:
        rankings = (
            formula_rankings(retriever, engine.collection, topics, k)
            if task == 2
            else post_rankings(retriever, topics, k)
        )
        write_rankings(_counted(rankings, advance), out, "task2" if task == 2 else "task1", tag)
    record = RunRecord(
        system=name,
        task=task,
        options={"k": k, "kind": options.kind, "model": None if model is None else digest_file(model)},
        overrides=options.overrides,
        collection=engine.collection.digest,
        topics=len(topics),
        seconds=round(time.perf_counter() - began, 3),
        notes=run_notes(retriever, queries),
    )
    _write_record(out, record)
    return record


@dataclass(frozen=True, slots=True)
class RunRecord:
    """How a run was made: what the file beside it says."""

    system: str
    task: int
    options: Mapping[str, Any]
    overrides: Mapping[str, Mapping[str, Any]]
    collection: str
    topics: int
    seconds: float
    notes: tuple[str, ...] = ()
    version: str = __version__


def run_tag(name: str) -> str:
    """Return the run id of a system: the last part of its name, without blanks."""
    return name.rpartition(":")[2].replace(" ", "_")


def run_notes(retriever: Retriever, queries: HandQueries | None) -> tuple[str, ...]:
    """Return what a reader of the run must know: how queries were made, which members a fusion has."""
    if not isinstance(retriever, System):
        return ()
    declaration = retriever.declaration
    notes = list(retriever.notes)
    if declaration.manual and queries is None:
        how = declaration.automatic_query or "from the topic as it is"
        notes.insert(0, f"{declaration.name} is a manual run; its queries were made automatically: {how}")
    elif queries is not None:
        notes.insert(0, f"queries of {Path(queries.path).name}")
    return tuple(notes)


def _counted(rankings: Iterator[TopicRanking], advance: Callable[[int], None]) -> Iterator[TopicRanking]:
    for ranking in rankings:
        yield ranking
        advance(1)


def _write_record(out: Path, record: RunRecord) -> None:
    with atomic_file(out.with_suffix(".json")) as stream:
        json.dump(asdict(record), stream, indent=1, sort_keys=True)
        stream.write("\n")


def _is_title_only(topic: Topic) -> bool:
    return bool(topic.title) and not topic.question and not topic.tags


def post_rankings(retriever: Retriever, topics: Sequence[Topic], k: int) -> Iterator[TopicRanking]:
    """Yield each topic with the posts that a retriever finds for it."""
    for topic in topics:
        hits = retriever.search(topic_query(topic, 1), k).top(k)
        yield topic.id, Ranking([str(number) for number in hits.ids.tolist()], hits.scores.tolist())


def formula_rankings(
    retriever: Retriever, collection: Collection, topics: Sequence[Topic], k: int
) -> Iterator[TopicRanking]:
    """Yield each topic with formulas, one instance of each visual id: that which the system names, or the first that may be returned."""
    choose = retriever.instance if isinstance(retriever, System) and retriever.names_instances else None
    for topic in topics:
        if not topic.latex:
            raise PorismError(f"topic {topic.id} has no formula", fix="give topics of Task 2, or a table topic, latex")
        items: list[str] = []
        posts: list[str] = []
        scores: list[float] = []
        for hit in retriever.search(topic_query(topic, 2), SPARE * k):
            place = choose(hit.id) if choose else returnable_instance(collection, hit.id)
            if place is not None and len(items) < k:
                items.append(str(place.id if place.post_id else hit.id))
                posts.append(str(place.post_id) if place.post_id else "-")
                scores.append(hit.score)
        yield topic.id, Ranking(items, scores, posts)


def returnable_instance(collection: Collection, visual_id: int) -> Formula | None:
    """Return the instance that represents a visual id in a run: the first in a question or an answer that may be returned."""
    instances = (one for one in collection.instances(visual_id) if one.kind != "comment" and collection.is_listed(one))
    allowed = (one for one in instances if one.issue not in ("d", "dv"))
    return next(allowed, None)
