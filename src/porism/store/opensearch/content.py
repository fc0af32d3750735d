"""What people read of a collection in a cluster: posts with what belongs to them in one document, other tables in
blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import cbor2

from porism.corpus.content import (
    CommonVisual,
    Expression,
    FormulaMathML,
    FormulaUses,
    Occurrence,
    TagCount,
    UsingPost,
    Visual,
    VisualKey,
    VoteCount,
    batched,
    formulas_fingerprint,
)
from porism.corpus.post import Comment, Formula, Link, Post, Thread, User
from porism.corpus.store.schema import FORMULA_KINDS, to_comment, to_expression
from porism.errors import PorismError
from porism.store.opensearch.reading import (
    BLOCKS,
    FIRST_USES,
    IDS,
    MOST_ID,
    PAGE,
    ContentReader,
    ReadPost,
    read_post,
    rows_of_post,
    stored_fields,
)
from porism.store.opensearch.rows import (
    EXPRESSIONS,
    FORMULAS,
    OUTSIDE,
    TITLES,
    USERS,
    VISUALS,
    PostRows,
    Row,
    read_block,
)
from porism.store.opensearch.schema import TAGS, image_key
from porism.text.segment import Text

T = TypeVar("T")
R = TypeVar("R")
DROPPED = ("d", "dv")  # issues of formulas that a search does not return
AGAIN = "copy the collection again: porism store copy FOLDER {}"


class ClusterContent(ContentReader):
    """The content of one generation of a collection."""

    @property
    def name(self) -> str:
        """The name of the collection."""
        return self._manifest.name

    @property
    def digest(self) -> str:
        """The digest of the content."""
        return str(self.facts["digest"])

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the build recorded."""
        return self._manifest.facts

    @property
    def has_votes(self) -> bool:
        """Whether any post has votes."""
        return self._manifest.has_votes

    @property
    def has_dates(self) -> bool:
        """Whether any post has a date."""
        return self._manifest.has_dates

    @property
    def first_own_formula(self) -> int | None:
        """The id at which formulas start that the official list lacks; None where there is no official list."""
        first: int | None = self.facts["first_own_formula"]
        return first

    def is_listed(self, formula: Formula) -> bool:
        """Return whether a run may return a formula of a post."""
        first = self.first_own_formula
        return first is None or formula.id < first or not formula.post_id

    def check_formulas(self) -> None:
        """Refuse a collection whose formulas another version of Porism parsed."""
        if self.facts.get("formulas") != formulas_fingerprint():
            fact = "its formulas were parsed by another version of Porism"
            raise PorismError(fact, where=self._address, fix=AGAIN.format(self._address))

    def count(self, table: str) -> int:
        """Return the number of posts, comments, formulas, expressions, visuals, links, users or tags."""
        return int(self.facts["counts"][table])

    # Batches.

    def posts_by_id(self, ids: Sequence[int]) -> dict[int, Post]:
        """Return posts by their ids."""
        found = {number: one.post for number, one in self.read_posts(ids).items()}
        self.check_found(found, ids, "post")
        return found

    def known_posts(self, ids: Sequence[int]) -> set[int]:
        """Return those of the ids that are posts of the collection."""
        return set(self._documents.read(self._generation, "posts", list(dict.fromkeys(ids)), ("thread", "position")))

    def threads_by_id(self, ids: Sequence[int]) -> dict[int, Thread]:
        """Return the thread of each post, a question or an answer, by the id of the post."""
        thread_of = {number: post.thread_id for number, post in self.posts_by_id(ids).items()}
        threads = self._threads(dict.fromkeys(thread_of.values()))
        return {number: threads[thread] for number, thread in thread_of.items()}

    def _threads(self, questions: Iterable[int]) -> dict[int, Thread]:
        posts: dict[int, list[ReadPost]] = {}
        for one in self.posts_where("thread", questions):
            posts.setdefault(one.post.thread_id, []).append(one)
        return {number: _thread(number, own) for number, own in posts.items()}

    def answers_by_question(self, ids: Sequence[int]) -> dict[int, list[Post]]:
        """Return the answers to each question."""
        answers = self.posts_where("thread", ids, {"term": {"kind": "answer"}})
        return _grouped((one.post for one in answers), lambda post: post.thread_id)

    def comments_by_post(self, ids: Sequence[int]) -> dict[int, list[Comment]]:
        """Return the comments on each post."""
        found = self.read_posts(ids)
        return {number: _comments(one.rows) for number, one in found.items() if one.rows.comments}

    def links_by_post(self, ids: Sequence[int]) -> dict[int, list[Link]]:
        """Return the links of each post; the other question may be outside the collection."""
        found = self.read_posts(ids)
        return {number: [Link(*row) for row in one.rows.links] for number, one in found.items() if one.rows.links}

    def titles_by_id(self, ids: Sequence[int]) -> dict[int, Text]:
        """Return the titles of questions, also of those outside the collection that a link names."""
        outside = {number: Text(row[1]) for number, row in self.table_rows(TITLES, ids).items()}
        found = self._documents.read(self._generation, "posts", list(dict.fromkeys(ids)), ("thread", "title"))
        own = {number: Text(one["title"]) for number, one in found.items() if one["thread"] == number}
        return {**outside, **own}

    def users_by_id(self, ids: Sequence[int]) -> dict[int, User]:
        """Return users; the source may not list all of them."""
        return {number: User(*row) for number, row in self.table_rows(USERS, ids).items()}

    def formulas_by_id(self, ids: Sequence[int]) -> dict[int, Formula]:
        """Return formulas by their ids."""
        rows = self.table_rows(FORMULAS, ids)
        self.check_found(rows, ids, "formula")
        return {one.id: one for one in self._with_latex(rows.values())}

    def _with_latex(self, rows: Iterable[Row]) -> Iterator[Formula]:
        """Yield formulas of rows of their table, which lacks the LaTeX."""
        own = list(rows)
        expressions = self.table_rows(EXPRESSIONS, [row[5] for row in own])
        return (_formula([*row[:OUTSIDE], expressions[row[5]][1]]) for row in own)

    def formulas_by_post(self, ids: Sequence[int]) -> dict[int, list[Formula]]:
        """Return the formulas of each post: title, body and comments."""
        return {number: [*map(_formula, rows)] for number, rows in self._formula_rows(ids).items() if rows}

    def instances(self, visual_ids: Sequence[int], most: int, returnable: bool = False) -> dict[int, list[Formula]]:
        """Return the first formulas with each visual id, at most `most`; `returnable`: of those that a run may
        return."""
        wanted = {one for one in visual_ids if abs(one) < MOST_ID}
        found: list[Formula] = []
        for some in batched(sorted(wanted), IDS):
            for fields, _ in self.scan("posts", [{"terms": {"visual": some}}], "id", ("formulas",)):
                found += (_formula(row) for row in cbor2.loads(fields["formulas"]) if row[6] in wanted)
            without = self.blocks_with(FORMULAS, "key", some)
            found += self._with_latex(row for row in without if row[6] in wanted and row[OUTSIDE])
        kept = [one for one in found if not returnable or self._is_returnable(one)]
        by_id = _grouped(sorted(kept, key=lambda one: one.id), lambda formula: formula.visual_id)
        return {number: own[:most] for number, own in by_id.items()}

    def _is_returnable(self, formula: Formula) -> bool:
        return formula.kind != "comment" and self.is_listed(formula) and formula.issue not in ("d", "dv")

    def uses(self, visual_ids: Sequence[int], shown: int, most: int) -> dict[int, FormulaUses]:
        """Return the posts that use each visual id: the first ones with their titles, and the number of all among its
        first `most` formulas."""
        generation = self._generation
        wanted = [number for number in dict.fromkeys(visual_ids) if abs(number) < MOST_ID]
        visuals = self.table_rows(VISUALS, wanted)
        searches = []
        for number in wanted:
            # Of a frequent formula more posts are read, since only its first occurrences count.
            frequent = number in visuals and visuals[number][2] > most
            body = {
                "size": most if frequent else max(shown, FIRST_USES),
                "_source": False,
                "stored_fields": ["formulas", "title"],
                "track_total_hits": most + 1,
                "sort": [{"first": "asc"}],
                "query": {"bool": {"filter": {"term": {"visual": number}}, "must_not": generation.hidden("posts")}},
            }
            searches.append((generation.index_name("posts"), body))
        answers = generation.place.cluster.msearch(searches) if searches else []
        found = dict.fromkeys(visual_ids, FormulaUses([], 0))
        for number, answer in zip(wanted, answers, strict=True):
            found[number] = _uses(number, answer["hits"], shown, most, visuals.get(number))
        return found

    def expressions_by_id(self, ids: Sequence[int]) -> dict[int, Expression]:
        """Return expressions by their ids."""
        found = {number: to_expression(tuple(row)) for number, row in self.table_rows(EXPRESSIONS, ids).items()}
        self.check_found(found, ids, "expression")
        return found

    def expressions_by_formula(self, ids: Sequence[int]) -> dict[int, Expression]:
        """Return the expression of each formula."""
        rows = self.table_rows(FORMULAS, ids)
        self.check_found(rows, ids, "formula")
        expressions = self.expressions_by_id([row[5] for row in rows.values()])
        return {number: expressions[row[5]] for number, row in rows.items()}

    def visuals_by_id(self, ids: Sequence[int]) -> dict[int, Visual]:
        """Return the groups with these visual ids."""
        found = {number: Visual(*row) for number, row in self.table_rows(VISUALS, ids).items() if row[2]}
        self.check_found(found, ids, "visual id")
        return found

    def images(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return pictures of the collection's own by their names."""
        keys = {image_key(name): name for name in names}
        found = self._documents.read(self._generation, "rows", list(keys), ("data",))
        return {keys[key]: cbor2.loads(data)[1] for key, data in found.items()}

    def all_images(self) -> Iterator[tuple[str, bytes]]:
        """Yield the names and the data of all pictures."""
        found = self.scan("rows", [{"term": {"table": "images"}}], "block", ("data",), BLOCKS)
        return (tuple(cbor2.loads(fields["data"])) for fields, _ in found)

    # Streams, in the order of ids.

    def post_rows(self, kind: str = "") -> Iterator[ReadPost]:
        """Yield all posts with their rows, or only questions or answers."""
        filters = [{"term": {"kind": kind}}] if kind else []
        return (read_post(fields) for fields, _ in self.scan("posts", filters, "id", ("data", "formulas")))

    def posts(self, kind: str = "") -> Iterator[Post]:
        """Yield all posts, or only questions or answers."""
        return (one.post for one in self.post_rows(kind))

    def question_ids(self) -> Iterator[int]:
        """Yield the ids of all questions."""
        return (number for _, number in self.scan("posts", [{"term": {"kind": "question"}}], "id", (), IDS))

    def threads(self) -> Iterator[Thread]:
        """Yield all threads, in the order of questions."""
        for ids in batched(self.question_ids(), PAGE):
            threads = self._threads(ids)
            yield from (threads[number] for number in ids)

    def all_comments(self) -> Iterator[Comment]:
        """Yield all comments. They are sorted in memory, since they are stored with their posts."""
        filters = [{"exists": {"field": "comment"}}]
        found = [
            row for fields, _ in self.scan("posts", filters, "id", ("data",)) for row in rows_of_post(fields).comments
        ]
        return map(to_comment, sorted(map(tuple, found), key=lambda row: row[0]))

    def all_links(self) -> Iterator[Link]:
        """Yield all links."""
        filters = [{"exists": {"field": "other"}}]
        posts = self.scan("posts", filters, "id", ("data",))
        return (Link(*row) for fields, _ in posts for row in rows_of_post(fields).links)

    def all_votes(self) -> Iterator[VoteCount]:
        """Yield the votes of each post by type."""
        posts = self.scan("posts", [], "id", ("data",))
        return (VoteCount(*row) for fields, _ in posts for row in rows_of_post(fields).votes)

    def users(self) -> Iterator[User]:
        """Yield the authors of posts and comments."""
        return (User(*row) for row in self.rows_of(USERS))

    def tags(self) -> Iterator[TagCount]:
        """Yield each tag with its number of questions, the most common first."""
        found = self._documents.read(self._generation, "rows", [TAGS], ("data",))
        return (TagCount(*row) for row in read_block(found[TAGS]))

    def titles(self, number: int) -> Iterator[Text]:
        """Yield the titles of the first questions by id, at most `number`."""
        found = self.scan("posts", [{"term": {"kind": "question"}}], "id", ("title",), max(1, min(number, IDS)))
        return (Text(fields["title"]) for _, (fields, _) in zip(range(number), found, strict=False))

    def formulas(self) -> Iterator[Formula]:
        """Yield all formulas, one for each occurrence."""
        for some in batched(self.rows_of(FORMULAS), IDS):
            yield from self._with_latex(some)

    def formulas_with_mathml(self) -> Iterator[FormulaMathML]:
        """Yield all formulas with the Presentation and Content MathML of their source."""
        for some in batched(self.rows_of(FORMULAS), IDS):
            expressions = self.table_rows(EXPRESSIONS, [row[5] for row in some])
            for row in some:
                _, latex, mathml, content, *_ = expressions[row[5]]
                yield FormulaMathML(_formula([*row[:OUTSIDE], latex]), mathml, content)

    def formula_posts(self) -> Iterator[int]:
        """Yield the post of each formula, in the order of posts."""
        posts = self.scan("posts", [{"exists": {"field": "visual"}}], "id", ("formulas",))
        return (number for fields, number in posts for _ in cbor2.loads(fields["formulas"]))

    def expressions(self) -> Iterator[Expression]:
        """Yield the distinct expressions with their trees."""
        return (to_expression(tuple(row)) for row in self.rows_of(EXPRESSIONS))

    def occurrences(self) -> Iterator[Occurrence]:
        """Yield every formula that a search may return."""
        rows = self.rows_of(FORMULAS)
        return (Occurrence(row[0], row[1], row[5], row[6]) for row in rows if row[8] not in DROPPED)

    def visuals(self) -> Iterator[Visual]:
        """Yield the groups of formulas that look the same."""
        return (Visual(*row) for row in self.rows_of(VISUALS) if row[2])

    def visual_keys(self) -> Iterator[VisualKey]:
        """Yield the visual id and the visual key of every formula."""
        for some in batched(self.rows_of(FORMULAS), IDS):
            expressions = self.table_rows(EXPRESSIONS, [row[5] for row in some])
            yield from (VisualKey(row[0], row[6], expressions[row[5]][7]) for row in some)

    def most_common(self, number: int) -> Iterator[CommonVisual]:
        """Yield the most common formulas."""
        best = [Visual(*row) for row in self.common_rows()[:number]]
        expressions = self.expressions_by_id([visual.expression_id for visual in best])
        return (CommonVisual(expressions[one.expression_id].latex, one.formulas, one.id) for one in best)


def _formula(row: Row) -> Formula:
    """Return a formula of a row of its table and its LaTeX."""
    number, post_id, thread_id, kind, comment_id, _, visual_id, old_visual_id, issue, latex = row
    return Formula(number, post_id, thread_id, FORMULA_KINDS[kind], latex, visual_id, comment_id, old_visual_id, issue)


def _comments(rows: PostRows) -> list[Comment]:
    return [to_comment(tuple(row)) for row in rows.comments]


def _thread(number: int, posts: Sequence[ReadPost]) -> Thread:
    """Return a thread of its posts, which are in the order of ids."""
    question = next(one for one in posts if one.post.id == number)
    answers = [one for one in posts if one is not question]
    comments = [comment for one in (question, *answers) for comment in _comments(one.rows)]
    links = [Link(*row) for row in question.rows.links]
    return Thread(question.post, tuple(one.post for one in answers), tuple(comments), tuple(links))


def _uses(number: int, hits: Mapping[str, Any], shown: int, most: int, visual: Row | None) -> FormulaUses:
    """Return the posts that use a formula, of the posts that a search found in the order of their first formulas."""
    first: list[tuple[Formula, Text]] = []
    for hit in hits.get("hits", ()):
        fields = stored_fields(hit)
        rows = (row for row in cbor2.loads(fields["formulas"]) if row[6] == number and row[8] not in DROPPED)
        first += ((_formula(row), Text(fields["title"])) for row in rows)
    first.sort(key=lambda pair: pair[0].id)
    in_posts: dict[int, tuple[Formula, Text]] = {}
    for pair in first[:most]:
        in_posts.setdefault(pair[0].post_id, pair)
    few = visual is not None and visual[2] <= most
    posts = int(visual[3]) if visual is not None and few else len(in_posts)
    return FormulaUses([UsingPost(*pair) for pair in [*in_posts.values()][:shown]], posts)


def _grouped(records: Iterable[R], key: Callable[[R], int]) -> dict[int, list[R]]:
    found: dict[int, list[R]] = {}
    for record in records:
        found.setdefault(key(record), []).append(record)
    return found
