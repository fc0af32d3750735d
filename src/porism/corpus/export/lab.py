"""The lab's files, version 3: Posts.V1.3.xml and the other XML files, three folders of 101 formula tables, and the map
of visual ids."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from porism.corpus.content import Content, FormulaMathML, batched
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


def write(path: Path, root: str, rows: Iterable[Attributes]) -> None:
    """Write one file; attributes without a value are left out."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.write(f'<?xml version="1.0" encoding="utf-8"?>\n<{root}>\n')
        for row in rows:
            given = {name: attribute(str(value)) for name, value in row.items() if value not in (None, "")}
            cells = " ".join(f'{name}="{value}"' for name, value in given.items())
            out.write(f"   <row {cells}/>\n")
        out.write(f"</{root}>\n")


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
            if post.kind == "answer":
                yield row | {"Body": post.body.html(), "ParentId": post.parent_id}
                continue
            yield row | {
                "Title": post.title.html(),
                "Body": post.body.html(),
                "AnswerCount": len(answers.get(post.id, ())),
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
        ends = {"PostId": link.post_id, "RelatedPostId": link.other_id}
        yield {"Id": number, **ends, "LinkTypeId": LINK_TYPES[link.kind]}


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
    votes = ((one, at == 0) for one in content.all_votes() for at in range(one.number))
    for number, (vote, is_first) in enumerate(votes, 1):
        bounty = vote.bounty if is_first else None
        yield {"Id": number, "PostId": vote.post_id, "VoteTypeId": vote.type, "BountyAmount": bounty or None}


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
            writers = {}
            for field, path in folders.items():
                stream = stack.enter_context((path / f"{part}.tsv").open("w", encoding="utf-8", newline=""))
                writers[field] = csv.writer(stream, delimiter="\t", lineterminator="\n")
                writers[field].writerow(V3)
            for at, (shared, cells) in enumerate(rows, 1):
                for field, writer in writers.items():
                    writer.writerow((*shared, cells[field]))
                if at == size and part < PARTS:
                    break


class MathML(NamedTuple):
    """Presentation and Content MathML of a formula."""

    presentation: str
    content: str


def _rows(content: Content) -> Iterator[tuple[tuple[object, ...], dict[str, str]]]:
    """Yield the rows of the three tables: the cells that they share, and the cell of each."""
    batches = ((batch, batch) for batch in batched(content.formulas_with_mathml(), BATCH))  # label and task of a worker
    with workers(0) as pool:
        for batch, converted in ordered(pool, mathml_of_all, batches):
            for given, mathml in zip(batch, converted, strict=True):
                one = given.formula
                place = (one.id, one.post_id, one.thread_id, one.kind, one.comment_id)
                cells = {"latex": one.latex, "mathml": mathml.presentation, "content": mathml.content}
                yield (*place, one.old_visual_id, one.visual_id, one.issue), cells


def mathml_of_all(formulas: list[FormulaMathML]) -> list[MathML]:
    """Return the MathML of formulas: that of their source, or ours. The work of one worker."""
    return [_mathml_of(one) for one in formulas]


def _mathml_of(given: FormulaMathML) -> MathML:
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
            old = "" if formula.old_visual_id is None else formula.old_visual_id
            out.write(f"{formula.id}\t{formula.visual_id}\t{old}\n")
