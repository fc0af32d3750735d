"""Generate a large, realistic dump by varying the sample: python -m bench.generate_dump FOLDER POSTS.

Threads take their shape from the sample's threads. Bodies are paragraphs of the sample in new order, so that a post has
about eleven formulas as on Mathematics Stack Exchange; variables are renamed and numbers changed, so that about a third
of the formulas are new strings. The same arguments give the same bytes.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

SAMPLE = Path(__file__).resolve().parents[1] / "sample" / "dump"
PARAGRAPH = re.compile(r"<(p|ul|ol|blockquote|pre)>.*?</\1>", re.DOTALL)
FORMULA = re.compile(r"(\${1,2}[^$]+\${1,2})")
TOKEN = re.compile(r"(&\w+;|\\[A-Za-z]+\*?|\\.|(?:begin|end|text|mathrm|operatorname)\{[^{}]*\}|[A-Za-z]|\d+)")
# Letters that may replace each other; d, e and i have fixed meanings too often.
LETTERS = ("abcfghjklmnpqrstuvwxyz", "ABCDEFGHIJKLMNPQRSTUVWXYZ")
FORMULAS_PER_POST = 11
COMMENTS_PER_POST = 1.5
ANSWERS = (0, 1, 1, 1, 2, 2, 3)


@dataclass(frozen=True, slots=True)
class Material:
    """Paragraphs, titles with tags, and comments of the sample."""

    paragraphs: list[str]
    titles: list[tuple[str, str]]
    comments: list[str]


def read_material(sample: Path = SAMPLE) -> Material:
    """Read the sample."""
    posts = [row.attrib for row in ElementTree.parse(sample / "Posts.xml").getroot()]
    bodies = [post.get("Body", "") for post in posts]
    paragraphs = [match[0] for body in bodies for match in PARAGRAPH.finditer(body)]
    titles = [(post["Title"], post["Tags"]) for post in posts if "Title" in post]
    comments = [row.attrib["Text"] for row in ElementTree.parse(sample / "Comments.xml").getroot()]
    return Material(paragraphs, titles, comments)


class FormulaVariation:
    """Rename variables and change numbers of formulas, consistently within a post."""

    def __init__(self, choice: random.Random) -> None:
        self.choice = choice
        self.start()

    def start(self) -> None:
        """Choose new names, for a new post."""
        self.names: dict[str, str] = {}
        for letters in LETTERS:
            if self.choice.random() < 0.6:
                self.names.update(zip(letters, self.choice.sample(letters, len(letters)), strict=True))
        self.number = self.choice.random() < 0.4

    def text(self, text: str) -> str:
        """Return a text with varied formulas."""
        parts = FORMULA.split(text)
        parts[1::2] = [self.formula(part) for part in parts[1::2]]
        return "".join(parts)

    def formula(self, latex: str) -> str:
        """Return a varied formula."""
        parts = TOKEN.split(latex)
        for at in range(1, len(parts), 2):
            part = parts[at]
            if part in self.names:
                parts[at] = self.names[part]
            elif self.number and part.isdigit() and len(part) < 3 and self.choice.random() < 0.4:
                parts[at] = str(self.choice.randrange(2, 100))
        return "".join(parts)


def write_row(**cells: object) -> str:
    """Return a row of a dump."""
    return "  <row " + " ".join(f"{name}={quoteattr(str(value))}" for name, value in cells.items()) + " />\n"


class Generator:
    """Generate the rows of Posts.xml and Comments.xml."""

    def __init__(self, posts: int, seed: int) -> None:
        self.posts = posts
        self.choice = random.Random(seed)
        self.from_sample = read_material()
        self.variation = FormulaVariation(self.choice)
        count = sum(p.count("$") for p in self.from_sample.paragraphs) / 2
        self.paragraphs = FORMULAS_PER_POST / (count / len(self.from_sample.paragraphs))

    def body(self) -> str:
        """Return a body of random paragraphs."""
        number = max(1, round(self.choice.expovariate(1 / self.paragraphs)))
        return "\n\n".join(self.variation.text(self.choice.choice(self.from_sample.paragraphs)) for _ in range(number))

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield the name of a file and a row of it, in the order of ids."""
        number = comment = 0
        while number < self.posts:
            number += 1
            question = number
            answers = min(self.choice.choice(ANSWERS), self.posts - number)
            year = 2010 + 9 * question // (self.posts + 1)
            self.variation.start()
            title, tags = self.choice.choice(self.from_sample.titles)
            cells = {"Title": self.variation.text(title), "Tags": tags, "AnswerCount": answers}
            yield "Posts", self.post(number, 1, year, **cells, **({"AcceptedAnswerId": number + 1} if answers else {}))
            for post in range(question, question + answers + 1):
                if post > question:
                    number += 1
                    yield "Posts", self.post(post, 2, year, ParentId=question)
                for _ in range(min(20, int(self.choice.expovariate(1 / COMMENTS_PER_POST)))):
                    comment += 1
                    text = self.variation.text(self.choice.choice(self.from_sample.comments))
                    yield (
                        "Comments",
                        write_row(
                            Id=comment,
                            PostId=post,
                            Score=0,
                            Text=text,
                            CreationDate=f"{year}-05-01T10:00:00.000",
                            UserId=7,
                        ),
                    )

    def post(self, number: int, kind: int, year: int, **more: object) -> str:
        """Return one row of Posts.xml."""
        date = f"{year}-0{1 + number % 9}-1{number % 10}T12:00:00.000"
        return write_row(
            Id=number,
            PostTypeId=kind,
            CreationDate=date,
            Score=number % 17,
            Body=self.body(),
            OwnerUserId=1 + number % 1000,
            **more,
        )


def generate(folder: Path, posts: int, seed: int = 1) -> None:
    """Write a dump of so many posts."""
    folder.mkdir(parents=True, exist_ok=True)
    roots = {"Posts": "posts", "Comments": "comments"}
    streams = {name: open(folder / f"{name}.xml", "w", encoding="utf-8") for name in roots}  # noqa: SIM115
    try:
        for name, stream in streams.items():
            stream.write(f'<?xml version="1.0" encoding="utf-8"?>\n<{roots[name]}>\n')
        for name, row in Generator(posts, seed).rows():
            streams[name].write(row)
        for name, stream in streams.items():
            stream.write(f"</{roots[name]}>\n")
    finally:
        for stream in streams.values():
            stream.close()
    users = (write_row(Id=number, Reputation=number * 7, DisplayName=f"user {number}") for number in range(1, 1001))
    (folder / "Users.xml").write_text("<users>\n" + "".join(users) + "</users>\n", "utf-8")


if __name__ == "__main__":
    generate(Path(sys.argv[1]), int(sys.argv[2]))
