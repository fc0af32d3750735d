"""Linked MSE posts, the organisers' oracle: the answers to questions that are marked as duplicates of the topic's question, by votes.

The links of the published run were made after the collection and are not part of it: name a file with them. Links of the collection that
name the topic's question are used, too.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.files import open_text, report_unreadable
from porism.records import Explanation
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.declared.context import SystemContext
from porism.systems.queries.topic_query import topic_of

DUPLICATE = {"3", "duplicate"}  # LinkTypeId of the dump, kind of our tables


def linked_posts(context: SystemContext, links: str = "") -> Retriever:
    """Answers of duplicates of the topic's question, by votes. `links` is a PostLinks.xml of a later dump, or a table post, other, kind."""
    if context.task != 1:
        raise PorismError("finds answers only", fix="run it with --task 1")
    return LinkedPosts(context.content, _linked(context.content, links))


def _linked(content: Content, path: str) -> Mapping[int, set[int]]:
    """Return for each question those that a duplicate link joins to it, in either direction."""
    found: dict[int, set[int]] = {}
    pairs = [(link.post_id, link.other_id) for link in content.all_links() if link.kind == "duplicate"]
    for one, other in [*pairs, *(_read_links(path) if path else ())]:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


@report_unreadable("give PostLinks.xml of a dump, or a table: question<TAB>other question<TAB>duplicate")
def _read_links(path: str) -> list[tuple[int, int]]:
    return list(_links_of(path))


def _links_of(path: str) -> Iterator[tuple[int, int]]:
    """Yield the duplicate links of a file."""
    if Path(path).suffix == ".xml":
        with open_text(path) as stream:
            for _, row in ElementTree.iterparse(stream):
                if row.get("LinkTypeId") in DUPLICATE:
                    yield int(row.get("PostId", "0")), int(row.get("RelatedPostId", "0"))
        return
    with open_text(path) as stream:
        for line, cells in enumerate(csv.reader(stream, delimiter="\t"), 1):
            if line == 1 and not cells[0].isdecimal():
                continue
            if len(cells) < 3 or not (cells[0].isdecimal() and cells[1].isdecimal()):
                fix = "write: question<TAB>other question<TAB>duplicate"
                raise PorismError("not a link", where=f"{path}:{line}", fix=fix)
            if cells[2] in DUPLICATE:
                yield int(cells[0]), int(cells[1])


class LinkedPosts(Retriever):
    """Finds the answers to the questions that links join to the topic's question."""

    def __init__(self, content: Content, linked: Mapping[int, set[int]]) -> None:
        self._content = content
        self._linked = linked

    def search(self, query: ReadQuery, k: int) -> Ranking:
        """Return the answers with most votes; of equal votes the earlier answer comes first."""
        others = self._linked.get(topic_of(query).post_id, set())
        found = self._content.answers_by_question(sorted(others)).values()
        answers = sorted((answer for own in found for answer in own), key=lambda answer: (-answer.score, answer.id))
        kept = answers[: max(k, 0)]
        return Ranking(np.array([one.id for one in kept], np.int64), np.array([float(one.score) for one in kept]))

    def explain(self, query: ReadQuery, id: int) -> Explanation:
        """Name the linked question of an answer; its votes are the score."""
        answer = self._content.posts_by_id([id])[id]
        return Explanation(float(answer.score), f"votes; answers question {answer.thread_id}, a duplicate of the topic")
