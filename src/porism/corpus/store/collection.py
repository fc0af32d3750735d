"""The collection: posts, threads and formulas in one read-only store with a digest."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from porism.corpus.post import Comment, Formula, Link, Post, Thread, User
from porism.corpus.store.parts import CHUNK, Parts
from porism.corpus.store.rows import (
    CommonVisual,
    Expression,
    FormulaMathML,
    Occurrence,
    TagCount,
    Visual,
    VisualKey,
    VisualTrees,
    VisualUse,
    VoteCount,
    to_comment,
    to_expression,
    to_formula,
    to_post,
)
from porism.corpus.store.schema import DATABASE, FORMAT, FORMULA_KINDS, MANIFEST, StoredComment, StoredPost
from porism.errors import PorismError
from porism.hashing import fingerprint
from porism.integrity import WRONG, DamageError, FileChecksum, Verify, check_opened, read_sealed
from porism.text.segment import Text

POST, COMMENT = ", ".join(StoredPost._fields), ", ".join(StoredComment._fields)
FORMULA = """SELECT f.id, f.post_id, f.thread_id, f.kind, e.latex, f.visual_id, f.comment_id, f.old_visual_id, f.issue
    FROM formulas f JOIN expressions e ON e.id = f.expression_id """
REBUILD = "build the collection again: porism build SOURCE -o COLLECTION"
KEYS = {
    "kind",
    "format",
    "porism",
    "digest",
    "formulas",
    "options",
    "sources",
    "first_own_formula",
    "counts",
    "ledger",
    "files",
    "parts",
}  # of a manifest


def formulas_fingerprint() -> str:
    """Return the fingerprint of the code, tables and libraries that turn LaTeX into the stored trees."""
    return fingerprint(("porism.formula",), ("math-core", "latex2mathml"))


def part_names(manifest: dict[str, Any]) -> list[str]:
    """Return the folders of the parts of a collection, relative to its own folder, the oldest first."""
    return [str(part) for part in manifest.get("parts", ["."])]


def part_folders(path: Path) -> list[Path]:
    """Return the folders of the parts of a collection that is not opened."""
    return [(path / part).resolve() for part in part_names(read_sealed(path / MANIFEST, REBUILD).document)]


class Collection:
    """A built collection, opened read-only. Every stream is in the order of ids."""

    def __init__(self, path: Path, manifest: dict[str, Any], files: Mapping[str, FileChecksum]) -> None:
        self.path = path
        self.manifest = manifest
        self.files = files
        self.parts = Parts([path / part for part in part_names(manifest)], REBUILD)

    @classmethod
    def open(cls, path: str | Path, verify: Verify = "quick") -> Collection:
        """Open a collection, or report what is wrong with it and what to run. `verify` says how much is compared with its checksums."""
        place = Path(path)
        if not (place / MANIFEST).is_file():
            fix = f"porism build SOURCE -o {place}"
            raise PorismError("is not a collection (no manifest.json)", where=str(place), fix=fix)
        manifest, intact = read_sealed(place / MANIFEST, REBUILD)
        if manifest.get("kind") != "collection" or manifest.get("format") != FORMAT:
            found = f"{manifest.get('kind')} of format {manifest.get('format')}"
            fix = "build the collection again with this version"
            raise PorismError(f"is a {found}, not a collection of format {FORMAT}", where=str(place), fix=fix)
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
    def digest(self) -> str:
        """Return the digest of the content: equal for equal sources and options."""
        return str(self.manifest["digest"])

    def check_formulas(self) -> None:
        """Refuse a collection whose formulas another version of Porism parsed: its trees would not match those of queries."""
        if self.manifest.get("formulas") != formulas_fingerprint():
            raise PorismError(
                "its formulas were parsed by another version of Porism",
                where=str(self.path),
                fix=REBUILD,
            )

    @property
    def first_own_formula(self) -> int | None:
        """Return the id at which formulas start that the official list lacks; None where the collection has no official list."""
        first: int | None = self.manifest["first_own_formula"]
        return first

    def is_listed(self, formula: Formula) -> bool:
        """Return whether a run may return a formula of a post: where there is an official list, only its formulas."""
        first = self.first_own_formula
        return first is None or formula.id < first or not formula.post_id

    def _rows(self, query: str, *values: object) -> Iterator[Any]:
        return self.parts.rows(query, values)

    def _one(self, query: str, *values: object) -> Any:
        return self.parts.one(query, values)

    def _missing(self, what: str, number: int) -> PorismError:
        return PorismError(
            f"no {what} {number} in this collection", where=str(self.path), fix="porism stats shows what it holds"
        )

    def count(self, table: str) -> int:
        """Return the number of posts, comments, formulas, expressions, visuals, links, users or tags."""
        return int(self.manifest["counts"][table])

    @cached_property
    def has_votes(self) -> bool:
        """Whether any post has votes; some sources have none."""
        return self._one("SELECT 1 FROM posts WHERE score != 0 LIMIT 1") is not None

    @cached_property
    def has_dates(self) -> bool:
        """Whether any post has a date."""
        return self._one("SELECT 1 FROM posts WHERE created != '' LIMIT 1") is not None

    def posts(self, kind: str = "") -> Iterator[Post]:
        """Yield all posts, or only questions or answers."""
        where = "WHERE kind = ?" if kind else "WHERE ? = ''"
        return map(to_post, self._rows(f"SELECT {POST} FROM posts {where} ORDER BY id", kind))

    def question_ids(self) -> Iterator[int]:
        """Yield the ids of all questions."""
        return (row[0] for row in self._rows("SELECT id FROM posts WHERE kind = 'question' ORDER BY id"))

    def has_post(self, number: int) -> bool:
        """Return whether the collection has a post."""
        return self._one("SELECT 1 FROM posts WHERE id = ?", number) is not None

    def post(self, number: int) -> Post:
        """Return a post."""
        row = self._one(f"SELECT {POST} FROM posts WHERE id = ?", number)
        if row is None:
            raise self._missing("post", number)
        return to_post(row)

    def posts_by_id(self, numbers: Sequence[int]) -> dict[int, Post]:
        """Return posts by their ids, read together."""
        found: dict[int, Post] = {}
        for start in range(0, len(numbers), CHUNK):
            chunk = numbers[start : start + CHUNK]
            query = f"SELECT {POST} FROM posts WHERE id IN ({', '.join('?' * len(chunk))})"
            found.update((post.id, post) for post in map(to_post, self._rows(query, *chunk)))
        if missing := [number for number in numbers if number not in found]:
            raise self._missing("post", missing[0])
        return found

    def answers(self, question_id: int) -> list[Post]:
        """Return the answers to a question."""
        query = f"SELECT {POST} FROM posts WHERE thread_id = ? AND kind = 'answer' ORDER BY id"
        return [to_post(row) for row in self._rows(query, question_id)]

    def thread(self, number: int) -> Thread:
        """Return the thread of a question or an answer."""
        question = self.post(self.post(number).thread_id)
        answers = self.answers(question.id)
        comments = [comment for post in (question, *answers) for comment in self.comments(post.id)]
        return Thread(question, tuple(answers), tuple(comments), tuple(self.links(question.id)))

    def threads(self) -> Iterator[Thread]:
        """Yield all threads, in the order of questions."""
        for question in self.posts("question"):
            yield self.thread(question.id)

    def comments(self, post_id: int) -> list[Comment]:
        """Return the comments on a post."""
        query = f"SELECT {COMMENT} FROM comments WHERE post_id = ? ORDER BY id"
        return [to_comment(row) for row in self._rows(query, post_id)]

    def all_comments(self) -> Iterator[Comment]:
        """Yield all comments."""
        return map(to_comment, self._rows(f"SELECT {COMMENT} FROM comments ORDER BY id"))

    def links(self, post_id: int) -> list[Link]:
        """Return the links of a post; the other question may be outside the collection."""
        query = "SELECT post_id, other_id, kind FROM links WHERE post_id = ? ORDER BY other_id, kind"
        return [Link(*row) for row in self._rows(query, post_id)]

    def all_links(self) -> Iterator[Link]:
        """Yield all links."""
        return (
            Link(*row)
            for row in self._rows("SELECT post_id, other_id, kind FROM links ORDER BY post_id, other_id, kind")
        )

    def title(self, post_id: int) -> Text | None:
        """Return the title of a question, also of one outside the collection that a link names."""
        row = self._one("SELECT title FROM posts WHERE id = ? AND kind = 'question'", post_id)
        row = row or self._one("SELECT title FROM titles WHERE id = ?", post_id)
        return None if row is None else Text(row[0])

    def titles(self, number: int) -> Iterator[Text]:
        """Yield the titles of the first questions by id, at most `number`."""
        query = "SELECT id, title FROM posts WHERE kind = 'question' ORDER BY id LIMIT ?"
        return (Text(row[1]) for row in islice(self._rows(query, number), number))

    def formulas(self) -> Iterator[Formula]:
        """Yield all formulas, one for each occurrence."""
        return map(to_formula, self._rows(FORMULA + "ORDER BY f.id"))

    def formulas_with_mathml(self) -> Iterator[FormulaMathML]:
        """Yield all formulas with the Presentation and Content MathML of their source."""
        query = FORMULA.replace("f.issue", "f.issue, e.mathml, e.content", 1) + "ORDER BY f.id"
        return (FormulaMathML(to_formula(row[:-2]), row[-2], row[-1]) for row in self._rows(query))

    def formula(self, number: int) -> Formula:
        """Return a formula."""
        row = self._one(FORMULA + "WHERE f.id = ?", number)
        if row is None:
            raise self._missing("formula", number)
        return to_formula(row)

    def formulas_of(self, post_id: int) -> list[Formula]:
        """Return the formulas of a post: title, body and comments."""
        return [to_formula(row) for row in self._rows(FORMULA + "WHERE f.post_id = ? ORDER BY f.id", post_id)]

    def visuals_of(self, post_id: int) -> Iterator[VisualUse]:
        """Yield the visual ids of a post's formulas (title, body and comments), and the kind of text each occurs in."""
        query = "SELECT kind, visual_id FROM formulas WHERE post_id = ? ORDER BY id"
        return (VisualUse(FORMULA_KINDS[kind], visual_id) for kind, visual_id in self._rows(query, post_id))

    def instances(self, visual_id: int) -> Iterator[Formula]:
        """Yield the formulas with a visual id."""
        return map(to_formula, self._rows(FORMULA + "WHERE f.visual_id = ? ORDER BY f.id", visual_id))

    def expressions(self) -> Iterator[Expression]:
        """Yield the distinct expressions with their trees; ids are 1, 2, 3, ... in order of first appearance."""
        return map(to_expression, self.parts.newest_rows("SELECT * FROM expressions ORDER BY id"))

    def expression(self, number: int) -> Expression:
        """Return an expression."""
        row = self._one("SELECT * FROM expressions WHERE id = ?", number)
        if row is None:
            raise self._missing("expression", number)
        return to_expression(row)

    def expression_of(self, formula_id: int) -> Expression:
        """Return the expression of a formula."""
        row = self._one("SELECT expression_id FROM formulas WHERE id = ?", formula_id)
        if row is None:
            raise self._missing("formula", formula_id)
        return self.expression(row[0])

    def occurrences(self) -> Iterator[Occurrence]:
        """Yield every formula that a search may return."""
        query = "SELECT id, post_id, expression_id, visual_id FROM formulas WHERE issue NOT IN ('d', 'dv') ORDER BY id"
        return map(Occurrence._make, self._rows(query))

    def returnable_visuals(self) -> Iterator[int]:
        """Yield the visual ids of the formulas that a search may return, in ascending order."""
        query = "SELECT DISTINCT visual_id FROM formulas WHERE issue NOT IN ('d', 'dv') ORDER BY visual_id"
        return (row[0] for row in self.parts.newest_rows(query))

    def visual_trees(self, visual_ids: Sequence[int]) -> Iterator[VisualTrees]:
        """Yield the expressions that represent visual ids, in ascending order of the ids, read together."""
        for start in range(0, len(visual_ids), CHUNK):
            chunk = visual_ids[start : start + CHUNK]
            query = f"""SELECT v.id, e.id, e.latex, e.trees FROM visuals v JOIN expressions e ON e.id = v.expression_id
                WHERE v.id IN ({", ".join("?" * len(chunk))}) ORDER BY v.id"""
            yield from map(VisualTrees._make, self.parts.newest_rows(query, chunk))

    def visual_keys(self) -> Iterator[VisualKey]:
        """Yield the visual id and the visual key of every formula, which `visual.recluster` needs."""
        query = (
            "SELECT f.id, f.visual_id, e.key FROM formulas f JOIN expressions e ON e.id = f.expression_id ORDER BY f.id"
        )
        return map(VisualKey._make, self._rows(query))

    def visuals(self) -> Iterator[Visual]:
        """Yield the groups of formulas that look the same."""
        rows = self.parts.newest_rows("SELECT * FROM visuals ORDER BY id")
        return (visual for visual in map(Visual._make, rows) if visual.formulas)

    def most_common(self, number: int) -> Iterator[CommonVisual]:
        """Yield the groups with most formulas."""
        for visual in self.parts.most_common_visuals(number):
            yield CommonVisual(self.expression(visual.expression_id).latex, visual.formulas, visual.id)

    def formula_posts(self) -> Iterator[int]:
        """Yield the post of each formula, in the order of posts."""
        return (row[0] for row in self._rows("SELECT post_id FROM formulas WHERE post_id > 0 ORDER BY post_id"))

    def visual(self, number: int) -> Visual:
        """Return the group with a visual id."""
        row = self._one("SELECT * FROM visuals WHERE id = ?", number)
        if row is None or not Visual(*row).formulas:
            raise self._missing("visual id", number)
        return Visual(*row)

    def users(self) -> Iterator[User]:
        """Yield the authors of posts and comments."""
        return (User(*row) for row in self.parts.newest_rows("SELECT * FROM users ORDER BY id"))

    def user(self, number: int | None) -> User | None:
        """Return a user, or None if the source does not list them."""
        row = self._one("SELECT * FROM users WHERE id = ?", number)
        return None if row is None else User(*row)

    def image(self, name: str) -> bytes | None:
        """Return the content of a picture of the collection's own, by its name; None if there is none of this name."""
        row = self._one("SELECT data FROM images WHERE name = ?", name) if self._has_images else None
        return bytes(row[0]) if row else None

    @cached_property
    def _has_images(self) -> bool:
        """Whether there is a table of pictures; collections of older versions have none."""
        return self._one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'images'") is not None

    def tags(self) -> Iterator[TagCount]:
        """Yield each tag with its number of questions, the most common first."""
        counts: Counter[str] = Counter()
        for name, posts in self._rows("SELECT name, posts FROM tags ORDER BY name"):
            counts[name] += posts
        found = (TagCount(name, posts) for name, posts in counts.items() if posts > 0)
        return iter(sorted(found, key=lambda tag: (-tag.posts, tag.name)))

    def all_votes(self) -> Iterator[VoteCount]:
        """Yield the votes of each post by type."""
        return map(
            VoteCount._make, self._rows("SELECT post_id, type, number, bounty FROM votes ORDER BY post_id, type")
        )
