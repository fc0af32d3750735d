"""Read the hand-written source: one text file per field of mathematics; sample/README.md describes the format."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

COMMENT = re.compile(r"// (-|\d+) \+(\d+) (.+)")


@dataclass
class Comment:
    """A comment on a post; `by` is None for a removed account."""

    by: int | None
    score: int
    text: str


@dataclass
class Revision:
    """An earlier text of a post, and the edit that replaced it."""

    date: str
    by: int
    reason: str
    text: str


@dataclass
class Post:
    """A question or an answer of the source."""

    key: str
    by: int | None
    score: int
    options: dict[str, str]
    field: str
    date: str = ""
    title: str = ""
    tags: list[str] = field(default_factory=list)
    text: str = ""
    comments: list[Comment] = field(default_factory=list)
    revisions: list[Revision] = field(default_factory=list)
    answers: list[Post] = field(default_factory=list)
    parent: Post | None = None

    @property
    def is_question(self) -> bool:
        """Whether this is a question: only questions have no parent."""
        return self.parent is None


def read_threads(folder: Path) -> list[Post]:
    """Read all questions, by file name and in the order of the text."""
    questions: list[Post] = []
    for path in sorted(folder.glob("*.txt")):
        for chunk in re.split(r"^(?==== )", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            questions.append(_thread(chunk, path))
    return questions


def _thread(chunk: str, path: Path) -> Post:
    parts = re.split(r"^(?=--- )", chunk, flags=re.M)
    try:
        question = _question(parts[0], path.stem)
        for number, part in enumerate(parts[1:], 1):
            question.answers.append(_answer(part, question, number))
    except (ValueError, IndexError) as error:
        raise SystemExit(f"{path}: cannot read the thread {chunk.splitlines()[0]!r}: {error}") from error
    return question


def _question(part: str, field_name: str) -> Post:
    head, title, *body = part.split("\n")
    key, date, by, score, tags, *options = (cell.strip() for cell in head[4:].split("|"))
    post = Post(key, _user(by), int(score), _options(options), field_name, date, title.strip(), tags.split())
    _fill(post, body)
    return post


def _answer(part: str, question: Post, number: int) -> Post:
    head, *body = part.split("\n")
    by, score, *options = (cell.strip() for cell in head[4:].split("|"))
    post = Post(f"{question.key}/{number}", _user(by), int(score), _options(options), question.field, parent=question)
    _fill(post, body)
    return post


def _user(cell: str) -> int | None:
    return None if cell == "-" else int(cell)


def _options(cells: list[str]) -> dict[str, str]:
    words = [word.strip() for cell in cells for word in cell.split(";") if word.strip()]
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _fill(post: Post, lines: list[str]) -> None:
    """Fill in body, comments (`// user +score text`) and earlier texts (`@@ date | user | reason`)."""
    texts: list[list[str]] = [[]]
    for line in lines:
        if found := COMMENT.fullmatch(line):
            post.comments.append(Comment(_user(found[1]), int(found[2]), found[3]))
        elif line.startswith("@@ "):
            date, by, reason = (cell.strip() for cell in line[3:].split("|"))
            post.revisions.append(Revision(date, int(by), reason, ""))
            texts.append([])
        else:
            texts[-1].append(line)
    post.text, *older = ("\n".join(text).strip("\n") for text in texts)
    for revision, text in zip(post.revisions, older, strict=True):
        revision.text = text
