"""Records of a source as they were read: one per row, with the rows that are dropped.

Dropped rows are in the same stream as the others, so that a build that was stopped and continues counts each of them
once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, NamedTuple, Protocol, TypeVar

from porism.corpus.post import FormulaKind, LinkKind, PostKind

# The form of a text: "html" (formulas not found yet), "spans" (HTML in which only official spans are formulas), "text"
# (a title or comment: no mark-up but dollar signs), "placed" (HTML with formulas in spans with official ids),
# "placed-text" (text with such spans).
Form = Literal["html", "spans", "text", "placed", "placed-text"]
TITLE_FORM: dict[str, Form] = {"html": "text", "spans": "spans", "placed": "placed-text"}

# Where there are official ids, ids of our own start here: far above the lab's, which have eight digits, so that they
# never equal an official id, not even one that this part of the lab's collection lacks.
OWN_IDS = 1_000_000_001


@dataclass(frozen=True, slots=True)
class RawPost:
    """A question or an answer as its source has it."""

    id: int
    kind: PostKind
    parent_id: int | None
    title: str
    body: str
    form: Form
    tags: str = ""
    score: int = 0
    created: str = ""
    owner_id: int | None = None
    accepted_id: int | None = None
    views: int | None = None
    closed: str = ""
    line: int = 0
    # The file that the post comes from, in a folder of documents.
    file: str = ""


@dataclass(frozen=True, slots=True)
class RawComment:
    """A comment as its source has it."""

    id: int
    post_id: int
    body: str
    form: Form
    score: int = 0
    created: str = ""
    owner_id: int | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class RawFormula:
    """A formula that a source lists, with its id (0: the build numbers it)."""

    id: int
    post_id: int
    thread_id: int
    kind: FormulaKind
    latex: str
    visual_id: int | None = None
    comment_id: int | None = None
    old_visual_id: int | None = None
    issue: str = ""
    mathml: str | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True)
class RawMathML:
    """MathML of a formula, from another file of the source."""

    id: int
    field: Literal["mathml", "content"]
    text: str


@dataclass(frozen=True, slots=True)
class RawLink:
    """A link between two questions."""

    post_id: int
    other_id: int
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class RawTitle:
    """The title of a question outside the source that a link names; its formulas are in spans with official ids."""

    id: int
    title: str


@dataclass(frozen=True, slots=True)
class RawUser:
    """A user."""

    id: int
    name: str
    reputation: int


@dataclass(frozen=True, slots=True)
class RawBadge:
    """A badge: 1 gold, 2 silver, 3 bronze."""

    user_id: int
    grade: int


@dataclass(frozen=True, slots=True)
class RawVote:
    """A vote; only bounties have a `bounty`."""

    post_id: int
    type: int
    bounty: int = 0


@dataclass(frozen=True, slots=True)
class RawRevision:
    """An older title or body of a post."""

    post_id: int
    field: Literal["title", "body"]
    text: str


@dataclass(frozen=True, slots=True)
class RawImage:
    """A picture that posts show; its name is the digest of its content and a suffix that tells its type."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Dropped:
    """A row that is not kept, and the reason; `where` is file:line."""

    what: str
    why: str
    where: str


Record = (
    RawPost | RawComment | RawFormula | RawMathML | RawLink | RawTitle | RawUser | RawBadge | RawVote | RawRevision
    | RawImage | Dropped
)  # fmt: skip

# Numbers of at most 15 digits: ids are added to each other, and JavaScript and SQLite must store them exactly.
LARGEST_NUMBER = 10**15


class RowError(Exception):
    """The reason why a row cannot be kept."""


# What reading a record of any content can raise: the record is left out, and the build goes on.
FAULTS = (RowError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


T = TypeVar("T")


def keep(what: str, where: str, make: Callable[[], T]) -> T | Dropped:
    """Return the record that `make` returns, or, if it cannot be read, the row as dropped with the reason."""
    try:
        return make()
    except RowError as error:
        return Dropped(what, str(error), where)
    except FAULTS as error:
        return Dropped(what, f"cannot be read ({type(error).__name__})", where)


def whole_number(text: str, name: str) -> int:
    """Return a number that a source gives as text."""
    try:
        return checked_number(int(text), name)
    except ValueError:
        raise RowError(f"{name} is not a number") from None


def checked_number(value: object, name: str) -> int:
    """Return a number that is stored as it is."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise RowError(f"{name} is not a number")
    if abs(value) > LARGEST_NUMBER:
        raise RowError(f"{name} has more than 15 digits")
    return value


class Meter:
    """Counts the bytes read from a stream."""

    def __init__(self) -> None:
        self.bytes = 0
        self._reported = 0

    def read(self, stream: IO[bytes], size: int) -> bytes:
        """Read a block of a stream, and count its bytes."""
        block = stream.read(size)
        self.bytes += len(block)
        return block

    def step(self) -> int:
        """Return the bytes read since the last call."""
        new, self._reported = self.bytes - self._reported, self.bytes
        return new


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a source: its name in the progress bar, its size and age (if either changes, a stopped build starts
    anew), and its records."""

    name: str
    size: int
    age: int
    read: Callable[[], Iterator[Record]]
    # Counts the bytes read, where the size of the file tells how many there are.
    meter: Meter | None = None

    @classmethod
    def of(cls, path: Path, read: Callable[[], Iterator[Record]], name: str = "", meter: Meter | None = None) -> Part:
        """Return the part that is one file."""
        status = path.stat()
        return cls(name or path.name, status.st_size, status.st_mtime_ns, read, meter)


class Source(Protocol):
    """Anything that can be built into a collection."""

    kind: str
    path: Path
    # Whether it has official ids (of posts and formulas), which are kept as they are.
    official: bool

    def parts(self) -> Sequence[Part]:
        """Return the files to read, in order."""


class SourceKind(NamedTuple):
    """A kind of source: its description, its test of a path, and its reader.

    A module of this package names its kinds in `KINDS`; a plug-in names one, and the name of its entry point is the
    `kind` of the sources that it opens."""

    description: str
    detect: Callable[[Path], bool]
    open: Callable[[Path], Source]
