"""Duplicates as further training topics: a question is the query, and the answers to its duplicates are relevant.

Judged topics are few. People who mark a question as a duplicate also judge, if less exactly: not each answer to the one answers the other. So
a duplicate counts less than a judged topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.errors import PorismError
from porism.progress import Progress, Silent
from porism.search.engine import Engine
from porism.search.learning.train import Example, make_example
from porism.search.query import ReadQuery, read_query
from porism.text.render import official_html

SILENT = Silent()
WEIGHT = 0.1  # of a duplicate, where a judged topic counts 1
MOST_TOPICS = 1000  # further ones add time and little else


def duplicate_examples(engine: Engine, progress: Progress = SILENT) -> list[Example]:
    """Return an example for each question that is a duplicate of another one of the collection.

    The engine's index must be without links, or the title of the query would be found in the threads that are linked with it.
    """
    _check_without_links(engine)
    duplicates = find_duplicates(engine.content)
    chosen = sorted(duplicates)[:: max(1, -(-len(duplicates) // MOST_TOPICS))]
    found: list[Example] = []
    with progress.stage("duplicates", len(chosen)) as report:
        for question in chosen:
            found += _examples(engine, question, duplicates[question])
            report(1)
    if not found:
        raise PorismError(
            "its collection has no duplicates with answers",
            where=engine.snapshot.info.address,
            fix="train without --duplicates",
        )
    return found


def _check_without_links(engine: Engine) -> None:
    if engine.snapshot.info.has_links:
        fix = "porism index COLLECTION -o INDEX --no-links, and give that index to --duplicates"
        raise PorismError("the index has links, which tell the answers", where=engine.snapshot.info.address, fix=fix)


def find_duplicates(content: Content) -> dict[int, set[int]]:
    """Return for each question its duplicates in the collection, whichever of the two was marked."""
    questions = set(content.question_ids())
    found: dict[int, set[int]] = defaultdict(set)
    for link in content.all_links():
        if link.kind == "duplicate" and link.post_id != link.other_id and {link.post_id, link.other_id} <= questions:
            found[link.post_id].add(link.other_id)
            found[link.other_id].add(link.post_id)
    return found


def _examples(engine: Engine, question: int, others: set[int]) -> Iterator[Example]:
    """Yield the example of a question, without its own answers among the candidates; none if its duplicates have no answers."""
    answers = engine.content.answers_by_question([question, *sorted(others)])
    own = [answer.id for answer in answers.pop(question, ())]
    relevant = {answer.id: 1.0 for found in answers.values() for answer in found}
    if relevant:
        query = _query(engine.content.posts_by_id([question])[question])
        yield replace(make_example(engine, str(question), query, relevant, "answers", left_out=own), weight=WEIGHT)


def _query(question: Post) -> ReadQuery:
    return read_query(official_html(question.title), official_html(question.body), question.tags)
