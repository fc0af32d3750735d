"""What a post is: records of questions, answers, comments, links, users, formulas and threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from porism.text.segment import EMPTY, Text

PostKind = Literal["question", "answer"]
FormulaKind = Literal["title", "question", "answer", "comment"]
LinkKind = Literal["duplicate", "related"]
LEVEL = " › "  # between the levels of a title: `Commutative Algebra › Localization › Nakayama's lemma`


@dataclass(frozen=True, slots=True)
class Post:
    """A question or an answer. Its title and body are segmented: text, clean HTML tags, formulas with their ids."""

    id: int
    kind: PostKind
    thread_id: int
    body: Text
    title: Text = EMPTY
    tags: tuple[str, ...] = ()
    score: int = 0
    created: str = ""
    owner_id: int | None = None
    parent_id: int | None = None
    accepted_id: int | None = None
    views: int | None = None
    closed: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a post."""

    id: int
    post_id: int
    body: Text
    score: int = 0
    created: str = ""
    owner_id: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the site between two questions."""

    post_id: int
    other_id: int
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class User:
    """An author of posts or comments."""

    id: int
    name: str = ""
    reputation: int = 0
    gold: int = 0
    silver: int = 0
    bronze: int = 0


@dataclass(frozen=True, slots=True)
class Formula:
    """An occurrence of a formula in a post. Formulas that look the same share a `visual_id`.

    `issue` follows the lab: "" none, "d" not in the collection's text (must not be returned), "v" visual id changed,
    "dv" both. A formula of a list without posts has post_id 0."""

    id: int
    post_id: int
    thread_id: int
    kind: FormulaKind
    latex: str
    visual_id: int
    comment_id: int | None = None
    old_visual_id: int | None = None
    issue: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """A question with its comments, its answers with theirs, and its links."""

    question: Post
    answers: tuple[Post, ...] = ()
    comments: tuple[Comment, ...] = ()
    links: tuple[Link, ...] = ()
