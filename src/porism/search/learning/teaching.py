"""The collection teaches its own ranking: known-item queries made of its posts choose a few factors of the weights.

A title should find its question by the rest of it, a title of a linked question the other one, a term that a text
defines that text; what would tell the answer is hidden. One half of the queries chooses, the other half tests. The
defaults stay unless the gain there is sure. All choices are deterministic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.learned import emphasised_names
from porism.analysis.schema import NAME_FAMILY
from porism.corpus.post import LEVEL, Post
from porism.locks import only_writer
from porism.search.answers.reranker import HiddenText
from porism.search.engine import Engine
from porism.search.features import feature_names
from porism.search.index import GROUPS, Adaptation
from porism.store import open_store
from porism.text.segment import Text

FEWEST_THREADS = 1_000  # in a smaller collection too few queries can be made
MOST_QUERIES = 90
FEWEST_QUERIES = 40
FACTORS = (0.5, 1.0, 2.0)  # safe bounds of each factor
SURE = 2.0  # standard errors that a gain must have
SHORTEST = 2  # words of a title that is a query
Floats = npt.NDArray[np.float64]


class OwnQuery(NamedTuple):
    """A query that the collection makes: the text, and what is hidden of the thread that it should find."""

    text: str
    hidden: HiddenText


class Taught(NamedTuple):
    """The candidates of a query: weighted features summed by group (last: all others), and which one is right."""

    values: Floats
    right: npt.NDArray[np.bool_]


def teach(index: str | Path) -> Adaptation:
    """Choose factors for an index and record them in it."""
    with only_writer(Path(index)):
        return record_choice(index)


def record_choice(address: str | Path) -> Adaptation:
    """Choose factors for an index that no other process writes, and record them in it."""
    store = open_store(address, "none")
    chosen = choose(Engine(store.snapshot(), adapt=False))  # the old choice must not choose the new one
    store.record_ranking(chosen.as_text() if chosen.queries else "")
    return chosen


def choose(engine: Engine) -> Adaptation:
    """Return the factors that are better on both halves of the collection's own queries, or none."""
    if engine.snapshot.info.count("question") < FEWEST_THREADS:
        return Adaptation()
    taught = [one for query in own_queries(engine) if (one := _taught(engine, query)).right.any()]
    if len(taught) < FEWEST_QUERIES:
        return Adaptation()
    groups = [group for at, group in enumerate(GROUPS) if any(one.values[:, at].any() for one in taught)]
    combinations = [dict(zip(groups, factors, strict=True)) for factors in product(FACTORS, repeat=len(groups))]
    # Those nearest to the defaults come first, so that they win ties.
    combinations.sort(key=lambda factors: sum(factor != 1.0 for factor in factors.values()))
    best = max(combinations, key=lambda factors: _values(taught[::2], factors).mean())
    gains = _values(taught[1::2], best) - _values(taught[1::2], {})
    gain, error = float(gains.mean()), float(gains.std() / len(gains) ** 0.5)
    chosen = {group: factor for group, factor in best.items() if factor != 1.0} if gain > SURE * error else {}
    return Adaptation(chosen, round(gain, 4), round(error, 4), len(gains))


def _values(taught: Sequence[Taught], factors: dict[str, float]) -> Floats:
    """Return the reciprocal rank of each query under factors of the groups."""
    vector = np.array([*(factors.get(group, 1.0) for group in GROUPS), 1.0])
    ranks = []
    for one in taught:
        scores = one.values @ vector
        ranks.append(1.0 / (1 + int((scores > scores[one.right].max()).sum())))
    return np.array(ranks)


def own_queries(engine: Engine) -> Iterator[OwnQuery]:
    """Yield at most MOST_QUERIES queries of threads spread over the collection, some from links where indexed."""
    snapshot, content = engine.snapshot, engine.content
    every = np.fromiter(content.question_ids(), np.int64)
    ids = every[np.unique(np.linspace(0, len(every) - 1, MOST_QUERIES).astype(np.int64))]
    posts = content.posts_by_id(ids.tolist())
    links = content.links_by_post(ids.tolist() if snapshot.info.has_links else [])
    titles = content.titles_by_id([link.other_id for own in links.values() for link in own])
    for thread, number in zip(snapshot.locate(ids).threads.tolist(), ids.tolist(), strict=True):
        others = [one.other_id for one in links.get(number, ()) if one.other_id != number]
        linked = [titles[other] for other in others if other in titles]
        yield from islice(_queries_of(engine, posts[number], thread, linked), 1)


def _queries_of(engine: Engine, post: Post, row: int, linked: Sequence[Text]) -> Iterator[OwnQuery]:
    """Yield the queries of one question, the most telling first: a linked question, a defined term, its title."""
    for title in linked[:1]:
        yield OwnQuery(title.plain(), HiddenText(row, ("linked_titles", "question_comments")))
    for name in emphasised_names(post.body):
        if len(name.split()) >= SHORTEST:
            yield OwnQuery(name, HiddenText(row, ("question",), (NAME_FAMILY,)))
            break
    title_text = post.title.plain().split(LEVEL)[-1]
    knows_titles = engine.snapshot.learned.encoder is not None  # vectors of posts do
    if len(title_text.split()) >= SHORTEST and not knows_titles:
        yield OwnQuery(title_text, HiddenText(row, ("title",)))


def _taught(engine: Engine, query: OwnQuery) -> Taught:
    """Score the candidates of a query, the right one without what is hidden. The vector of a thread knows its title, so
    that it does not count where the title is hidden."""
    scored = engine.score(engine.read(query.text), "questions", query.hidden)
    ranked = scored.table.batch.ranked_count("questions")
    matrix = (scored.table.matrix("questions") * scored.scoring.factors)[:ranked].astype(np.float64)
    if "title" in query.hidden.fields:
        matrix[:, [name.startswith("vectors.") for name in feature_names()]] = 0.0
    columns = np.array([[name.startswith(GROUPS[group]) for name in feature_names()] for group in GROUPS])
    used = (*columns, ~columns.any(axis=0))
    values = np.stack([matrix[:, one].sum(axis=1) for one in used], axis=1)
    return Taught(values, np.arange(ranked) == ranked - 1)
