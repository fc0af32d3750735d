"""A language model as an assessor: it gets the instructions, the topic and one card, and replies with a grade.

The reply must have an exact form; any other is asked for again. The cards of an item are stored together, with what
they cost, so that an interrupted run leaves no half of an item and the same command continues with the next one.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from porism.corpus.content import Content
from porism.corpus.post import Formula, Post
from porism.errors import PorismError
from porism.lab.judging.assignments import AssignedItem, Assignment, Card, assigned_items, assignments, submitted_items
from porism.lab.judging.items import find_topic
from porism.lab.judging.journal import Journal, JournalEntry
from porism.lab.judging.people import PURPOSES, is_model
from porism.lab.judging.scale import grade, grades
from porism.search.generation.endpoint import Endpoint, EndpointError, Message, Sampling, address, printable
from porism.text.read import read_official
from porism.text.segment import terminal_text

INTRODUCTION = (
    "You judge how useful an item is to someone who asked a question about mathematics. Imagine an expert, say a "
    "professor of mathematics, who wants to answer that person. Judge the item by itself. It does not matter who wrote "
    "it or how it was found."
)
TASKS = {
    1: "The item is one answer. Grade it against the question.",
    2: "The question contains a query formula, and the item is a formula in a post. Grade the formula within its post: "
    "how likely is it that what the post says about this formula helps with the question that the query formula comes "
    "from? The post as a whole need not be relevant. "
    "A formula that looks the same as the query may be of little use if its symbols mean something else there.",
}
FORM = "Reply with exactly two lines and nothing else:\nGrade: <the number of the grade>\nReason: <one sentence>"
REPLY = re.compile(r"\s*Grade:[ \t]*(\d)[ \t]*\n[ \t]*Reason:[ \t]*(\S(?:[^\n]*\S)?)\s*", re.IGNORECASE)
SAMPLING = Sampling(tokens=200, temperature=0.0)
LONGEST_TEXT = 20_000  # characters of a question or post that a model reads
LONGEST_REASON = 1000
LONGEST_WAIT = 30.0  # seconds between two requests to a busy endpoint


class RetryPolicy(NamedTuple):
    """How often a grade is requested, and the first pause after an endpoint was busy, in seconds."""

    number: int = 4
    pause: float = 1.0


class Usage(NamedTuple):
    """What judgments cost: requests, tokens as far as the endpoint counts them, and seconds of waiting for replies."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def plus(self, other: Usage) -> Usage:
        """Return the sum."""
        return Usage(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))  # type: ignore[arg-type]


class CardGrade(NamedTuple):
    """The grade that a model gave to a card, its reason, and what it cost."""

    code: int
    reason: str
    usage: Usage


def parse_reply(text: str) -> tuple[int, str] | None:
    """Return grade and reason of a reply, or None if it does not have the exact form or names no grade."""
    found = REPLY.fullmatch(text)
    if found is None or grade(int(found[1])) is None:
        return None
    # The reason becomes one line of bounded length without control characters.
    words = "".join(letter if letter.isprintable() else " " for letter in found[2]).split()
    return int(found[1]), " ".join(words)[:LONGEST_REASON]


def instructions(task: int) -> str:
    """Return the instructions of a task, with the same definitions of grades as on the page for people."""
    scale = "\n".join(f"{step.code} ({step.name}): {step.meaning(task)}" for step in grades())
    return f"{INTRODUCTION}\n{TASKS[task]}\n\nGrades:\n{scale}\n\n{FORM}"


class ModelJudge:
    """Judges what is assigned to the account of a model, through an endpoint."""

    def __init__(
        self, journal: Journal, content: Content, account: str, endpoint: Endpoint, attempts: RetryPolicy
    ) -> None:
        if not is_model(account):
            fix = "name an account of a model: porism lab assess account JOURNAL model.NAME --role model"
            raise PorismError(f"{account} is not a model", fix=fix)
        self._journal, self._content, self._account = journal, content, account
        self._endpoint, self._attempts = endpoint, attempts

    def run(self, say: Callable[[str], None]) -> int:
        """Judge everything that is open; return the number of items. A model that gives no grade is an error."""
        jobs = [job for job in assignments(self._journal, self._account) if job.purpose in PURPOSES]
        if not jobs:
            fix = f"porism lab assess dual {self._journal.path} {self._account} TOPIC"
            raise PorismError(f"nothing is assigned to {self._account}", fix=fix)
        judged = 0
        for job in jobs:
            items, done = assigned_items(self._journal, job.id), submitted_items(self._journal, job.id)
            for item in items:
                if item.key not in done:
                    self._judge(job, item)
                    judged += 1
            say(f"{job.topic}\t{job.purpose}\t{len(items)}")
        return judged

    def _judge(self, job: Assignment, item: AssignedItem) -> None:
        """Grade all cards of an item, then store them in one transaction."""
        opened = self._journal.clock()
        topic = find_topic(self._journal, job.task, job.topic)
        posts = self._content.posts_by_id([card.post_id for card in item.cards if card.post_id is not None])
        formulas = self._content.formulas_by_id([card.formula_id for card in item.cards if card.formula_id is not None])
        question = f"Question: {_text(topic.title)}\n\n{_text(topic.question)}"
        if job.task == 2:
            question += f"\n\nQuery formula: ${topic.latex}$"
        system = Message("system", instructions(job.task))
        shown = [Message("user", f"{question}\n\n{_card(item, card, posts, formulas)}") for card in item.cards]
        given = [self._grade((system, message), item) for message in shown]
        key = f"model-{job.id}-{item.key}"
        self._journal.append(self._account, job.id, [JournalEntry(item.key, 1, "open", "")], f"{key}-open", opened)
        entries = []
        for number, one in enumerate(given, 1):
            cost = {"model": self._endpoint.model, "endpoint": address(self._endpoint.url), **one.usage._asdict()}
            fields = {"grade": str(one.code), "comment": one.reason, "usage": json.dumps(cost)}
            entries += [JournalEntry(item.key, number, field, value) for field, value in fields.items()]
        self._journal.append(self._account, job.id, [*entries, JournalEntry(item.key, 1, "submit", "")], key)

    def _grade(self, messages: tuple[Message, ...], item: AssignedItem) -> CardGrade:
        usage, last = Usage(), ""
        for number in range(self._attempts.number):
            try:
                made = self._endpoint.chat(messages, SAMPLING)
            except EndpointError as error:
                if not error.may_pass or number + 1 >= self._attempts.number:
                    raise
                time.sleep(min(self._attempts.pause * 2**number, LONGEST_WAIT))
                usage = usage.plus(Usage(1))
                continue
            cost = Usage(1, made.prompt_tokens or 0, made.completion_tokens or 0, round(made.seconds, 3))
            usage, last = usage.plus(cost), made.text
            if found := parse_reply(made.text):
                return CardGrade(*found, usage)
        fact = f"none of {self._attempts.number} replies about item {item.item} gives a grade"
        where = f"the endpoint {address(self._endpoint.url)}"
        fix = "use a model that follows instructions; what it judged is stored, and the same command continues"
        raise PorismError(f"{fact}; the last was {printable(last)!r}", where=where, fix=fix)


def _card(item: AssignedItem, card: Card, posts: Mapping[int, Post], formulas: Mapping[int, Formula]) -> str:
    if card.post_id is None:
        return f"Answer:\n{item.text[:LONGEST_TEXT]}"
    post = posts[card.post_id]
    body = terminal_text(post.body)[:LONGEST_TEXT]
    if card.formula_id is None:
        return f"Answer:\n{body}"
    return f"Formula: ${formulas[card.formula_id].latex}$\n\nIts post: {terminal_text(post.title)}\n\n{body}"


def _text(official: str) -> str:
    return terminal_text(read_official(official))[:LONGEST_TEXT]


def total_usage(journal: Journal, account: str) -> Usage:
    """Return what all stored judgments of a model have cost."""
    total = Usage()
    events = (event for job in assignments(journal, account) for event in journal.events(job.id))
    for cost in (json.loads(event.value) for event in events if event.field == "usage"):
        total = total.plus(Usage(*(cost[name] for name in Usage._fields)))
    return total
