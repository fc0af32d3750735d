"""Make topics: select questions of a collection, choose their query formulas, write the files."""

from __future__ import annotations

import csv
import random
import re
from collections import Counter
from collections.abc import Collection as Container
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from porism.corpus.content import Content, batched
from porism.corpus.post import Link, Post
from porism.corpus.topics.files import read_topics, write_topics
from porism.corpus.topics.formulas import TopicPiece, split_formulas, to_html
from porism.errors import PorismError
from porism.files import atomic_directory, atomic_file
from porism.lab.sampling import proportional
from porism.records import Topic, TopicFormula
from porism.store import open_content
from porism.text.read import read_official
from porism.text.segment import Text, plain_text

WORD = re.compile(r"[^\W\d_]{2,}")
NEAR_DUPLICATE = 0.8  # Jaccard similarity of title words from which two questions are near-duplicates
UNBOUNDED = 10**9
BATCH = 500  # questions that are read together
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]|\d+|[^\s{}]")
MINIMUM_TOKENS = 3  # a single letter makes no query
COMPLEXITY = ((8, "low"), (20, "medium"))  # up to this many tokens; more than that: high


class Range(NamedTuple):
    """A closed interval of counts."""

    low: int
    high: int


ANY_COUNT = Range(0, UNBOUNDED)
AT_LEAST_ONE = Range(1, UNBOUNDED)
ANY_SCORE = Range(-UNBOUNDED, UNBOUNDED)


@dataclass(frozen=True, slots=True)
class Limits:
    """The soft criteria, one range each. The lab never published its own, so all are open by default."""

    terms: Range = ANY_COUNT
    formulas: Range = AT_LEAST_ONE
    score: Range = ANY_SCORE
    answers: Range = ANY_COUNT
    comments: Range = ANY_COUNT
    views: Range = ANY_COUNT

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Limits:
        """Read limits such as `terms=10:200`, `score=1:` or `views=:5000`."""
        values: dict[str, Range] = {}
        for text in texts:
            name, _, span = text.partition("=")
            low, colon, high = span.partition(":")
            bounds_are_numbers = all(not part or part.lstrip("-").isdecimal() for part in (low, high))
            if name not in cls.__slots__ or not colon or not bounds_are_numbers:
                fact = f"unknown limit {text!r}"
                raise PorismError(fact, fix=f"write NAME=LOW:HIGH, where NAME is one of {', '.join(cls.__slots__)}")
            values[name] = Range(int(low) if low else -UNBOUNDED, int(high) if high else UNBOUNDED)
        return cls(**values)

    def allow(self, counts: dict[str, int]) -> bool:
        """Return whether every count lies within its range."""
        ranges: dict[str, Range] = {name: getattr(self, name) for name in self.__slots__}
        return all(low <= counts[name] <= high for name, (low, high) in ranges.items())


@dataclass(frozen=True, slots=True)
class TopicCandidate:
    """A question that could become a topic. Only the private oracle file has its `duplicates` and `related`."""

    post: Post
    duplicates: tuple[int, ...]
    related: tuple[int, ...]
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def stratum(self) -> str:
        """The question's first tag; the selection is spread over these."""
        return self.post.tags[0] if self.post.tags else "untagged"


def candidates(
    content: Content, limits: Limits | None = None, since: str = "", earlier: Iterable[str] = ()
) -> Iterator[TopicCandidate]:
    """Yield the questions that have a formula and a known duplicate in the collection, within the limits.

    With `since` (a date), topics are questions of that day or later and their duplicates must be older, as in the lab.
    `earlier` are titles of earlier topics, whose near-duplicates are left out.
    """
    within = limits or Limits()
    earlier_titles = [title_words(read_official(title)) for title in earlier]
    recent = (post for post in content.posts("question") if not since or post.created >= since)
    for posts in batched(recent, BATCH):
        for candidate in _candidates(content, posts, since):
            words = title_words(candidate.post.title)
            if within.allow(candidate.counts) and not any(near_duplicate(words, other) for other in earlier_titles):
                yield candidate


def _candidates(content: Content, posts: Sequence[Post], since: str) -> Iterator[TopicCandidate]:
    """Yield those of some questions that have a formula and a duplicate, with their counts."""
    formulas = {post.id: len(post.title.formulas) + len(post.body.formulas) for post in posts}
    links = content.links_by_post([number for number, count in formulas.items() if count])
    known = content.known_posts([link.other_id for own in links.values() for link in own])
    older = known
    if since:
        twins = [one.other_id for own in links.values() for one in own if one.kind == "duplicate"]
        found = content.posts_by_id([number for number in twins if number in known])
        older = {number for number, post in found.items() if post.created < since}
    duplicates = {number: _others(own, "duplicate", older) for number, own in links.items()}
    chosen = [post for post in posts if duplicates.get(post.id)]
    answers = content.answers_by_question([post.id for post in chosen])
    comments = content.comments_by_post([post.id for post in chosen])
    for post in chosen:
        words = WORD.findall(_plain(post.title) + " " + _plain(post.body))
        counts = {"terms": len(words), "formulas": formulas[post.id], "score": post.score, "views": post.views or 0}
        counts |= {"answers": len(answers.get(post.id, ())), "comments": len(comments.get(post.id, ()))}
        yield TopicCandidate(post, duplicates[post.id], _others(links[post.id], "related", known), counts)


def _others(links: Iterable[Link], kind: str, among: Container[int]) -> tuple[int, ...]:
    """Return the questions to which links of a kind lead."""
    return tuple(link.other_id for link in links if link.kind == kind and link.other_id in among)


def _plain(text: Text) -> str:
    """Return the words of a field, without tags and formulas."""
    return plain_text(text, lambda formula: " ")


def title_words(title: Text) -> frozenset[str]:
    """Return the distinct words of a title in lower case."""
    return frozenset(word.lower() for word in WORD.findall(_plain(title)))


def near_duplicate(one: Set[str], two: Set[str]) -> bool:
    """Return whether two titles consist of nearly the same words."""
    return bool(one) and len(one & two) / len(one | two) >= NEAR_DUPLICATE


def select(found: Sequence[TopicCandidate], number: int, seed: int) -> list[TopicCandidate]:
    """Choose topics at random, each stratum in proportion to its candidates (largest remainders); return them by id."""
    if len(found) < number:
        fact = f"{len(found)} candidates for {number} topics"
        raise PorismError(fact, fix="widen the limits or ask for fewer topics")
    strata: dict[str, list[TopicCandidate]] = {}
    for candidate in sorted(found, key=lambda candidate: candidate.stratum):
        strata.setdefault(candidate.stratum, []).append(candidate)
    rng = random.Random(seed)
    shares = proportional([len(members) for members in strata.values()], number)
    chosen = [one for members, share in zip(strata.values(), shares, strict=True) for one in rng.sample(members, share)]
    return sorted(chosen, key=lambda candidate: candidate.post.id)


ELEMENTS = {
    "integral": r"\\i*int\b|\\oint",
    "limit": r"\\lim",
    "sum": r"\\sum|\\prod",
    "matrix": r"matrix\}|\\det",
    "fraction": r"\\[dt]?frac|\\over\b|\\binom",
    "root": r"\\sqrt",
    "set": r"\\(in|cup|cap|subset|mathbb)",
    "relation": r"[=<>]|\\(leq?|geq?|neq?|equiv|sim|approx)\b",
}


class ChosenFormula(NamedTuple):
    """A formula with the properties over which the choice is balanced."""

    formula: TopicFormula
    complexity: str
    elements: tuple[str, ...]


def complexity(latex: str) -> str:
    """Return low, medium or high, by the number of tokens."""
    size = len(TOKEN.findall(latex))
    return next((name for most, name in COMPLEXITY if size <= most), "high")


def elements(latex: str) -> tuple[str, ...]:
    """Return the kinds of symbols in the formula."""
    return tuple(name for name, pattern in ELEMENTS.items() if re.search(pattern, latex)) or ("plain",)


def suitable(formulas: Iterable[TopicFormula]) -> list[TopicFormula]:
    """Return the formulas that can be a query: those of the title if there are any, else those of the body."""
    long_enough = [formula for formula in formulas if len(TOKEN.findall(formula.latex)) >= MINIMUM_TOKENS]
    return [formula for formula in long_enough if formula.field == "title"] or long_enough


def choose_query_formulas(topics: Sequence[Topic]) -> dict[str, ChosenFormula]:
    """Choose, by topic id, the suitable formula whose complexity and elements were chosen least often so far."""
    used: Counter[str] = Counter()
    chosen: dict[str, ChosenFormula] = {}
    for topic in topics:
        options = [ChosenFormula(one, complexity(one.latex), elements(one.latex)) for one in suitable(topic.formulas)]
        if options:
            best = min(options, key=lambda one: (used[one.complexity], min(used[name] for name in one.elements)))
            used.update([best.complexity, *best.elements])
            chosen[topic.id] = best
    return chosen


# The site inserts this notice into a question when it is closed. It would reveal the duplicate.
NOTICE = re.compile(
    r"<blockquote>(?:(?!</?blockquote>).){0,200}Possible Duplicate(?:(?!</?blockquote>).){0,9000}</blockquote>",
    re.S | re.I,
)


def to_topics(chosen: Sequence[TopicCandidate], first: int) -> list[Topic]:
    """Turn questions into topics A.first, A.first+1, ...; formula ids count through all of them from q_1."""
    topics, numbers = [], count(1)
    for offset, candidate in enumerate(chosen):
        post = candidate.post
        formulas: list[TopicFormula] = []
        fields: dict[Literal["title", "question"], str] = {
            "title": post.title.html(),
            "question": NOTICE.sub("", post.body.html()),
        }
        for name, text in fields.items():
            pieces: list[TopicPiece] = []
            for piece in split_formulas(text):
                if piece.latex is not None:
                    formulas.append(TopicFormula(f"q_{next(numbers)}", piece.latex, name))
                    piece = replace(piece, id=formulas[-1].id)
                pieces.append(piece)
            fields[name] = to_html(pieces).strip()
        topics.append(Topic(f"A.{first + offset}", fields["title"], fields["question"], post.tags, tuple(formulas)))
    return topics


def write_topic_set(
    chosen: Sequence[TopicCandidate], directory: str | Path, oracle: str | Path, first: int = 1
) -> list[Topic]:
    """Write the files of Tasks 1 and 2. The links to duplicates go to the oracle file only, which stays private."""
    topics = to_topics(chosen, first)
    queries = choose_query_formulas(topics)
    with atomic_directory(directory) as folder:
        write_topics(topics, folder / "topics-task1.xml")
        with_query = [(topic, queries[topic.id].formula) for topic in topics if topic.id in queries]
        write_topics(  # A.3 becomes B.3
            [replace(topic, id=f"B.{topic.id[2:]}", formula_id=one.id, latex=one.latex) for topic, one in with_query],
            folder / "topics-task2.xml",
        )
        with atomic_file(folder / "formulas.tsv") as out:
            writer = csv.writer(out, delimiter="\t", lineterminator="\n")
            writer.writerow(["id", "topic_id", "thread_id", "type", "formula"])
            for topic, candidate in zip(topics, chosen, strict=True):
                thread = candidate.post.thread_id
                writer.writerows([one.id, topic.id, thread, one.field, one.latex] for one in topic.formulas)
        with atomic_file(folder / "information.csv") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(["Topic", "Category", "Difficulty", "Dependency", "Multi-Part", "Complexity"])
            for topic in topics:
                level = queries[topic.id].complexity if topic.id in queries else ""
                writer.writerow([topic.id, "", "", "", "", level])
    with atomic_file(oracle) as out:
        out.write("topic\tquestion\tother\tkind\n")
        for topic, candidate in zip(topics, chosen, strict=True):
            for kind, others in (("duplicate", candidate.duplicates), ("related", candidate.related)):
                out.writelines(f"{topic.id}\t{candidate.post.id}\t{other}\t{kind}\n" for other in others)
    return topics


class TopicCounts(NamedTuple):
    """How many questions met the criteria, and how many became topics."""

    candidates: int
    topics: int


class TopicSelection(NamedTuple):
    """Which questions become topics: how many, within which limits, since when, unlike those of an earlier file."""

    number: int = 100
    limits: Limits | None = None
    since: str = ""
    earlier: str | Path | None = None
    seed: int = 1


def make_topics(
    collection: str | Path,
    directory: str | Path,
    selection: TopicSelection,
    oracle: str | Path | None = None,
    first: int = 1,
) -> TopicCounts:
    """Select questions and write them as a set of topics, whose numbers begin with `first`."""
    oracle_path = Path(oracle) if oracle else Path(f"{directory}.oracle.tsv")
    if oracle_path.resolve().is_relative_to(Path(directory).resolve()):
        fix = "name a file outside the folder of the topics"
        raise PorismError("the oracle file would be among the published files", where=str(oracle_path), fix=fix)
    titles = [topic.title for topic in read_topics(selection.earlier)] if selection.earlier else []
    found = list(candidates(open_content(collection), selection.limits, selection.since, titles))
    chosen = select(found, selection.number, selection.seed)
    return TopicCounts(len(found), len(write_topic_set(chosen, directory, oracle_path, first)))
