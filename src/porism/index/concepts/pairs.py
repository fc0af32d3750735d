"""Which names and which formulas stand in which posts: pairs of a key and a post, noted on disk in the order of posts."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.corpus.post import Thread
from porism.hashing import hash64
from porism.index.concepts.concept import names_of
from porism.index.formulas.codes import FormulaCodes
from porism.index.posts.pieces import Piece, Pieces, piece, tag_text
from porism.index.storage.columns import ColumnWriter, read_columns
from porism.text.segment import Segment

TYPES = {"key": "<u8", "post": "<u4"}
MASK = (1 << 64) - 1

Keys = npt.NDArray[np.uint64]
Posts = npt.NDArray[np.uint32]


class Pairs(NamedTuple):
    """Keys with the posts they stand in, in the order of posts, and for each key of them what is shown, as it stands first."""

    keys: Keys
    posts: Posts
    shown: list[tuple[int, str]]


class ConceptBlock(NamedTuple):
    """Some posts, counted from the first: the names in them and the forms of the formulas in them."""

    posts: int
    names: Pairs
    forms: Pairs


class ConceptReader:
    """Reads the posts of threads. An answer speaks of what the title and the tags of its question name."""

    def __init__(self) -> None:
        self._posts = 0
        self._names: list[tuple[int, int]] = []
        self._shown: dict[int, str] = {}
        self._latex: dict[int, str] = {}  # of each expression
        self._formulas: list[tuple[int, int]] = []  # expression, post

    def add(self, thread: Thread, pieces: Pieces) -> None:
        """Read the posts of a thread."""
        given = dict(names_of(pieces.title.text, pieces.title.stems))
        for tag in thread.question.tags:
            if "-" in tag:
                one = piece(tag_text((tag,)), [])
                given[" ".join(one.stems)] = one.text
        self._post(given, pieces.body, [*pieces.title.formulas, *pieces.body.formulas])
        for answer in pieces.answers:
            self._post(given, answer, answer.formulas)

    def _post(self, given: dict[str, str], body: Piece, formulas: list[Segment]) -> None:
        for name, shown in (given | dict(names_of(body.text, body.stems))).items():
            key = hash64(name) & MASK
            self._names.append((key, self._posts))
            self._shown.setdefault(key, f"{name}\t{shown}")
        for expression, latex in {one.expression_id: one.text for one in formulas}.items():
            self._latex.setdefault(expression, latex)
            self._formulas.append((expression, self._posts))
        self._posts += 1

    def block(self, known: FormulaCodes) -> ConceptBlock:
        """What was read."""
        keys = np.array([key for key, _ in self._names], np.uint64)
        posts = np.array([post for _, post in self._names], np.uint32)
        return ConceptBlock(self._posts, Pairs(keys, posts, list(self._shown.items())), self._forms(known))

    def _forms(self, known: FormulaCodes) -> Pairs:
        number, post = np.array(self._formulas, np.int64).reshape(-1, 2).T
        keys, posts = known.forms(number), post.astype(np.uint32)
        large = keys > 0
        number, keys, posts = number[large], keys[large], posts[large]
        # A form once in each post, at its first place.
        order = np.lexsort((keys, posts))
        same = (keys[order][1:] == keys[order][:-1]) & (posts[order][1:] == posts[order][:-1])
        first = np.sort(order[np.concatenate(([True], ~same))]) if len(order) else order
        number, keys, posts = number[first], keys[first], posts[first]
        shown: dict[int, str] = {}
        for key, at in zip(keys.tolist(), number.tolist(), strict=True):
            if key not in shown:
                shown[key] = " ".join(self._latex[at].split())
        return Pairs(keys, posts, list(shown.items()))


class PairsWriter:
    """Appends pairs to a folder; use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        self._stack = ExitStack()
        self._columns = self._stack.enter_context(ColumnWriter(directory, TYPES))
        self._shown: IO[str] = self._stack.enter_context(
            (directory / "shown.tsv").open("w", encoding="utf-8", errors="surrogatepass", newline="")
        )

    def add(self, pairs: Pairs, before: int) -> None:
        """Add pairs whose posts count from the number `before`."""
        self._columns.append("key", pairs.keys)
        self._columns.append("post", pairs.posts + np.uint32(before))
        self._shown.writelines(f"{key}\t{shown}\n" for key, shown in pairs.shown)

    def __enter__(self) -> PairsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


class PairsReader:
    """Reads pairs: columns mapped into memory, and what is shown for some keys."""

    def __init__(self, directory: Path) -> None:
        columns = read_columns(directory, TYPES)
        self.keys: Keys = columns["key"]
        self.posts: Posts = columns["post"]
        self._directory = directory

    def shown(self, wanted: set[int]) -> dict[int, str]:
        """For each of these keys what was shown first."""
        found: dict[int, str] = {}
        with (self._directory / "shown.tsv").open(encoding="utf-8", errors="surrogatepass", newline="\n") as lines:
            for line in lines:
                key, _, shown = line.rstrip("\n").partition("\t")
                if int(key) in wanted:
                    found.setdefault(int(key), shown)
        return found


class ConceptWriter:
    """Notes the names and forms of all posts; use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        self.posts = 0
        self._stack = ExitStack()
        self._names = self._stack.enter_context(PairsWriter(directory / "names"))
        self._forms = self._stack.enter_context(PairsWriter(directory / "forms"))

    def add(self, block: ConceptBlock) -> None:
        """Add the next posts."""
        self._names.add(block.names, self.posts)
        self._forms.add(block.forms, self.posts)
        self.posts += block.posts

    def __enter__(self) -> ConceptWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
