"""How the rows of a collection become records."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from porism.corpus.content import Expression
from porism.corpus.post import Comment, Formula, Post
from porism.corpus.store.schema import FORMULA_KINDS, StoredComment, StoredPost
from porism.integrity import DamageError
from porism.text.segment import Text

T = TypeVar("T")
UNREADABLE = (TypeError, ValueError, IndexError, AttributeError)


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
