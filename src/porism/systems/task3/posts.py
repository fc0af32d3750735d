"""Posts of a ranking as sentences, and topics as text."""

from __future__ import annotations

from typing import NamedTuple

from porism.corpus.content import Content
from porism.corpus.post import Post
from porism.records import Topic
from porism.search.display.sentences import whole_sentences
from porism.search.generation.answer_text import as_text
from porism.search.retriever import Ranking
from porism.text.read import read_official
from porism.text.render import prose
from porism.text.segment import Segment


def first_sentences(content: Content, ranking: Ranking, depth: int = 1) -> dict[int, list[list[Segment]]]:
    """Return the sentences of the first posts of a ranking by their ids, the best post first."""
    ids = ranking.top(depth).ids.tolist()
    posts = content.posts_by_id(ids)
    return {number: post_sentences(posts[number]) for number in ids}


def post_sentences(post: Post) -> list[list[Segment]]:
    """Return the body of a post as sentences with formulas; double quotes become single ones, as in the runs of approach0."""
    return [
        [piece if piece.is_formula else piece._replace(text=piece.text.replace('"', "'")) for piece in sentence]
        for sentence in whole_sentences(post.body)
    ]


class TopicTexts(NamedTuple):
    """Title and body of a topic, with LaTeX between dollar signs."""

    title: str
    body: str


def topic_texts(topic: Topic) -> TopicTexts:
    """Return a topic as text."""
    return TopicTexts(*(as_text(prose(read_official(field))) for field in (topic.title, topic.question)))
