"""Topics become a run: the engine's answers with its defaults, and beside them where they came from."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from porism import __version__
from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.evaluate.runs.run import LIMIT, Ranking, write_rankings
from porism.files import atomic_file, digest_file
from porism.records import Formula, Topic
from porism.search.answers.rerank import Kind
from porism.search.engine import Engine
from porism.search.formulas.searcher import FormulaSearcher
from porism.search.query import read_query

SPARE = 2  # formulas that stand in comments alone may not be returned: more are found than are asked for
SYSTEM = "porism"


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
    """Write a run of at most k hits per topic, and its sidecar. Topics of titles alone ask for questions, others for answers, unless
    `kind` says what to find. `model` names a file that `porism train` made; formulas are ranked without one."""
    if system not in (None, SYSTEM):
        raise PorismError(f"no system is named {system}", fix=f"leave --system out, or name {SYSTEM}")
    if model is not None and task == 2:
        raise PorismError("Task 2 has no model to fit: its parts weigh the same", fix="leave --model out")
    engine = Engine.open(index, model)
    began = time.perf_counter()
    if task == 2:
        found = formula_rankings(engine.formula_searcher, engine.collection, topics, k)
        write_rankings(found, out, "task2", SYSTEM)
    else:
        wanted: Kind = kind or ("questions" if all(_title_alone(topic) for topic in topics) else "answers")
        write_rankings(_posts(engine, topics, k, wanted), out, "task1", SYSTEM)
    facts = {
        "system": SYSTEM,
        "version": __version__,
        "task": task,
        "options": {"k": k, "kind": kind, "model": None if model is None else digest_file(model)},
        "collection": engine.collection.digest,
        "topics": len(topics),
        "seconds": round(time.perf_counter() - began, 3),
    }
    _sidecar(out, facts)


def _sidecar(out: Path, facts: dict[str, Any]) -> None:
    with atomic_file(out.with_suffix(".json")) as stream:
        json.dump(facts, stream, indent=1, sort_keys=True)
        stream.write("\n")


def _title_alone(topic: Topic) -> bool:
    return bool(topic.title) and not topic.question and not topic.tags


def _posts(engine: Engine, topics: Sequence[Topic], k: int, kind: Kind) -> Iterator[tuple[str, Ranking]]:
    for topic in topics:
        hits = engine.rank(read_query(topic.title, topic.question, topic.tags), kind)[:k]
        yield topic.id, Ranking([str(hit.id) for hit in hits], [hit.score for hit in hits])


def formula_rankings(
    searcher: FormulaSearcher, collection: Collection, topics: Sequence[Topic], k: int
) -> Iterator[tuple[str, Ranking]]:
    """Formulas for the topics; each visual id once, at its best place."""
    for topic in topics:
        if not topic.latex:
            raise PorismError(f"topic {topic.id} has no formula", fix="give topics of Task 2, or a table topic, latex")
        items: list[str] = []
        posts: list[str] = []
        scores: list[float] = []
        for hit in searcher.search(topic.latex, SPARE * k):
            place = place_of(collection, hit.visual_id)
            if place is not None and len(items) < k:
                items.append(str(place.id if place.post_id else hit.visual_id))
                posts.append(str(place.post_id) if place.post_id else "-")
                scores.append(hit.score)
        yield topic.id, Ranking(items, scores, posts)


def place_of(collection: Collection, visual_id: int) -> Formula | None:
    """The instance that stands for a visual id: the first in a question or an answer that may be returned."""
    allowed = (one for one in collection.instances(visual_id) if one.kind != "comment" and one.issue not in ("d", "dv"))
    return next(allowed, None)
