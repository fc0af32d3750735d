"""Train a model on a collection: its training examples, and the texts of posts as models read them."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as Ids
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from cachetools import LRUCache

from porism.analysis.terms import BATCH, model_text, question_text
from porism.corpus.content import Content, batched
from porism.corpus.post import Post
from porism.errors import PorismError
from porism.files import already_exists
from porism.models.directory import ModelDirectory
from porism.models.trainees import (
    Architecture,
    BiEncoderTrainee,
    CrossEncoderTrainee,
    Trainee,
    TrainingExample,
    TrainingReport,
    TrainingSettings,
    write_scratch_model,
)
from porism.models.training_loop import Training, has_checkpoint, remove_checkpoint
from porism.progress import Progress

LEAST_VOTES = 1  # of an answer that is a positive
NEGATIVE_TRIES = 8


class CollectionPairs(NamedTuple):
    """Examples, and how many come from links between questions and from answers."""

    examples: list[TrainingExample]
    links: int
    answers: int


class TrainingPosts(NamedTuple):
    """The posts that a model learns from: those of a collection without some questions, and without their links."""

    content: Content
    exclude: Ids[int] = ()


def collection_pairs(posts: TrainingPosts, *, links: bool = True, seed: int = 1) -> CollectionPairs:
    """Return the examples that posts give."""
    content, left_out = posts.content, set(posts.exclude)
    questions = {post.id: post for post in content.posts("question") if post.id not in left_out}
    negatives = _Negatives(content, questions, left_out, seed)
    linked = list(_linked(content, questions, negatives)) if links else []
    answered = list(_answered(content, questions, negatives))
    return CollectionPairs(linked + answered, len(linked), len(answered))


class _Negatives:
    """Posts that share a tag with a question and are neither its own nor linked with it."""

    def __init__(self, content: Content, questions: dict[int, Post], left_out: set[int], seed: int) -> None:
        self.left_out = left_out
        self._random = random.Random(seed)
        self._questions = questions
        self._content = content
        self._by_tag: dict[str, list[int]] = defaultdict(list)
        for post in questions.values():
            for tag in post.tags:
                self._by_tag[tag].append(post.id)
        self._all = sorted(questions)
        self._linked: dict[int, set[int]] = defaultdict(set)
        for link in content.all_links():
            self._linked[link.post_id].add(link.other_id)
            self._linked[link.other_id].add(link.post_id)

    def question(self, own: Post) -> Post | None:
        """Return another question with a common tag."""
        pool = self._by_tag[self._random.choice(own.tags)] if own.tags else self._all
        for _ in range(NEGATIVE_TRIES):
            number = self._random.choice(pool)
            if number != own.id and number not in self._linked[own.id]:
                return self._questions[number]
        return None

    def answer(self, own: Post) -> int | None:
        """Return the id of an answer to such a question."""
        for _ in range(NEGATIVE_TRIES):
            other = self.question(own)
            found = self._answers.get(other.id) if other else None
            if found:
                return self._random.choice(found)
        return None

    @cached_property
    def _answers(self) -> dict[int, list[int]]:
        """The ids of the answers to each question."""
        found: dict[int, list[int]] = {}
        for answer in self._content.posts("answer"):
            found.setdefault(answer.thread_id, []).append(answer.id)
        return found


def _linked(content: Content, questions: dict[int, Post], negatives: _Negatives) -> Iterator[TrainingExample]:
    for links in batched(content.all_links(), BATCH):
        titles = content.titles_by_id([link.other_id for link in links if link.other_id not in questions])
        for link in links:
            if link.post_id not in questions or link.other_id in negatives.left_out:
                continue
            own, other = questions[link.post_id], questions.get(link.other_id)
            wrong = negatives.question(own)
            negative = _text(wrong) if wrong else ""
            if other:
                yield TrainingExample(_text(own), _text(other), negative)
            elif title := titles.get(link.other_id):
                yield TrainingExample(model_text(title), _text(own), negative)


def _answered(content: Content, questions: dict[int, Post], negatives: _Negatives) -> Iterator[TrainingExample]:
    accepted = any(question.accepted_id for question in questions.values())
    every = not accepted and not any(_is_good(answer, None) for answer in content.posts("answer"))
    for batch in batched(questions.values(), BATCH):
        answers = content.answers_by_question([question.id for question in batch])
        good = [
            (question, answer, negatives.answer(question))
            for question in batch
            for answer in answers.get(question.id, ())
            if every or _is_good(answer, question.accepted_id)
        ]
        others = content.posts_by_id([wrong for _, _, wrong in good if wrong is not None])
        for question, answer, wrong in good:
            negative = model_text(others[wrong].body) if wrong is not None else ""
            yield TrainingExample(_text(question), model_text(answer.body), negative)


def _is_good(answer: Post, accepted: int | None) -> bool:
    return answer.id == accepted or answer.score >= LEAST_VOTES


def _text(question: Post) -> str:
    return question_text(question.title, question.body)


TrainedKind = Literal["encoder", "cross-encoder"]
ARCHITECTURES: dict[TrainedKind, Architecture] = {
    "encoder": "BertModel",
    "cross-encoder": "BertForSequenceClassification",
}
TRAINEES: dict[TrainedKind, Callable[[ModelDirectory, TrainingSettings], Trainee]] = {
    "encoder": BiEncoderTrainee,
    "cross-encoder": CrossEncoderTrainee,
}
SCRATCH_RATE = 5e-4  # untrained weights need larger steps than trained ones


class TrainedModel(NamedTuple):
    """A trained model: how many examples there were, and how the training went."""

    pairs: CollectionPairs
    report: TrainingReport


def train_model(
    posts: TrainingPosts,
    out: Path,
    kind: TrainedKind,
    settings: TrainingSettings,
    *,
    start: str | Path | None = None,
    progress: Progress | None = None,
) -> TrainedModel:
    """Train a model on a collection into a new directory; a training that was killed continues."""
    if out.exists():
        raise already_exists(out)
    pairs = collection_pairs(posts, links=kind == "encoder", seed=settings.seed)
    try:
        directory = ModelDirectory.open(start) if start else _scratch(out, kind, pairs, settings)
        directory.require("bi-encoder", "sparse", *(("cross-encoder",) if kind == "cross-encoder" else ()))
        report = Training(TRAINEES[kind](directory, settings), pairs.examples, settings, out).run(progress)
    except PorismError:  # a wrong model, too few examples, a full disk
        if not has_checkpoint(out):
            remove_checkpoint(out)
        raise
    remove_checkpoint(out)
    return TrainedModel(pairs, report)


def _scratch(out: Path, kind: TrainedKind, pairs: CollectionPairs, settings: TrainingSettings) -> ModelDirectory:
    """Return the untrained model of a collection; the same collection and seed give the same one."""
    place = out.with_name(f".{out.name}.scratch")
    shutil.rmtree(place, ignore_errors=True)
    texts = (text for example in pairs.examples for text in (example.query, example.positive))
    write_scratch_model(place, texts, ARCHITECTURES[kind], settings.length, settings.seed)
    return ModelDirectory.open(place)


KEPT = 20_000  # texts


class PostTexts:
    """Texts of the posts of a collection."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._kept: LRUCache[int, str] = LRUCache(KEPT)

    def posts(self, ids: Sequence[int]) -> list[str]:
        """Return questions with their titles, and answers."""
        found = {number: self._kept[number] for number in ids if number in self._kept}
        for number, post in self._content.posts_by_id([one for one in ids if one not in found]).items():
            text = question_text(post.title, post.body) if post.kind == "question" else model_text(post.body)
            found[number] = self._kept[number] = text
        return [found[number] for number in ids]

    def questions_of(self, ids: Sequence[int]) -> list[str]:
        """Return the questions of the threads of posts."""
        posts = self._content.posts_by_id(ids)
        return self.posts([posts[number].thread_id for number in ids])
