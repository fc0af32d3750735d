"""A source: a file `NAME.quiz` with one question on each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from porism.corpus.sources.detect import SourceKind
from porism.corpus.sources.raw import Part, RawPost, Record


class Quiz:
    """The questions of a file; the number of a line is the id."""

    kind = "quiz"
    official = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def parts(self) -> Sequence[Part]:
        """Return the one file."""
        return [Part.of(self.path, self._read)]

    def _read(self) -> Iterator[Record]:
        for number, line in enumerate(self.path.read_text("utf-8").splitlines(), 1):
            yield RawPost(number, "question", None, line, f"<p>{escape(line)}</p>", "html")


QUIZ = SourceKind("a file of questions", lambda path: path.suffix == ".quiz", Quiz)
