"""Baselines of the lab: Terrier's TF-IDF, and the posts that the duplicates of a topic link to."""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.files import open_text, report_unreadable
from porism.records import Explanation, Topic
from porism.search.query import ReadQuery
from porism.search.retriever import Ranking, Retriever
from porism.systems.arrays import Floats
from porism.systems.declared.context import SystemContext
from porism.systems.documents import DocumentKind, TextDocument, answer_documents
from porism.systems.inverted import InvertedIndex, LexicalRetriever, Postings, token_index, topic_fields
from porism.systems.topic_queries import topic_of
from porism.text.segment import Text
from porism.text.words import STOPWORDS

TOKEN = re.compile(r"[a-z0-9]+")
LONGEST, MOST_DIGITS = 20, 4
REPEATED = re.compile(r"(.)\1\1\1")  # more than three equal characters in a row
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
# Words of our list that are about this site, not about English.
SITE_WORDS = frozenset(["edit", "question", "answer", "hello", "hi", "thank", "thanks", "please", "help"])
TOKENS_KEPT = 500_000

# Symbols and the words that replace them, one after the other (pt-arqmath).
SYMBOL_WORDS = (
    *(("+", "plus"), ("-", "minus"), ("^", "power"), ("*", "star"), ("#", "hash"), ("!", "exclaim"), ("?", "question")),
    *((",", "comma"), (".", "period"), ("/", "forward slash"), (":", "colon"), (";", "semicolon"), ("&", "ampersand")),
    *(("~", "tilde"), ("`", "backquote"), ("@", "at"), ("$", "dollar"), ("%", "percent"), ('"', "double quote")),
    *(("'", "single quote"), ("|", "vertical bar"), ("=", "equals"), (">", "greater than"), ("<", "less than")),
    *(("{", "open brace"), ("}", "close brace"), ("[", "open square bracket"), ("]", "close square bracket")),
    *(("(", "open parenthesis"), (")", "close parenthesis"), ("\\\\", "double backslash"), ("\\", "backslash")),
)
UNWRAPPED = re.compile(r"</?(?:p|a|body|html|question|head|title)\b", re.IGNORECASE)
TERRIER_STOPWORDS = (STOPWORDS - SITE_WORDS) | LETTERS
QUESTION_MARK = "qpost"  # token of questions, by which a query excludes them


@lru_cache(1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("porter", 0)


@lru_cache(TOKENS_KEPT)
def _term(token: str) -> str:
    """Return the term of a token, or nothing if Terrier drops the token."""
    if len(token) > LONGEST or sum(letter.isdigit() for letter in token) > MOST_DIGITS or REPEATED.search(token):
        return ""
    return "" if token in TERRIER_STOPWORDS else str(_stemmer().stemWord(token))


def terrier_tokens(text: str) -> list[str]:
    """Return the terms of a text: runs of ASCII letters and digits in lower case, without stop words, as Porter stems.

    >>> terrier_tokens(r"Proving $\\frac{a}{b^2}$ with the inequalities")
    ['prove', 'frac', '2', 'inequ']
    """
    return [term for token in TOKEN.findall(text.lower()) if (term := _term(token))]


@dataclass(frozen=True, slots=True)
class TerrierTfIdf:
    """Terrier's TF_IDF: Robertson's tf times log2(N / df + 1)."""

    k1: float = 1.2
    b: float = 0.75

    def __call__(self, index: InvertedIndex, postings: Postings) -> Floats:
        """Return one weight per document of the postings."""
        counts = postings.counts.astype(np.float64)
        lengths = index.lengths[postings.documents]
        tf = self.k1 * counts / (counts + self.k1 * (1.0 - self.b + self.b * lengths / index.mean_length))
        return np.asarray(tf * np.log2(len(index.ids) / len(postings.documents) + 1.0))


def _largest_count(index: InvertedIndex, counts: Mapping[str, int]) -> float:
    return float(max(counts.values()))


def terrier(
    context: SystemContext,
    query: str = "title+body+tags",
    documents: DocumentKind = "answer",
    k1: float = 1.2,
    b: float = 0.75,
) -> Retriever:
    """Terrier's TF-IDF over answers with LaTeX as text."""
    stream = partial(answer_documents, context.content, documents)
    index = token_index(context, "terrier", documents, stream, terrier_tokens)
    return terrier_retriever(index, query, TerrierTfIdf(k1, b))


def terrier_retriever(index: InvertedIndex, query: str, weights: TerrierTfIdf) -> LexicalRetriever:
    """Return the retriever over an index of Terrier's terms; `query` names the fields of the topic that it searches."""
    return LexicalRetriever(index, partial(topic_fields, fields=query), terrier_tokens, weights, _largest_count)


def spell_symbols(text: str) -> str:
    """Return a text with symbols as words.

    >>> " ".join(spell_symbols(r"x^2+\\pi").split())
    'x power 2 plus backslash pi'
    """
    for symbol, words in SYMBOL_WORDS:
        text = text.replace(symbol, f" {words} ")
    return text


def spelled_html(text: Text) -> str:
    """Return a body as the original indexes it: HTML without paragraphs and links, formulas in elements `math`."""
    pieces = []
    for segment in text.segments:
        if segment.is_formula:
            pieces.append(f'<math id="{segment.formula_id}">{html.escape(segment.text, quote=False)}</math>')
        elif segment.kind == "text":
            pieces.append(html.escape(segment.text, quote=False))
        elif not UNWRAPPED.match(segment.text):
            pieces.append(segment.text)
    return "".join(pieces)


def post_documents(content: Content) -> Iterator[TextDocument]:
    """Yield all posts: bodies with symbols spelled, titles as they are, tags, and a mark on questions."""
    for post in content.posts():
        words = f"{post.title.plain()} {spell_symbols(spelled_html(post.body))} {' '.join(post.tags)}"
        yield TextDocument(post.id, f"{words} {QUESTION_MARK}" if post.kind == "question" else words)


def pyterrier(context: SystemContext, query: str = "title", k1: float = 1.2, b: float = 0.75) -> Retriever:
    """Terrier's TF-IDF over all posts, symbols spelled as words; a query finds answers only."""
    stream = partial(post_documents, context.content)
    index = token_index(context, "pyterrier", "posts", stream, terrier_tokens)
    answers = np.ones(len(index.ids), np.bool_)
    answers[index.postings(QUESTION_MARK).documents] = False

    def make_query(topic: Topic) -> str:
        return spell_symbols(topic_fields(topic, query).replace("$", ""))

    return LexicalRetriever(index, make_query, terrier_tokens, TerrierTfIdf(k1, b), _largest_count, allowed=answers)


DUPLICATE = {"3", "duplicate"}  # LinkTypeId of the dump, kind of our tables


@report_unreadable("give PostLinks.xml of a dump, or a table: question<TAB>other question<TAB>duplicate")
def _read_links(path: str) -> list[tuple[int, int]]:
    """Return the duplicate links of a file."""
    with open_text(path) as stream:
        if Path(path).suffix == ".xml":
            rows = (row for _, row in ElementTree.iterparse(stream) if row.get("LinkTypeId") in DUPLICATE)
            return [(int(row.get("PostId", "0")), int(row.get("RelatedPostId", "0"))) for row in rows]
        found = []
        for line, cells in enumerate(csv.reader(stream, delimiter="\t"), 1):
            if line == 1 and not cells[0].isdecimal():
                continue
            if len(cells) < 3 or not (cells[0].isdecimal() and cells[1].isdecimal()):
                fix = "write: question<TAB>other question<TAB>duplicate"
                raise PorismError("not a link", where=f"{path}:{line}", fix=fix)
            if cells[2] in DUPLICATE:
                found.append((int(cells[0]), int(cells[1])))
        return found


class LinkedPosts(Retriever):
    """Finds the answers to duplicates of the question, by votes. `links` is a PostLinks.xml, or a table post, other,
    kind."""

    def __init__(self, context: SystemContext, links: str = "") -> None:
        if context.task != 1:
            raise PorismError("finds answers only", fix="run it with --task 1")
        self._content = context.content
        self._linked: dict[int, set[int]] = {}  # the questions that a duplicate link joins to each, in either direction
        pairs = [(link.post_id, link.other_id) for link in context.content.all_links() if link.kind == "duplicate"]
        for one, other in [*pairs, *(_read_links(links) if links else ())]:
            self._linked.setdefault(one, set()).add(other)
            self._linked.setdefault(other, set()).add(one)

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
