"""The site as it should be: generated posts, random changes of them, and the dump of the last state."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from bench.generate_dump import Generator, generate, write_row

TAG = re.compile(r"[^<>]+")
FIRST_PROBE = 10**9


@dataclass(frozen=True, slots=True)
class LivingPost:
    """A post of the site."""

    id: int
    parent_id: int | None
    title: str
    body: str
    tags: tuple[str, ...]
    score: int
    created: str
    owner_id: int
    accepted_id: int | None = None

    def record(self) -> dict[str, object]:
        """Return the post as the API takes it."""
        names = ("id", "parent_id", "title", "body", "score", "created", "owner_id", "accepted_id")
        values = {name: getattr(self, name) for name in names}
        return {**values, "tags": list(self.tags)}

    def row(self) -> str:
        """Return the post as a row of a dump."""
        cells: dict[str, object] = {
            "Id": self.id,
            "PostTypeId": 1 if self.parent_id is None else 2,
            "CreationDate": self.created,
            "Score": self.score,
            "Body": self.body,
            "OwnerUserId": self.owner_id,
        }
        if self.parent_id is not None:
            return write_row(**cells, ParentId=self.parent_id)
        accepted = {} if self.accepted_id is None else {"AcceptedAnswerId": self.accepted_id}
        return write_row(**cells, Title=self.title, Tags="".join(f"<{tag}>" for tag in self.tags), **accepted)


class Change(NamedTuple):
    """A change: the post that is put, or the id that is deleted; and the word that only this post has, if a search is
    to look for it."""

    put: LivingPost | None
    delete: int = 0
    probe: str = ""


def _post(row: dict[str, str]) -> LivingPost:
    accepted, parent = row.get("AcceptedAnswerId"), row.get("ParentId")
    return LivingPost(
        int(row["Id"]),
        None if parent is None else int(parent),
        row.get("Title", ""),
        row["Body"],
        tuple(TAG.findall(row.get("Tags", ""))),
        int(row["Score"]),
        row["CreationDate"],
        int(row["OwnerUserId"]),
        None if accepted is None else int(accepted),
    )


class LivingSite:
    """All posts of the site, and a generator of changes. The same seed gives the same changes."""

    def __init__(self, dump: Path, posts: int, seed: int) -> None:
        generate(dump, posts)
        self.dump = dump
        self.posts: dict[int, LivingPost] = {}
        for _, element in ElementTree.iterparse(dump / "Posts.xml"):
            if element.tag == "row":
                post = _post(dict(element.attrib))
                self.posts[post.id] = post
                element.clear()
        self._answers: dict[int, set[int]] = {}
        for post in self.posts.values():
            if post.parent_id is not None:
                self._answers.setdefault(post.parent_id, set()).add(post.id)
        self._random = random.Random(seed)
        self._text = Generator(posts, seed)
        self._ids = sorted(self.posts)  # with some that are gone
        self._next = posts
        self._probes = 0

    def _any(self) -> LivingPost:
        while True:
            number = self._random.choice(self._ids)
            if number in self.posts:
                return self.posts[number]

    def _question(self) -> LivingPost:
        post = self._any()
        return post if post.parent_id is None else self.posts[post.parent_id]

    def _words(self) -> tuple[str, tuple[str, ...]]:
        self._text.variation.start()
        title, tags = self._random.choice(self._text.from_sample.titles)
        return self._text.variation.text(title), tuple(TAG.findall(tags))

    def change(self, *, probe: bool = False) -> Change:
        """Make a random change here, and return it."""
        kind = "question" if probe else self._random.choice(("question", "answer", "edit", "edit", "title", "delete"))
        if kind == "delete":
            return self._delete(self._any().id)
        if kind in ("question", "answer"):
            return self._add(kind, probe)
        post = self._any() if kind == "edit" else self._question()
        if kind == "title":
            title, tags = self._words()
            return self._put(replace(post, title=title, tags=tags))
        return self._put(replace(post, body=self._text.body(), score=self._random.randrange(30)))

    def _add(self, kind: str, probe: bool) -> Change:
        self._next += 1
        word = ""
        title, tags = self._words()
        parent = None if kind == "question" else self._question().id
        body = self._text.body()
        if probe:
            self._probes += 1
            word = f"zq{self._probes:06d}xv"
            body = f"<p>{word}</p>{body}"
        made = LivingPost(
            self._next,
            parent,
            "" if parent else title,
            body,
            () if parent else tags,
            self._random.randrange(30),
            "2021-05-01T10:00:00.000",
            1 + self._next % 1000,
        )
        self._ids.append(made.id)
        if parent is not None:
            self._answers.setdefault(parent, set()).add(made.id)
        return self._put(made, word)

    def _put(self, post: LivingPost, probe: str = "") -> Change:
        self.posts[post.id] = post
        return Change(post, probe=probe)

    def _delete(self, number: int) -> Change:
        post = self.posts.pop(number)
        if post.parent_id is not None:
            self._answers[post.parent_id].discard(number)
        for answer in self._answers.pop(number, ()):
            del self.posts[answer]
        return Change(None, number)

    def write_dump(self, folder: Path) -> None:
        """Write the present state as a dump. Comments on posts that are gone go with them; the build leaves them
        out."""
        folder.mkdir(parents=True)
        for name in ("Comments.xml", "Users.xml"):
            (folder / name).write_bytes((self.dump / name).read_bytes())
        with open(folder / "Posts.xml", "w", encoding="utf-8") as out:
            out.write('<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
            out.writelines(self.posts[number].row() for number in sorted(self.posts))
            out.write("</posts>\n")

    def queries(self, number: int) -> list[str]:
        """Return queries from titles of the present state, with their formulas."""
        chance = random.Random(5)
        titles = sorted(post.title for post in self.posts.values() if post.title)
        return [chance.choice(titles) for _ in range(number)]
