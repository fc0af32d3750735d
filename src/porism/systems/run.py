"""Make a run: search each topic with a system, and write a record of how the run was made beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from porism import __version__
from porism.corpus.post import Formula
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.evaluate.runs.run import LIMIT, Ranking, write_rankings
from porism.files import atomic_file, digest_file
from porism.records import Topic
from porism.search.answers.model import load_model
from porism.search.engine import Engine
from porism.search.features.feature import Kind
from porism.search.formulas.retriever import formula_query
from porism.search.query import read_query
from porism.search.retriever import Retriever
from porism.systems.loading import DEFAULT, load_system

SPARE = 2  # times as many formulas are searched as are needed, since those in comments only may not be returned


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
    name = system or DEFAULT
    if model is not None and (task == 2 or name != DEFAULT):
        raise PorismError("only Task 1 of the system porism takes a model", fix="leave --model out")
    engine = Engine.open(index, model)
    wanted: Kind = kind or ("questions" if topics and all(_is_title_only(topic) for topic in topics) else "answers")
    fitted = load_model(None if model is None else Path(model))
    retriever = load_system(name, engine.index, task, wanted, fitted)
    tag = name.rpartition(":")[2]
    began = time.perf_counter()
    if task == 2:
        write_rankings(formula_rankings(retriever, engine.collection, topics, k), out, "task2", tag)
    else:
        write_rankings(post_rankings(retriever, topics, k), out, "task1", tag)
    record = {
        "system": name,
        "version": __version__,
        "task": task,
        "options": {"k": k, "kind": kind, "model": None if model is None else digest_file(model)},
        "collection": engine.collection.digest,
        "topics": len(topics),
        "seconds": round(time.perf_counter() - began, 3),
    }
    _write_record(out, record)


def _write_record(out: Path, record: dict[str, Any]) -> None:
    with atomic_file(out.with_suffix(".json")) as stream:
        json.dump(record, stream, indent=1, sort_keys=True)
        stream.write("\n")


def _is_title_only(topic: Topic) -> bool:
    return bool(topic.title) and not topic.question and not topic.tags


def post_rankings(retriever: Retriever, topics: Sequence[Topic], k: int) -> Iterator[tuple[str, Ranking]]:
    """Yield each topic with the posts that a retriever finds for it."""
    for topic in topics:
        hits = retriever.search(read_query(topic.title, topic.question, topic.tags), k).top(k)
        yield topic.id, Ranking([str(number) for number in hits.ids.tolist()], hits.scores.tolist())


def formula_rankings(
    retriever: Retriever, collection: Collection, topics: Sequence[Topic], k: int
) -> Iterator[tuple[str, Ranking]]:
    """Yield each topic with formulas, one instance of each visual id."""
    for topic in topics:
        if not topic.latex:
            raise PorismError(f"topic {topic.id} has no formula", fix="give topics of Task 2, or a table topic, latex")
        items: list[str] = []
        posts: list[str] = []
        scores: list[float] = []
        for hit in retriever.search(formula_query(topic.latex), SPARE * k):
            place = returnable_instance(collection, hit.id)
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
