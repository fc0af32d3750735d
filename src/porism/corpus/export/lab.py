"""The lab's files, version 3: Posts.V1.3.xml and the other XML files, three folders of 101 formula tables, and the map
of visual ids."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from porism.corpus.content import Content, FormulaMathML, batched
from porism.corpus.post import Formula, Post
from porism.corpus.sources.arqmath import TABLES, V3
from porism.parallel import ordered, workers
from porism.text.segment import comment_source

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]")
LINE_ENDS = re.compile(r"\r\n|[\r\n\t]")

Attributes = Mapping[str, str | int | None]


def attribute(text: str) -> str:
    """Return a text as the value of an attribute; characters that XML cannot hold are dropped."""
    text = LINE_ENDS.sub(" ", ILLEGAL.sub("", text))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def lines(root: str, rows: Iterable[Attributes]) -> Iterator[str]:
    """Yield the lines of a file; attributes without a value are left out."""
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield f"<{root}>\n"
    for row in rows:
        cells = " ".join(f'{name}="{attribute(str(value))}"' for name, value in row.items() if value not in (None, ""))
        yield f"   <row {cells}/>\n"
    yield f"</{root}>\n"


def write(path: Path, root: str, rows: Iterable[Attributes]) -> None:
    """Write one file."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.writelines(lines(root, rows))


PARTS = 101
BATCH = 2000
VERSION = "V1.3"
POST_TYPES = {"question": 1, "answer": 2}
LINK_TYPES = {"related": 1, "duplicate": 3}


def export(content: Content, folder: Path) -> None:
    """Write all files."""
    files = {
        "Posts": ("posts", _posts(content)),
        "Comments": ("comments", _comments(content)),
        "PostLinks": ("postlinks", _links(content)),
        "Users": ("users", _users(content)),
        "Badges": ("badges", _badges(content)),
        "Votes": ("votes", _votes(content)),
        "Tags": ("tags", _tags(content)),
    }
    for name, (root, rows) in files.items():
        write(folder / f"{name}.{VERSION}.xml", root, rows)
    _tables(content, folder)
    _visual_ids(content, folder / "visual_ids.tsv")


def _posts(content: Content) -> Iterator[Attributes]:
    for posts in batched(content.posts(), BATCH):
        comments = content.comments_by_post([post.id for post in posts])
        answers = content.answers_by_question([post.id for post in posts if post.kind == "question"])
        for post in posts:
            row: dict[str, str | int | None] = {
                "Id": post.id,
                "PostTypeId": POST_TYPES[post.kind],
                "CreationDate": post.created,
                "ViewCount": post.views,
                "Score": post.score,
                "CommentCount": len(comments.get(post.id, ())),
                "OwnerUserId": post.owner_id,
            }
            answer = {"Body": post.body.html(), "ParentId": post.parent_id}
            yield {**row, **(_question(post, len(answers.get(post.id, ()))) if post.kind == "question" else answer)}


def _question(post: Post, answers: int) -> Attributes:
    return {
        "Title": post.title.html(),
        "Body": post.body.html(),
        "AnswerCount": answers,
        "AcceptedAnswerId": post.accepted_id,
        "ClosedDate": post.closed,
        "Tags": "".join(f"<{tag}>" for tag in post.tags),
    }


def _comments(content: Content) -> Iterator[Attributes]:
    for comment in content.all_comments():
        yield {
            "Id": comment.id,
            "PostId": comment.post_id,
            "Text": comment_source(comment.body),
            "Score": comment.score,
            "CreationDate": comment.created,
            "UserId": comment.owner_id,
        }


def _links(content: Content) -> Iterator[Attributes]:
    for number, link in enumerate(content.all_links(), 1):
        yield {
            "Id": number,
            "PostId": link.post_id,
            "RelatedPostId": link.other_id,
            "LinkTypeId": LINK_TYPES[link.kind],
        }


def _users(content: Content) -> Iterator[Attributes]:
    for user in content.users():
        yield {"Id": user.id, "Reputation": user.reputation, "DisplayName": user.name}


def _badges(content: Content) -> Iterator[Attributes]:
    number = 0
    for user in content.users():
        for grade, count in enumerate((user.gold, user.silver, user.bronze), 1):
            for _ in range(count):
                number += 1
                yield {"Id": number, "UserId": user.id, "Class": grade}


def _votes(content: Content) -> Iterator[Attributes]:
    number = 0
    for votes in content.all_votes():
        for at in range(votes.number):
            number += 1
            yield {
                "Id": number,
                "PostId": votes.post_id,
                "VoteTypeId": votes.type,
                "BountyAmount": votes.bounty if votes.bounty and not at else None,
            }


def _tags(content: Content) -> Iterator[Attributes]:
    for number, tag in enumerate(content.tags(), 1):
        yield {"Id": number, "TagName": tag.name, "Count": tag.posts}


def part_size(rows: int) -> int:
    """Return the rows of a table: a hundred equal tables, the rest in the last one."""
    return max(1, rows // (PARTS - 1))


def _tables(content: Content, folder: Path) -> None:
    folders = {field: folder / f"{name}_v3" for field, name in TABLES.items()}
    for path in folders.values():
        path.mkdir()
    rows = _rows(content)
    size = part_size(content.count("formulas"))
    for part in range(1, PARTS + 1):
        with ExitStack() as stack:
            writers = {field: _writer(stack, path / f"{part}.tsv") for field, path in folders.items()}
            for writer in writers.values():
                writer.writerow(V3)
            for at, row in enumerate(rows, 1):
                for field, writer in writers.items():
                    writer.writerow((*row.shared, row.cells[field]))
                if at == size and part < PARTS:
                    break


def _writer(stack: ExitStack, path: Path) -> Any:
    stream = stack.enter_context(path.open("w", encoding="utf-8", newline=""))
    return csv.writer(stream, delimiter="\t", lineterminator="\n")


class MathML(NamedTuple):
    """Presentation and Content MathML of a formula."""

    presentation: str
    content: str


class TableRow(NamedTuple):
    """A row of the three tables: the cells that they share, and the cell of each."""

    shared: tuple[object, ...]
    cells: dict[str, str]


def _rows(content: Content) -> Iterator[TableRow]:
    with workers(0) as pool:
        for batch, converted in ordered(pool, mathml_of_all, _batches(content)):
            for given, mathml in zip(batch, converted, strict=True):
                yield _row(given.formula, mathml)


def _row(formula: Formula, mathml: MathML) -> TableRow:
    place = (formula.id, formula.post_id, formula.thread_id, formula.kind, formula.comment_id)
    cells = {"latex": formula.latex, "mathml": mathml.presentation, "content": mathml.content}
    return TableRow((*place, formula.old_visual_id, formula.visual_id, formula.issue), cells)


def _batches(content: Content) -> Iterator[tuple[list[FormulaMathML], list[FormulaMathML]]]:
    """Return batches of formulas, as label and task of a worker."""
    return ((batch, batch) for batch in batched(content.formulas_with_mathml(), BATCH))


def mathml_of_all(formulas: list[FormulaMathML]) -> list[MathML]:
    """Return the MathML of formulas: that of their source, or ours. The work of one worker."""
    return [mathml_of(one) for one in formulas]


def mathml_of(given: FormulaMathML) -> MathML:
    """Return the MathML of a formula."""
    if given.mathml and given.content:
        return MathML(given.mathml, given.content)
    ours = convert(given.formula.latex)
    return MathML(given.mathml or ours.presentation, given.content or ours.content)


@lru_cache(maxsize=50_000)
def convert(latex: str) -> MathML:
    """Convert LaTeX to MathML; empty where it is not understood, as in the lab's files."""
    from porism.formula import parse
    from porism.formula.mathml.content_writer import to_content

    parsed = parse(latex)
    return MathML("", "") if parsed.path == "opaque" else MathML(parsed.mathml, to_content(parsed.operators))


def _visual_ids(content: Content, path: Path) -> None:
    """Write formula id, visual id and old visual id, in the order of the lab's code."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.write("id\tvisual_id\told_visual_id\n")
        for formula in content.formulas():
            out.write(
                f"{formula.id}\t{formula.visual_id}\t{'' if formula.old_visual_id is None else formula.old_visual_id}\n"
            )
