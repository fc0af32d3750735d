"""A small site for tests: questions, answers, comments, links and users that a random generator changes, and how they
become an index."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from porism.corpus.build.pipeline import build
from porism.corpus.sources.raw import Part, RawComment, RawLink, RawPost, RawUser, Record
from porism.corpus.store.collection import Collection
from porism.store.embedded.build import build_index
from porism.store.embedded.segments.writer import IndexWriter
from porism.store.protocols import IndexOptions

WORDS = [
    "prime",
    "triangle",
    "series",
    "limit",
    "proof",
    "group",
    "field",
    "matrix",
    "integral",
    "converge",
    "theorem",
    "circle",
    "angle",
    "root",
    "sum",
]
TAGS = ("algebra", "geometry", "real-analysis", "number-theory")
# No two of them look the same.
FORMULAS = (
    "a^2+b^2=c^2", r"\sqrt{2}", "x+1", r"\sum_{k=0}^n q^k", r"\frac{p}{q}", r"\int_0^1 x^2 dx", "f(x)=x^2+1", r"\alpha+\beta",
    "n!", "2^{n}", "x_i", r"\sin(x)", r"e^{i\pi}+1=0", "y=mx+b", "a+b+c", r"\lim_{n\to\infty} a_n",
)  # fmt: skip
QUERIES = (
    "prime proof", "triangle circle angle", r"limit of $\lim_{n\to\infty} a_n$", r"why $\sqrt{2}$ root", "$x^2+y^2=z^2$",
    r"series $\sum_{k=0}^n q^k$ converge", "matrix group field", "$f(x)=x^2+1$ integral",
)  # fmt: skip


@dataclass
class Site:
    """The posts of a site by id, and everything that belongs to them."""

    random: random.Random
    posts: dict[int, RawPost] = field(default_factory=dict)
    comments: dict[int, RawComment] = field(default_factory=dict)
    links: dict[tuple[int, int, str], RawLink] = field(default_factory=dict)
    following: int = 1

    def records(self) -> list[Record]:
        """Return all records, as a dump has them."""
        users: list[Record] = [RawUser(1, "Ada", 10)]
        posts = [self.posts[number] for number in sorted(self.posts)]
        return [*users, *posts, *(self.comments[n] for n in sorted(self.comments)), *self.links.values()]

    def next_id(self) -> int:
        self.following += 1
        return self.following

    def text(self, words: int) -> str:
        pieces = [self.random.choice(WORDS) for _ in range(words)]
        for _ in range(self.random.randrange(3)):
            pieces.insert(self.random.randrange(len(pieces) + 1), f"${self.formula()}$")
        return " ".join(pieces)

    def formula(self) -> str:
        """Return a common formula, or one that is hardly used twice."""
        if self.random.random() < 0.6:
            return self.random.choice(FORMULAS)
        letter, power, number = self.random.choice("uvwxyz"), self.random.randrange(3, 9), self.random.randrange(2, 60)
        return f"{letter}^{power}+{number}"

    def questions(self) -> list[int]:
        return [number for number, post in self.posts.items() if post.kind == "question"]

    def new_question(self) -> RawPost:
        tags = " ".join(sorted(self.random.sample(TAGS, self.random.randrange(1, 3))))
        created = f"{self.random.randrange(2010, 2020)}-01-02T00:00:00"
        body = f"<p>{self.text(12)}</p>"
        return RawPost(
            self.next_id(), "question", None, self.text(3), body, "html", tags, self.random.randrange(9), created, 1
        )

    def new_answer(self, question: int) -> RawPost:
        body = f"<p>{self.text(15)}</p>"
        return RawPost(
            self.next_id(), "answer", question, "", body, "html", "", self.random.randrange(9), "2015-03-04T00:00:00"
        )

    def grow(self, threads: int) -> None:
        """Add threads with answers, comments and links."""
        for _ in range(threads):
            question = self.new_question()
            self.posts[question.id] = question
            answers = [self.new_answer(question.id) for _ in range(self.random.randrange(3))]
            self.posts |= {answer.id: answer for answer in answers}
            if answers:
                self.posts[question.id] = replace(question, accepted_id=answers[0].id)
            self.add_comment(question.id)
            other = self.random.choice(self.questions())
            if other != question.id:
                self.links[question.id, other, "related"] = RawLink(question.id, other, "related")

    def add_comment(self, post: int) -> RawComment:
        comment = RawComment(self.next_id(), post, self.text(4), "text", 0, "2016-01-01T00:00:00", 1)
        self.comments[comment.id] = comment
        return comment

    def forget(self, number: int) -> None:
        """Delete a post, with its answers if it is a question, and what belongs to them."""
        gone = {number} | {one.id for one in self.posts.values() if one.parent_id == number}
        self.posts = {key: post for key, post in self.posts.items() if key not in gone}
        self.comments = {key: one for key, one in self.comments.items() if one.post_id not in gone}
        self.links = {key: one for key, one in self.links.items() if one.post_id not in gone}

    def change(self, writer: IndexWriter) -> None:
        """Make one random change, here and in a writer."""
        kind = self.random.choice(("question", "answer", "edit", "title", "delete", "comment", "link", "votes"))
        questions = self.questions()
        if kind == "question" or not questions:
            before = set(self.posts), set(self.comments), set(self.links)
            self.grow(1)
            writer.put(self.posts[number] for number in self.posts if number not in before[0])
            writer.put(self.comments[number] for number in self.comments if number not in before[1])
            writer.put(self.links[key] for key in self.links if key not in before[2])
        elif kind == "answer":
            answer = self.new_answer(self.random.choice(questions))
            self.put(writer, answer)
        elif kind == "edit":
            post = self.posts[self.random.choice(sorted(self.posts))]
            self.put(writer, replace(post, body=f"<p>{self.text(10)}</p>"))
        elif kind == "title":
            post = self.posts[self.random.choice(questions)]
            self.put(writer, replace(post, title=self.text(3), tags=self.random.choice(TAGS)))
        elif kind == "votes":
            post = self.posts[self.random.choice(sorted(self.posts))]
            self.put(writer, replace(post, score=self.random.randrange(50), accepted_id=None))
        elif kind == "delete":
            number = self.random.choice(sorted(self.posts))
            self.forget(number)
            writer.delete([number])
        elif kind == "comment" and self.comments and self.random.random() < 0.5:
            number = self.random.choice(sorted(self.comments))
            del self.comments[number]
            writer.delete_comments([number])
        elif kind == "comment":
            writer.put([self.add_comment(self.random.choice(sorted(self.posts)))])
        else:
            link = RawLink(self.random.choice(questions), self.random.choice(questions), "duplicate")
            self.links[link.post_id, link.other_id, link.kind] = link
            writer.put([link])

    def put(self, writer: IndexWriter, post: RawPost) -> None:
        self.posts[post.id] = post
        writer.put([post])


@dataclass
class MemorySource:
    """Records in memory as a source."""

    records: Sequence[Record]
    path: Path = Path("site")
    kind: str = "dump"
    official: bool = False

    def parts(self) -> list[Part]:
        """Return one file with all records."""

        def read() -> Iterator[Record]:
            return iter(self.records)

        return [Part("posts", len(self.records), 0, read)]


def make_site(seed: int, threads: int) -> Site:
    """Return a site with some threads."""
    site = Site(random.Random(seed))
    site.grow(threads)
    return site


def index_site(site: Site, folder: Path, vectors: bool = False) -> Path:
    """Build collection and index of a site from scratch."""
    build([MemorySource(site.records())], folder / "collection", jobs=1)
    with Collection.open(folder / "collection") as collection:
        build_index(collection, folder / "index", IndexOptions(vectors=vectors))
    return folder / "index"
