"""Derive what the source does not give: ids, times, votes, reputation, badges. All of it follows from the keys of posts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from .source import Comment, Post

FIRST_DAY = datetime(2012, 1, 1)
IDS_PER_DAY = 4  # gaps between ids, so that a new thread changes few of them
UP, DOWN, ACCEPTED, FAVOURITE, BOUNTY_START, BOUNTY_CLOSE = 2, 3, 1, 5, 8, 9


def number(key: str, below: int) -> int:
    """Return a fixed pseudo-random number from 0 to below - 1 for a key."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % below


@dataclass(frozen=True)
class Vote:
    """One row of Votes.xml."""

    post: int
    kind: int
    date: datetime
    user: int | None = None
    amount: int | None = None


class Calendar:
    """Times and ids of all posts. Questions and answers share one sequence of ids, which grow with time."""

    def __init__(self, questions: list[Post]) -> None:
        """Assign a time and an id to every post."""
        self.time: dict[str, datetime] = {}
        for question in questions:
            self._set_thread(question)
        self.posts = sorted((p for q in questions for p in (q, *q.answers)), key=lambda p: (self.time[p.key], p.key))
        self.id: dict[str, int] = {}
        last = 0
        for post in self.posts:
            last = max(last + 1, IDS_PER_DAY * (self.time[post.key] - FIRST_DAY).days + 1)
            self.id[post.key] = last

    def _set_thread(self, question: Post) -> None:
        now = datetime.fromisoformat(question.date) + _moment(question.key, 23 * 3600)
        self.time[question.key] = now
        for answer in question.answers:
            now += _moment(answer.key, 3 * 3600) + timedelta(minutes=7)
            if "after" in answer.options:
                now = self.time[question.key] + timedelta(days=int(answer.options["after"])) + _moment(answer.key, 3600)
            self.time[answer.key] = now

    def comments(self) -> list[tuple[datetime, Post, Comment]]:
        """Return all comments, oldest first."""
        rows: list[tuple[datetime, Post, Comment]] = []
        for post in self.posts:
            now = self.time[post.key]
            for index, comment in enumerate(post.comments):
                now += _moment(f"{post.key}#{index}", 5 * 3600) + timedelta(minutes=3)
                rows.append((now, post, comment))
        return sorted(rows, key=lambda row: (row[0], row[1].key))


def _moment(key: str, seconds: int) -> timedelta:
    return timedelta(seconds=number(key + " second", seconds), milliseconds=number(key + " millisecond", 1000))


def downs(post: Post) -> int:
    """Return the number of downvotes: all votes of a negative score, sometimes one of a good score."""
    if post.score < 0:
        return -post.score + number(post.key + " ups", 2)
    return 1 if post.score > 3 and number(post.key + " downs", 7) == 0 else 0


def views(post: Post) -> int:
    """Return the number of views of a question; questions with a higher score have more."""
    return 40 + 37 * max(post.score, 0) + number(post.key + " views", 400)


def favourites(post: Post) -> int:
    """Return how many users have a question among their favourites."""
    return post.score // 8 if post.is_question else 0


def votes(calendar: Calendar, users: list[int]) -> list[Vote]:
    """Return all votes by day (a dump gives no time of day)."""
    rows: list[Vote] = []
    for post in calendar.posts:
        rows += _votes_of(post, calendar, users)
    return sorted(rows, key=lambda v: (v.date, v.post, v.kind, v.user or 0))


def _votes_of(post: Post, calendar: Calendar, users: list[int]) -> list[Vote]:
    ident, day = calendar.id[post.key], calendar.time[post.key].replace(hour=0, minute=0, second=0, microsecond=0)
    against = downs(post)
    kinds = [UP] * (post.score + against) + [DOWN] * against
    rows = [Vote(ident, kind, day + timedelta(days=_late(f"{post.key} vote {i}"))) for i, kind in enumerate(kinds)]
    if "accepted" in post.options:
        rows.append(Vote(ident, ACCEPTED, day + timedelta(days=1)))
    for index in range(favourites(post)):
        user = users[number(f"{post.key} favourite {index}", len(users))]
        rows.append(Vote(ident, FAVOURITE, day + timedelta(days=_late(f"{post.key} favourite {index}")), user))
    if "bounty" in post.options:
        amount = int(post.options["bounty"])
        kind = BOUNTY_START if post.is_question else BOUNTY_CLOSE
        days = 2 if post.is_question else 7
        rows.append(Vote(ident, kind, day + timedelta(days=days), post.by if post.is_question else None, amount))
    return rows


def _late(key: str) -> int:
    """Return the delay of a vote in days: most votes come in the first two days, a few much later."""
    return number(key, 2) if number(key + " late", 3) else number(key, 60)


def reputation(calendar: Calendar) -> dict[int, int]:
    """Return the reputation of each user by the site's rules: 5 or 10 for an upvote, 15 for acceptance, -2 for a downvote."""
    points: dict[int, int] = {}
    for post in calendar.posts:
        if post.by is not None:
            gain = (5 if post.is_question else 10) * (post.score + downs(post)) - 2 * downs(post)
            points[post.by] = points.get(post.by, 1) + gain + 15 * ("accepted" in post.options)
    return {user: max(1, total) for user, total in points.items()}


# Name, class, for a question (True) or an answer (False), lowest score.
SCORE_BADGES = (
    ("Student", 3, True, 1),
    ("Teacher", 3, False, 1),
    ("Nice Question", 3, True, 10),
    ("Nice Answer", 3, False, 10),
    ("Good Question", 2, True, 25),
    ("Good Answer", 2, False, 25),
    ("Great Answer", 1, False, 40),
)
ONCE = {"Student", "Teacher"}


def badges(calendar: Calendar) -> list[tuple[datetime, int, str, int]]:
    """Return the badges earned by scores, acceptance and edits, as (date, user, name, class), oldest first."""
    rows: list[tuple[datetime, int, str, int]] = []
    had: set[tuple[int, str]] = set()
    for post in calendar.posts:
        when = calendar.time[post.key] + timedelta(days=1)
        for name, rank, question, least in SCORE_BADGES:
            fits = post.is_question is question and post.score >= least and post.by is not None
            if fits and not (name in ONCE and (post.by, name) in had):
                had.add((post.by or 0, name))
                rows.append((when, post.by or 0, name, rank))
    editors: dict[int, str] = {}
    for revision in sorted((r for post in calendar.posts for r in post.revisions), key=lambda r: r.date):
        editors.setdefault(revision.by, revision.date)
    rows += [(datetime.fromisoformat(date) + timedelta(days=1), user, "Editor", 3) for user, date in editors.items()]
    return sorted(rows)
