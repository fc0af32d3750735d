"""The things Porism speaks of, as frozen records. Nothing here knows a file or a library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

PostKind = Literal["question", "answer"]
FormulaKind = Literal["title", "question", "answer", "comment"]
LinkKind = Literal["duplicate", "related"]


@dataclass(frozen=True, slots=True)
class Post:
    """A question or an answer. `title` and `body` are clean HTML in which every formula stands as
    `<span class="math-container" id="FORMULA_ID">escaped LaTeX</span>`."""

    id: int
    kind: PostKind
    thread_id: int
    body: str
    title: str = ""
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
    """A remark on a post; `body` is HTML like a post's."""

    id: int
    post_id: int
    body: str
    score: int = 0
    created: str = ""
    owner_id: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A question that the site says is a duplicate of, or related to, another."""

    post_id: int
    other_id: int
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class User:
    """Who wrote a post."""

    id: int
    name: str = ""
    reputation: int = 0
    gold: int = 0
    silver: int = 0
    bronze: int = 0


@dataclass(frozen=True, slots=True)
class Formula:
    """One formula at one place. Formulas that look the same share a `visual_id`.

    `issue` follows the lab: "" fine, "d" not in the collection's text (must not be returned), "v" visual id changed, "dv" both.
    A formula of a list without posts has post_id 0.
    """

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


@dataclass(frozen=True, slots=True)
class TopicFormula:
    """A formula of a topic: `q_12` and its LaTeX."""

    id: str
    latex: str
    field: Literal["title", "question"] = "question"


@dataclass(frozen=True, slots=True)
class Topic:
    """What a run answers. `title` and `question` are HTML like a post's; `latex` is the query formula in Task 2."""

    id: str
    title: str
    question: str = ""
    tags: tuple[str, ...] = ()
    formulas: tuple[TopicFormula, ...] = ()
    formula_id: str = ""
    latex: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """What a person or a topic asks: text with formulas between dollar signs, and what narrows the result."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """An item of a ranked list."""

    id: int
    score: float


@dataclass(frozen=True, slots=True)
class Judgment:
    """What an assessor, or a qrels file, says of an item for a topic: 0 to 3, or a code (5 failure, 6 do not know)."""

    topic: str
    item: str
    grade: int


@dataclass(frozen=True, slots=True)
class Binding:
    """A variable or wildcard of the query (`name`), and what it is in the formula found (`value`)."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a score is what it is. The values of the parts sum to `value`.

    `query_nodes` and `item_nodes` are the matching MathML elements of both formulas, in pairs, which the page highlights.
    """

    value: float
    reason: str
    parts: tuple[Explanation, ...] = ()
    query_nodes: tuple[int, ...] = ()
    item_nodes: tuple[int, ...] = ()
    bindings: tuple[Binding, ...] = ()


def ranked(hits: Iterable[Hit]) -> list[Hit]:
    """The order of hits that is the same everywhere: score down, then id down as text (as trec_eval does)."""
    return sorted(hits, key=lambda hit: (hit.score, str(hit.id)), reverse=True)
