"""What people read of a collection, wherever it is kept: posts, threads, titles, authors, pictures, formulas and where
they are used.

`Content` is the part of a store that pages, exports, the lab and the named systems read. It has batches by id, streams
of everything in the order of ids, and a few facts. A built collection (`porism.corpus.store.collection`) is one;
`porism.store.open_content` opens it by its address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from porism.corpus.post import Comment, Formula, Link, Post, Thread, User
from porism.hashing import fingerprint
from porism.text.segment import Text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Expression:
    """A distinct LaTeX string, parsed once.

    `trees` are both trees, packed by `porism.formula.binary`; `path` is the converter that understood it. `mathml` and
    `content` are the Presentation and Content MathML of its source, if any. `visual_id` is that of its first formula:
    where ids are official, formulas of one LaTeX may rarely have several."""

    id: int
    latex: str
    mathml: str | None
    content: str | None
    trees: bytes
    path: str
    problem: str
    visual_id: int


class Visual(NamedTuple):
    """A group of formulas that look the same: its visual id, the expression of its first formula, its sizes."""

    id: int
    expression_id: int
    formulas: int
    posts: int


class UsingPost(NamedTuple):
    """A post that uses a formula: its first occurrence there, and the title of the thread."""

    formula: Formula
    title: Text


class FormulaUses(NamedTuple):
    """The first posts that use a formula, and how many there are."""

    shown: list[UsingPost]
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


def formulas_fingerprint() -> str:
    """Return the fingerprint of the code, tables and libraries that turn LaTeX into the stored trees."""
    return fingerprint(("porism.formula",), ("math-core", "latex2mathml"))


def batched(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield values in lists of a size: what belongs to many of a stream is read in batches."""
    left = iter(values)
    while chunk := list(islice(left, size)):
        yield chunk


class Content(Protocol):
    """The content of a collection, which never changes while it is read. A batch names many ids and is one request.
    Batches of posts, threads, formulas, expressions and visual ids refuse an id that the collection lacks; the others
    leave it out."""

    @property
    def name(self) -> str:
        """The name of the collection, as people know it."""

    @property
    def digest(self) -> str:
        """The digest of the content: equal for equal sources and options."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the build recorded: sources, options, counts, and the ledger of what was dropped and why."""

    @property
    def has_votes(self) -> bool:
        """Whether any post has votes; some sources have none."""

    @property
    def has_dates(self) -> bool:
        """Whether any post has a date."""

    @property
    def first_own_formula(self) -> int | None:
        """The id at which formulas start that the official list lacks; None without an official list."""

    def is_listed(self, formula: Formula) -> bool:
        """Return whether a run may return a formula of a post: where there is an official list, only its formulas."""

    def check_formulas(self) -> None:
        """Refuse formulas that another version of Porism parsed: their trees would not match those of queries."""

    def count(self, table: str) -> int:
        """Return the number of posts, comments, formulas, expressions, visuals, links, users or tags."""

    # Batches.

    def posts_by_id(self, ids: Sequence[int]) -> dict[int, Post]:
        """Return posts by their ids."""

    def known_posts(self, ids: Sequence[int]) -> set[int]:
        """Return those of the ids that are posts of the collection."""

    def threads_by_id(self, ids: Sequence[int]) -> dict[int, Thread]:
        """Return the thread of each post, a question or an answer, by the id of the post."""

    def answers_by_question(self, ids: Sequence[int]) -> dict[int, list[Post]]:
        """Return the answers to each question."""

    def comments_by_post(self, ids: Sequence[int]) -> dict[int, list[Comment]]:
        """Return the comments on each post."""

    def links_by_post(self, ids: Sequence[int]) -> dict[int, list[Link]]:
        """Return the links of each post; the other question may be outside the collection."""

    def titles_by_id(self, ids: Sequence[int]) -> dict[int, Text]:
        """Return the titles of questions, also of those outside the collection that a link names."""

    def users_by_id(self, ids: Sequence[int]) -> dict[int, User]:
        """Return users; the source may not list all of them."""

    def formulas_by_id(self, ids: Sequence[int]) -> dict[int, Formula]:
        """Return formulas by their ids."""

    def formulas_by_post(self, ids: Sequence[int]) -> dict[int, list[Formula]]:
        """Return the formulas of each post: title, body and comments."""

    def instances(self, visual_ids: Sequence[int], most: int, returnable: bool = False) -> dict[int, list[Formula]]:
        """Return the first formulas with each visual id, at most `most`; `returnable`: of those that a run may return,
        which are listed, in the present text of a question or an answer."""

    def uses(self, visual_ids: Sequence[int], shown: int, most: int) -> dict[int, FormulaUses]:
        """Return the posts that use each visual id: the first ones, and how many its first `most` formulas are in."""

    def expressions_by_id(self, ids: Sequence[int]) -> dict[int, Expression]:
        """Return expressions by their ids."""

    def expressions_by_formula(self, ids: Sequence[int]) -> dict[int, Expression]:
        """Return the expression of each formula."""

    def visuals_by_id(self, ids: Sequence[int]) -> dict[int, Visual]:
        """Return the groups with these visual ids."""

    def images(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return pictures of the collection's own by their names."""

    # Streams, in the order of ids.

    def posts(self, kind: str = "") -> Iterator[Post]:
        """Yield all posts, or only questions or answers."""

    def question_ids(self) -> Iterator[int]:
        """Yield the ids of all questions."""

    def threads(self) -> Iterator[Thread]:
        """Yield all threads, in the order of questions."""

    def all_comments(self) -> Iterator[Comment]:
        """Yield all comments."""

    def all_links(self) -> Iterator[Link]:
        """Yield all links."""

    def all_votes(self) -> Iterator[VoteCount]:
        """Yield the votes of each post by type."""

    def users(self) -> Iterator[User]:
        """Yield the authors of posts and comments."""

    def tags(self) -> Iterator[TagCount]:
        """Yield each tag with its number of questions, the most common first."""

    def titles(self, number: int) -> Iterator[Text]:
        """Yield the titles of the first questions by id, at most `number`."""

    def formulas(self) -> Iterator[Formula]:
        """Yield all formulas, one for each occurrence."""

    def formulas_with_mathml(self) -> Iterator[FormulaMathML]:
        """Yield all formulas with the Presentation and Content MathML of their source."""

    def formula_posts(self) -> Iterator[int]:
        """Yield the post of each formula, in the order of posts."""

    def expressions(self) -> Iterator[Expression]:
        """Yield the distinct expressions with their trees; ids are 1, 2, 3, ... in order of first appearance."""

    def occurrences(self) -> Iterator[Occurrence]:
        """Yield every formula that a search may return."""

    def visuals(self) -> Iterator[Visual]:
        """Yield the groups of formulas that look the same."""

    def visual_keys(self) -> Iterator[VisualKey]:
        """Yield the visual id and the visual key of every formula, which `visual.recluster` needs."""

    def most_common(self, number: int) -> Iterator[CommonVisual]:
        """Yield the most common formulas."""
