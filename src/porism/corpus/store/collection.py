"""The collection: posts, threads and formulas in one read-only store with a digest."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from porism.corpus import content
from porism.corpus.content import batched
from porism.corpus.post import Comment, Formula, Link, Post, Thread, User
from porism.corpus.store import schema
from porism.corpus.store.parts import CHUNK, REBUILD, Parts, part_names
from porism.corpus.store.schema import DATABASE, FORMAT, FORMULA_KINDS, MANIFEST
from porism.errors import PorismError
from porism.integrity import WRONG, DamageError, FileChecksum, Verify, check_opened, read_sealed
from porism.text.segment import EMPTY, Text

POST, COMMENT = ", ".join(schema.CollectionPost._fields), ", ".join(schema.CollectionComment._fields)
FORMULA = """SELECT f.id, f.post_id, f.thread_id, f.kind, e.latex, f.visual_id, f.comment_id, f.old_visual_id, f.issue
    FROM formulas f JOIN expressions e ON e.id = f.expression_id """
IN_TEXT, OF_COMMENT = "AND f.issue NOT IN ('d', 'dv')", FORMULA_KINDS.index("comment")
T = TypeVar("T")
R = TypeVar("R")
MOST_ID = 1 << 63
AT_ONCE = 500  # threads that a stream reads together
KEYS = {"kind", "format", "porism", "digest", "formulas", "options", "sources"}  # of a manifest
KEYS |= {"first_own_formula", "counts", "ledger", "files", "parts"}


class Collection:
    """A built collection, opened read-only. Every stream is in the order of ids."""

    def __init__(
        self, path: Path, manifest: dict[str, Any], files: Mapping[str, FileChecksum], parts: Parts | None = None
    ) -> None:
        """`parts` are the stores of a collection in memory, whose path is only a name."""
        self.path = path
        self.manifest = manifest
        self.files = files
        self.parts = parts or Parts.open(self.part_folders)

    @classmethod
    def open(cls, path: str | Path, verify: Verify = "quick") -> Collection:
        """Open a collection, or report what is wrong and what to run. `verify`: how much is compared with checksums."""
        place = Path(path)
        if not (place / MANIFEST).is_file():
            fix = f"porism build SOURCE -o {place}"
            raise PorismError("not a collection (no manifest.json)", where=str(place), fix=fix)
        manifest, intact = read_sealed(place / MANIFEST, REBUILD)
        if manifest.get("kind") != "collection" or manifest.get("format") != FORMAT:
            found = f"{manifest.get('kind')} of format {manifest.get('format')}"
            fix = "build the collection again with this version"
            raise PorismError(f"a {found}, not a collection of format {FORMAT}", where=str(place), fix=fix)
        if not intact or not manifest.keys() <= KEYS:
            raise DamageError(WRONG, where=str(place / MANIFEST), fix=REBUILD)
        for part in part_names(manifest):
            if not (place / part / DATABASE).is_file():
                fact = f"{os.path.normpath(Path(part) / DATABASE)} is missing"
                raise DamageError(fact, where=str(place), fix=REBUILD)
        files = {name: FileChecksum(**one) for name, one in manifest.pop("files", {}).items()}
        check_opened(place, files, REBUILD, verify)
        return cls(place, manifest, files)

    def close(self) -> None:
        """Close the store."""
        self.parts.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def part_folders(self) -> list[Path]:
        """Return the folders of the parts, the oldest first."""
        return [self.path / part for part in part_names(self.manifest)]

    @property
    def name(self) -> str:
        """The name of the folder, or of the one above if it has the usual name."""
        place = self.path.resolve()
        return place.parent.name if place.name in ("collection", "index") else place.name

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the build recorded."""
        return self.manifest

    @property
    def digest(self) -> str:
        """Return the digest of the content: equal for equal sources and options."""
        return str(self.manifest["digest"])

    def check_formulas(self) -> None:
        """Refuse formulas that another version of Porism parsed: their trees would not match those of queries."""
        if self.manifest.get("formulas") != content.formulas_fingerprint():
            fact = "its formulas were parsed by another version of Porism"
            raise PorismError(fact, where=str(self.path), fix=REBUILD)

    @property
    def first_own_formula(self) -> int | None:
        """Return the id at which formulas start that the official list lacks; None where there is no official list."""
        first: int | None = self.manifest["first_own_formula"]
        return first

    def is_listed(self, formula: Formula) -> bool:
        """Return whether a run may return a formula of a post: where there is an official list, only its formulas."""
        first = self.first_own_formula
        return first is None or formula.id < first or not formula.post_id

    def _batch(
        self, read: Callable[[str, Sequence[object]], Iterator[Any]], query: str, ids: Iterable[int | str]
    ) -> Iterator[Any]:
        """Yield the rows of a query for many ids, instead of its `{}`, CHUNK at a time. No id has over 63 bits."""
        wanted = (one for one in dict.fromkeys(ids) if isinstance(one, str) or -MOST_ID <= one < MOST_ID)
        for chunk in batched(wanted, CHUNK):
            yield from read(query.format(", ".join("?" * len(chunk))), chunk)

    def _all_found(self, found: dict[int, T], ids: Iterable[int], what: str) -> dict[int, T]:
        missing = next((number for number in ids if number not in found), None)
        if missing is not None:
            fix = "porism collection stats shows what it holds"
            raise PorismError(f"no {what} {missing} in this collection", where=str(self.path), fix=fix)
        return found

    def known_posts(self, ids: Sequence[int]) -> set[int]:
        """Return those of the ids that are posts of the collection."""
        query = "SELECT id FROM posts WHERE id IN ({}) ORDER BY id"
        return {row[0] for row in self._batch(self.parts.rows, query, ids)}

    def posts_by_id(self, ids: Sequence[int]) -> dict[int, Post]:
        """Return posts by their ids, read together."""
        rows = self._batch(self.parts.rows, f"SELECT {POST} FROM posts WHERE id IN ({{}}) ORDER BY id", ids)
        return self._all_found({post.id: post for post in map(schema.to_post, rows)}, ids, "post")

    def threads_by_id(self, ids: Sequence[int]) -> dict[int, Thread]:
        """Return the thread of each post, a question or an answer, by the id of the post."""
        thread_of = {number: post.thread_id for number, post in self.posts_by_id(ids).items()}
        questions = self.posts_by_id(list(dict.fromkeys(thread_of.values())))
        answers = self.answers_by_question(list(questions))
        comments = self.comments_by_post([*questions, *(one.id for own in answers.values() for one in own)])
        links = self.links_by_post(list(questions))
        found: dict[int, Thread] = {}
        for number, question in questions.items():
            own = answers.get(number, [])
            about = [comment for post in (question, *own) for comment in comments.get(post.id, ())]
            found[number] = Thread(question, tuple(own), tuple(about), tuple(links.get(number, ())))
        return {number: found[thread] for number, thread in thread_of.items()}

    def answers_by_question(self, ids: Sequence[int]) -> dict[int, list[Post]]:
        """Return the answers to each question."""
        query = f"SELECT {POST} FROM posts WHERE thread_id IN ({{}}) AND kind = 'answer' ORDER BY id"
        return _grouped(map(schema.to_post, self._batch(self.parts.rows, query, ids)), lambda post: post.thread_id)

    def comments_by_post(self, ids: Sequence[int]) -> dict[int, list[Comment]]:
        """Return the comments on each post."""
        rows = self._batch(self.parts.rows, f"SELECT {COMMENT} FROM comments WHERE post_id IN ({{}}) ORDER BY id", ids)
        return _grouped(map(schema.to_comment, rows), lambda comment: comment.post_id)

    def links_by_post(self, ids: Sequence[int]) -> dict[int, list[Link]]:
        """Return the links of each post; the other question may be outside the collection."""
        query = "SELECT post_id, other_id, kind FROM links WHERE post_id IN ({}) ORDER BY post_id, other_id, kind"
        rows = self._batch(self.parts.rows, query, ids)
        return _grouped((Link(*row) for row in rows), lambda link: link.post_id)

    def titles_by_id(self, ids: Sequence[int]) -> dict[int, Text]:
        """Return the titles of questions, also of those outside the collection that a link names."""
        outside = self._batch(self.parts.newest_rows, "SELECT id, title FROM titles WHERE id IN ({}) ORDER BY id", ids)
        own = "SELECT id, title FROM posts WHERE id IN ({}) AND kind = 'question' ORDER BY id"
        return {row[0]: Text(row[1]) for row in (*outside, *self._batch(self.parts.rows, own, ids))}

    def users_by_id(self, ids: Sequence[int]) -> dict[int, User]:
        """Return users; the source may not list all of them."""
        rows = self._batch(self.parts.newest_rows, "SELECT * FROM users WHERE id IN ({}) ORDER BY id", ids)
        return {row[0]: User(*row) for row in rows}

    def formulas_by_id(self, ids: Sequence[int]) -> dict[int, Formula]:
        """Return formulas by their ids."""
        rows = self._batch(self.parts.rows, FORMULA + "WHERE f.id IN ({}) ORDER BY f.id", ids)
        return self._all_found({one.id: one for one in map(schema.to_formula, rows)}, ids, "formula")

    def formulas_by_post(self, ids: Sequence[int]) -> dict[int, list[Formula]]:
        """Return the formulas of each post: title, body and comments."""
        rows = self._batch(self.parts.rows, FORMULA + "WHERE f.post_id IN ({}) ORDER BY f.id", ids)
        return _grouped(map(schema.to_formula, rows), lambda formula: formula.post_id)

    def visuals_by_post(self, ids: Sequence[int]) -> dict[int, list[content.VisualUse]]:
        """Return the visual ids of the formulas of each post, and the kind of text that each occurs in."""
        query = "SELECT id, post_id, kind, visual_id FROM formulas WHERE post_id IN ({}) ORDER BY id"
        found: dict[int, list[content.VisualUse]] = {}
        for _, post_id, kind, visual_id in self._batch(self.parts.rows, query, ids):
            found.setdefault(post_id, []).append(content.VisualUse(FORMULA_KINDS[kind], visual_id))
        return found

    def instances(self, visual_ids: Sequence[int], most: int, returnable: bool = False) -> dict[int, list[Formula]]:
        """Return the first `most` formulas with each visual id; `returnable`: of those that a run may return."""
        listed = MOST_ID - 1 if self.first_own_formula is None else self.first_own_formula
        kept = f"{IN_TEXT} AND f.kind < {OF_COMMENT} AND (f.id < {listed} OR f.post_id = 0)" if returnable else ""
        found = {number: list(self._first_formulas(number, most, kept)) for number in visual_ids}
        return {number: own for number, own in found.items() if own}

    def _first_formulas(self, visual_id: int, most: int, kept: str) -> Iterator[Formula]:
        query = f"{FORMULA} WHERE f.visual_id = ? {kept} ORDER BY f.id LIMIT ?"
        return map(schema.to_formula, islice(self.parts.rows(query, (visual_id, most)), most))

    def uses(self, visual_ids: Sequence[int], shown: int, most: int) -> dict[int, content.FormulaUses]:
        """Return the first posts that use each visual id, with titles, and how many do among `most` formulas."""
        first: dict[int, list[Formula]] = {}
        for number in visual_ids:
            in_posts: dict[int, Formula] = {}
            for formula in self._first_formulas(number, most, IN_TEXT + " AND f.post_id > 0"):
                in_posts.setdefault(formula.post_id, formula)
            first[number] = list(in_posts.values())
        titles = self.titles_by_id([one.thread_id for own in first.values() for one in own[:shown]])
        return {
            number: content.FormulaUses(
                [content.UsingPost(one, titles.get(one.thread_id, EMPTY)) for one in own[:shown]], len(own)
            )
            for number, own in first.items()
        }

    def expressions_by_id(self, ids: Sequence[int]) -> dict[int, content.Expression]:
        """Return expressions by their ids."""
        rows = self._batch(self.parts.newest_rows, "SELECT * FROM expressions WHERE id IN ({}) ORDER BY id", ids)
        return self._all_found({one.id: one for one in map(schema.to_expression, rows)}, ids, "expression")

    def expressions_by_formula(self, ids: Sequence[int]) -> dict[int, content.Expression]:
        """Return the expression of each formula."""
        query = "SELECT id, expression_id FROM formulas WHERE id IN ({}) ORDER BY id"
        expression_of = self._all_found(dict(self._batch(self.parts.rows, query, ids)), ids, "formula")
        expressions = self.expressions_by_id(list(expression_of.values()))
        return {number: expressions[expression] for number, expression in expression_of.items()}

    def visuals_by_id(self, ids: Sequence[int]) -> dict[int, content.Visual]:
        """Return the groups with these visual ids."""
        rows = self._batch(self.parts.newest_rows, "SELECT * FROM visuals WHERE id IN ({}) ORDER BY id", ids)
        found = {one.id: one for one in map(content.Visual._make, rows) if one.formulas}
        return self._all_found(found, ids, "visual id")

    def images(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return pictures of the collection's own by their names."""
        if not self._has_images:
            return {}
        query = "SELECT name, data FROM images WHERE name IN ({}) ORDER BY name"
        return {row[0]: bytes(row[1]) for row in self._batch(self.parts.newest_rows, query, names)}

    def count(self, table: str) -> int:
        """Return the number of posts, comments, formulas, expressions, visuals, links, users or tags."""
        return int(self.manifest["counts"][table])

    @cached_property
    def has_votes(self) -> bool:
        """Whether any post has votes; some sources have none."""
        return self.parts.one("SELECT 1 FROM posts WHERE score != 0 LIMIT 1") is not None

    @cached_property
    def has_dates(self) -> bool:
        """Whether any post has a date."""
        return self.parts.one("SELECT 1 FROM posts WHERE created != '' LIMIT 1") is not None

    def posts(self, kind: str = "") -> Iterator[Post]:
        """Yield all posts, or only questions or answers."""
        where = "WHERE kind = ?" if kind else "WHERE ? = ''"
        return map(schema.to_post, self.parts.rows(f"SELECT {POST} FROM posts {where} ORDER BY id", (kind,)))

    def question_ids(self) -> Iterator[int]:
        """Yield the ids of all questions."""
        return (row[0] for row in self.parts.rows("SELECT id FROM posts WHERE kind = 'question' ORDER BY id"))

    def threads(self) -> Iterator[Thread]:
        """Yield all threads, in the order of questions."""
        for ids in batched(self.question_ids(), AT_ONCE):
            yield from self.threads_by_id(ids).values()

    def all_comments(self) -> Iterator[Comment]:
        """Yield all comments."""
        return map(schema.to_comment, self.parts.rows(f"SELECT {COMMENT} FROM comments ORDER BY id"))

    def all_links(self) -> Iterator[Link]:
        """Yield all links."""
        rows = self.parts.rows("SELECT post_id, other_id, kind FROM links ORDER BY post_id, other_id, kind")
        return (Link(*row) for row in rows)

    def titles(self, number: int) -> Iterator[Text]:
        """Yield the titles of the first questions by id, at most `number`."""
        query = "SELECT id, title FROM posts WHERE kind = 'question' ORDER BY id LIMIT ?"
        return (Text(row[1]) for row in islice(self.parts.rows(query, (number,)), number))

    def formulas(self) -> Iterator[Formula]:
        """Yield all formulas, one for each occurrence."""
        return map(schema.to_formula, self.parts.rows(FORMULA + "ORDER BY f.id"))

    def formulas_with_mathml(self) -> Iterator[content.FormulaMathML]:
        """Yield all formulas with the Presentation and Content MathML of their source."""
        query = FORMULA.replace("f.issue", "f.issue, e.mathml, e.content", 1) + "ORDER BY f.id"
        return (content.FormulaMathML(schema.to_formula(row[:-2]), row[-2], row[-1]) for row in self.parts.rows(query))

    def expressions(self) -> Iterator[content.Expression]:
        """Yield the distinct expressions with their trees; ids are 1, 2, 3, ... in order of first appearance."""
        return map(schema.to_expression, self.parts.newest_rows("SELECT * FROM expressions ORDER BY id"))

    def occurrences(self) -> Iterator[content.Occurrence]:
        """Yield every formula that a search may return."""
        query = "SELECT id, post_id, expression_id, visual_id FROM formulas WHERE issue NOT IN ('d', 'dv') ORDER BY id"
        return map(content.Occurrence._make, self.parts.rows(query))

    def returnable_visuals(self) -> Iterator[int]:
        """Yield the visual ids of the formulas that a search may return, in ascending order."""
        query = "SELECT DISTINCT visual_id FROM formulas WHERE issue NOT IN ('d', 'dv') ORDER BY visual_id"
        return (row[0] for row in self.parts.newest_rows(query))

    def visual_trees(self, visual_ids: Sequence[int]) -> Iterator[content.VisualTrees]:
        """Yield the expressions that represent visual ids, in ascending order of the ids, read together."""
        for chunk in batched(visual_ids, CHUNK):
            query = f"""SELECT v.id, e.id, e.latex, e.trees FROM visuals v JOIN expressions e ON e.id = v.expression_id
                WHERE v.id IN ({", ".join("?" * len(chunk))}) ORDER BY v.id"""
            yield from map(content.VisualTrees._make, self.parts.newest_rows(query, chunk))

    def visual_keys(self) -> Iterator[content.VisualKey]:
        """Yield the visual id and the visual key of every formula, which `visual.recluster` needs."""
        query = "SELECT f.id, f.visual_id, e.key FROM formulas f JOIN expressions e ON e.id = f.expression_id"
        return map(content.VisualKey._make, self.parts.rows(query + " ORDER BY f.id"))

    def visuals(self) -> Iterator[content.Visual]:
        """Yield the groups of formulas that look the same."""
        rows = self.parts.newest_rows("SELECT * FROM visuals ORDER BY id")
        return (visual for visual in map(content.Visual._make, rows) if visual.formulas)

    def most_common(self, number: int) -> Iterator[content.CommonVisual]:
        """Yield the groups with most formulas."""
        found = self.parts.most_common_visuals(number)
        expressions = self.expressions_by_id([visual.expression_id for visual in found])
        return (content.CommonVisual(expressions[one.expression_id].latex, one.formulas, one.id) for one in found)

    def formula_posts(self) -> Iterator[int]:
        """Yield the post of each formula, in the order of posts."""
        return (row[0] for row in self.parts.rows("SELECT post_id FROM formulas WHERE post_id > 0 ORDER BY post_id"))

    def users(self) -> Iterator[User]:
        """Yield the authors of posts and comments."""
        return (User(*row) for row in self.parts.newest_rows("SELECT * FROM users ORDER BY id"))

    @cached_property
    def _has_images(self) -> bool:
        """Whether there is a table of pictures; collections of older versions have none."""
        return self.parts.one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'images'") is not None

    def tags(self) -> Iterator[content.TagCount]:
        """Yield each tag with its number of questions, the most common first."""
        counts: Counter[str] = Counter()
        for name, posts in self.parts.rows("SELECT name, posts FROM tags ORDER BY name"):
            counts[name] += posts
        found = (content.TagCount(name, posts) for name, posts in counts.items() if posts > 0)
        return iter(sorted(found, key=lambda tag: (-tag.posts, tag.name)))

    def all_votes(self) -> Iterator[content.VoteCount]:
        """Yield the votes of each post by type."""
        rows = self.parts.rows("SELECT post_id, type, number, bounty FROM votes ORDER BY post_id, type")
        return map(content.VoteCount._make, rows)


def _grouped(records: Iterable[R], key: Callable[[R], int]) -> dict[int, list[R]]:
    found: dict[int, list[R]] = {}
    for record in records:
        found.setdefault(key(record), []).append(record)
    return found
