"""Records that a collection returns besides posts, and how its rows become records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from porism.corpus.post import Comment, Formula, Post
from porism.corpus.store.schema import FORMULA_KINDS, StoredComment, StoredPost
from porism.integrity import DamageError
from porism.text.segment import Text

T = TypeVar("T")
UNREADABLE = (TypeError, ValueError, IndexError, AttributeError)


@dataclass(frozen=True, slots=True)
class Expression:
    """A distinct LaTeX string, parsed once.

    `trees` are both trees, packed by `porism.formula.binary`; `path` is the converter that understood it. `mathml` and `content` are the
    Presentation and Content MathML of its source, if any. `visual_id` is that of its first formula: where ids are official, formulas of
    one LaTeX may rarely have several.
    """

    id: int
    latex: str
    mathml: str | None
    content: str | None
    trees: bytes
    path: str
    problem: str
    visual_id: int


class Visual(NamedTuple):
    """A group of formulas that look the same: its visual id, the expression of its first formula, and its numbers of formulas and posts."""

    id: int
    expression_id: int
    formulas: int
    posts: int


class VisualUse(NamedTuple):
    """A formula of a post by its visual id: `kind` is title, question, answer or comment."""

    kind: str
    visual_id: int


class FormulaMathML(NamedTuple):
    """A formula with the Presentation and Content MathML of its source."""

    formula: Formula
    mathml: str | None
    content: str | None


class Occurrence(NamedTuple):
    """A formula that a search may return."""

    formula_id: int
    post_id: int
    expression_id: int
    visual_id: int


class VisualTrees(NamedTuple):
    """The expression that represents a visual id: its LaTeX and its packed trees."""

    visual_id: int
    expression_id: int
    latex: str
    trees: bytes


class VisualKey(NamedTuple):
    """A formula with its visual id and the hash of its visual key."""

    formula_id: int
    visual_id: int
    key: int


class CommonVisual(NamedTuple):
    """A group of formulas that look the same: the LaTeX of one, their number, and their visual id."""

    latex: str
    formulas: int
    visual_id: int


class TagCount(NamedTuple):
    """A tag and its number of questions."""

    name: str
    posts: int


class VoteCount(NamedTuple):
    """The votes of one type on a post; `bounty` is the sum of its bounties."""

    post_id: int
    type: int
    number: int
    bounty: int


def _report_damage(convert: Callable[[tuple[Any, ...]], T]) -> Callable[[tuple[Any, ...]], T]:
    """Make a conversion report values of the wrong type, which only damage can cause."""

    @wraps(convert)
    def converted(row: tuple[Any, ...]) -> T:
        try:
            return convert(row)
        except UNREADABLE as error:
            fix = "find the damaged file: porism verify COLLECTION"
            raise DamageError(f"a stored row is damaged ({error})", where=str(row[0])[:40], fix=fix) from error

    return converted


def to_text(stored: object) -> Text:
    """Return the text of a stored value."""
    if not isinstance(stored, str):
        raise TypeError("a text is not stored as text")
    return Text(stored)


@_report_damage
def to_post(row: tuple[Any, ...]) -> Post:
    """Return the post of a stored row."""
    stored = StoredPost._make(row)
    return Post(
        id=stored.id,
        kind=stored.kind,
        thread_id=stored.thread_id,
        body=to_text(stored.body),
        title=to_text(stored.title),
        tags=tuple(stored.tags.split()),
        score=stored.score,
        created=stored.created,
        owner_id=stored.owner_id,
        parent_id=stored.parent_id,
        accepted_id=stored.accepted_id,
        views=stored.views,
        closed=stored.closed,
        source=stored.source,
    )


@_report_damage
def to_comment(row: tuple[Any, ...]) -> Comment:
    """Return the comment of a stored row."""
    stored = StoredComment._make(row)
    return Comment(stored.id, stored.post_id, to_text(stored.body), stored.score, stored.created, stored.owner_id)


@_report_damage
def to_formula(row: tuple[Any, ...]) -> Formula:
    """Return the formula of a row of the query FORMULA."""
    number, post_id, thread_id, kind, *rest = row
    return Formula(number, post_id, thread_id, FORMULA_KINDS[kind], *rest)


@_report_damage
def to_expression(row: tuple[Any, ...]) -> Expression:
    """Return the expression of a stored row."""
    number, latex, mathml, content, trees, path, problem, _, visual_id = row
    return Expression(number, latex, mathml, content, trees, path, problem, visual_id)
