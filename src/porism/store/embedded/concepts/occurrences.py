"""Occurrences of names and of formulas in posts, from which concepts are learned: pairs of a key and a post, in the order of posts.

The key of a name is the hash of its stems; the key of a formula is the hash of its canonical form.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.concepts import names_of
from porism.analysis.pieces import Piece, Pieces, make_piece, tag_text
from porism.corpus.post import Thread
from porism.hashing import hash64
from porism.store.embedded.formulas.codes import FormulaCodes
from porism.store.embedded.storage.columns import ColumnWriter, OpenFiles, read_columns
from porism.text.segment import Segment

TYPES = {"key": "<u8", "post": "<u4"}
TEXTS = "texts.tsv"
MASK = (1 << 64) - 1

Keys = npt.NDArray[np.uint64]
Posts = npt.NDArray[np.uint32]


class KeyText(NamedTuple):
    """A key and its text where it occurs first."""

    key: int
    text: str


class KeyOccurrences(NamedTuple):
    """Keys and the posts they occur in, in the order of posts, and the text of each distinct key."""

    keys: Keys
    posts: Posts
    texts: list[KeyText]


class ConceptBlock(NamedTuple):
    """The names and the forms of formulas in a block of posts, which are numbered from 0."""

    posts: int
    names: KeyOccurrences
    forms: KeyOccurrences


class ConceptCollector:
    """Collect names and formulas of the posts of threads. The names in a question's title and tags count for its answers too."""

    def __init__(self) -> None:
        self._posts = 0
        self._names: list[tuple[int, int]] = []  # key, post
        self._keys: dict[str, int] = {}  # of each name
        self._texts: dict[int, str] = {}  # of each key of a name: stems, tab, words
        self._latex: dict[int, str] = {}  # of each expression
        self._formulas: list[tuple[int, int]] = []  # expression, post

    def add(self, thread: Thread, pieces: Pieces) -> None:
        """Collect from the posts of a thread."""
        shared = dict(names_of(pieces.title.words, pieces.title.stems))
        for tag in thread.question.tags:
            if "-" in tag:
                words = make_piece(tag_text((tag,)), [])
                shared[" ".join(words.stems)] = words.text
        self._add_post(shared, pieces.body, [*pieces.title.formulas, *pieces.body.formulas])
        for answer in pieces.answers:
            self._add_post(shared, answer, answer.formulas)

    def _add_post(self, shared: dict[str, str], body: Piece, formulas: list[Segment]) -> None:
        for name, text in (shared | dict(names_of(body.words, body.stems))).items():
            key = self._keys.get(name)
            if key is None:
                key = self._keys[name] = hash64(name) & MASK
                self._texts.setdefault(key, f"{name}\t{text}")
            self._names.append((key, self._posts))
        for expression, latex in {formula.expression_id: formula.text for formula in formulas}.items():
            self._latex.setdefault(expression, latex)
            self._formulas.append((expression, self._posts))
        self._posts += 1

    def block(self, codes: FormulaCodes) -> ConceptBlock:
        """Return what was collected."""
        keys = np.array([key for key, _ in self._names], np.uint64)
        posts = np.array([post for _, post in self._names], np.uint32)
        texts = [KeyText(key, text) for key, text in self._texts.items()]
        return ConceptBlock(self._posts, KeyOccurrences(keys, posts, texts), self._form_occurrences(codes))

    def _form_occurrences(self, codes: FormulaCodes) -> KeyOccurrences:
        expressions, post = np.array(self._formulas, np.int64).reshape(-1, 2).T
        keys, posts = codes.forms(expressions), post.astype(np.uint32)
        large = keys > 0  # small formulas occur everywhere
        expressions, keys, posts = expressions[large], keys[large], posts[large]
        # Keep the first occurrence of a form in each post.
        order = np.lexsort((keys, posts))
        same = (keys[order][1:] == keys[order][:-1]) & (posts[order][1:] == posts[order][:-1])
        first = np.sort(order[np.concatenate(([True], ~same))]) if len(order) else order
        expressions, keys, posts = expressions[first], keys[first], posts[first]
        latex: dict[int, str] = {}
        for key, expression in zip(keys.tolist(), expressions.tolist(), strict=True):
            if key not in latex:
                latex[key] = " ".join(self._latex[expression].split())
        return KeyOccurrences(keys, posts, [KeyText(key, text) for key, text in latex.items()])


class KeyOccurrencesWriter(OpenFiles):
    """Append occurrences to a directory. Use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._columns = self._stack.enter_context(ColumnWriter(directory, TYPES))
        self._texts: IO[str] = self._stack.enter_context(
            (directory / TEXTS).open("w", encoding="utf-8", errors="surrogatepass", newline="")
        )

    def add(self, block: KeyOccurrences, first_post: int) -> None:
        """Append a block whose posts are numbered from `first_post`."""
        self._columns.append("key", block.keys)
        self._columns.append("post", block.posts + np.uint32(first_post))
        self._texts.writelines(f"{key}\t{text}\n" for key, text in block.texts)


class KeyOccurrencesReader:
    """Occurrences that a `KeyOccurrencesWriter` wrote, mapped into memory."""

    def __init__(self, directory: Path) -> None:
        columns = read_columns(directory, TYPES)
        self.keys: Keys = columns["key"]
        self.posts: Posts = columns["post"]
        self._directory = directory

    def texts(self, keys: set[int]) -> dict[int, str]:
        """Return the first text of each of these keys."""
        found: dict[int, str] = {}
        with (self._directory / TEXTS).open(encoding="utf-8", errors="surrogatepass", newline="\n") as lines:
            for line in lines:
                key, _, text = line.rstrip("\n").partition("\t")
                if int(key) in keys:
                    found.setdefault(int(key), text)
        return found


class ConceptWriter(OpenFiles):
    """Write the names and forms of all posts, block by block. Use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.posts = 0
        self._names = self._stack.enter_context(KeyOccurrencesWriter(directory / "names"))
        self._forms = self._stack.enter_context(KeyOccurrencesWriter(directory / "forms"))

    def add(self, block: ConceptBlock) -> None:
        """Append the next posts."""
        self._names.add(block.names, self.posts)
        self._forms.add(block.forms, self.posts)
        self.posts += block.posts
