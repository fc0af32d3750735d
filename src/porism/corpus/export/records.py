"""Exports of rows: stand-off annotations, JSON lines, Parquet, TREC text, and a collection with topics and judgments as
a benchmark for BEIR and for Hugging Face."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from porism.corpus.content import Content, batched
from porism.corpus.post import Comment, Formula, Post
from porism.errors import PorismError
from porism.records import Judgment, Topic
from porism.text.read import read_official
from porism.text.segment import Text, prose

BATCH = 1000  # posts or documents that are read together
GROUP = 20_000  # rows of Parquet that are written together
NUMBERS = frozenset((
    "id", "post_id", "thread_id", "comment_id", "visual_id", "old_visual_id", "owner_id", "parent_id", "accepted_id",
    "score", "views",
))  # fmt: skip


def record(item: Post | Comment) -> dict[str, Any]:
    """Return a post or a comment as JSON values."""
    values = {field.name: getattr(item, field.name) for field in fields(item)}
    return {name: value.html() if isinstance(value, Text) else value for name, value in values.items()}


def write_json_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write objects, one a line."""
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def export_json_lines(content: Content, folder: Path) -> None:
    """Write posts with their comments and links, and formulas."""
    write_json_lines(folder / "posts.jsonl", _posts(content))
    write_json_lines(folder / "formulas.jsonl", map(asdict, content.formulas()))


def _posts(content: Content) -> Iterator[dict[str, Any]]:
    for posts in batched(content.posts(), BATCH):
        ids = [post.id for post in posts]
        comments, links = content.comments_by_post(ids), content.links_by_post(ids)
        for post in posts:
            row = record(post)
            row["comments"] = [record(comment) for comment in comments.get(post.id, ())]
            row["links"] = [{"other_id": link.other_id, "kind": link.kind} for link in links.get(post.id, ())]
            yield row


def write_parquet(path: Path, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows in groups; a column is of the type "int", "text" or "texts"."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise PorismError("Parquet needs pyarrow", fix="pip install 'porism[parquet]'") from None
    types = {"int": arrow.int64(), "text": arrow.string(), "texts": arrow.list_(arrow.string())}
    schema = arrow.schema([(name, types[kind]) for name, kind in columns.items()])
    path.parent.mkdir(exist_ok=True)
    with parquet.ParquetWriter(path, schema) as writer:
        for group in batched(rows, GROUP):
            arrays = [
                arrow.array(list(values), one.type)
                for values, one in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def export_parquet(content: Content, folder: Path) -> None:
    """Write posts, comments and formulas, one file each."""
    posts, comments = map(record, content.posts()), map(record, content.all_comments())
    formulas = map(asdict, content.formulas())
    for name, kind, rows in (("posts", Post, posts), ("comments", Comment, comments), ("formulas", Formula, formulas)):
        names = [field.name for field in fields(kind)]
        columns = {one: "int" if one in NUMBERS else "texts" if one == "tags" else "text" for one in names}
        write_parquet(folder / f"{name}.parquet", columns, (tuple(row.values()) for row in rows))


def export_trec(content: Content, folder: Path) -> None:
    """Write a DOC for each post, with formulas as LaTeX between dollar signs."""
    with open(folder / "posts.trec", "w", encoding="utf-8") as out:
        for post in content.posts():
            out.write(f"<DOC>\n<DOCNO>{post.id}</DOCNO>\n<KIND>{post.kind}</KIND>\n")
            if post.title:
                out.write(f"<TITLE>{_escaped(post.title)}</TITLE>\n")
            if post.tags:
                out.write(f"<TAGS>{html.escape(' '.join(post.tags), quote=False)}</TAGS>\n")
            out.write(f"<TEXT>\n{_escaped(post.body)}\n</TEXT>\n</DOC>\n")


def _escaped(text: Text) -> str:
    return html.escape(text.plain(), quote=False).strip()


COLUMNS = ("formula_id", "post_id", "comment_id", "field", "start", "end")  # of formulas.tsv


def _texts(content: Content) -> Iterator[tuple[int, int | None, str, Text]]:
    """Yield title and body of each post, then its comments: the ids of post and comment, the field, its text."""
    for posts in batched(content.posts(), BATCH):
        comments = content.comments_by_post([post.id for post in posts])
        for post in posts:
            if post.title:
                yield post.id, None, "title", post.title
            yield post.id, None, "body", post.body
            for comment in comments.get(post.id, ()):
                yield post.id, comment.id, "comment", comment.body


class Annotation(NamedTuple):
    """The characters of a text that are a formula."""

    formula_id: int
    start: int
    end: int


class Annotated(NamedTuple):
    """A plain text with formulas as bare LaTeX, and which of its characters they are."""

    text: str
    formulas: list[Annotation]


def annotate(text: Text) -> Annotated:
    """Write a field as plain text with stand-off annotations.

    >>> from porism.text.read import read_official
    >>> annotate(read_official('Let <span class="math-container" id="7">a&lt;b</span>.'))
    Annotated(text='Let a<b.', formulas=[Annotation(formula_id=7, start=4, end=7)])
    """
    pieces: list[str] = []
    found: list[Annotation] = []
    at = 0
    for segment in prose(text):
        if segment.is_formula:
            found.append(Annotation(segment.formula_id, at, at + len(segment.text)))
        pieces.append(segment.text)
        at += len(segment.text)
    return Annotated("".join(pieces), found)


def export_annotations(content: Content, folder: Path) -> None:
    """Write texts.jsonl, which holds each field as plain text, and formulas.tsv, the positions of its formulas."""
    with open(folder / "formulas.tsv", "w", encoding="utf-8") as table:
        table.write("\t".join(COLUMNS) + "\n")

        def rows() -> Iterator[dict[str, object]]:
            for post, comment, field, text in _texts(content):
                annotated = annotate(text)
                yield {"post_id": post, "comment_id": comment, "field": field, "text": annotated.text}
                for one in annotated.formulas:
                    place = f"{post}\t{'' if comment is None else comment}\t{field}"
                    table.write(f"{one.formula_id}\t{place}\t{one.start}\t{one.end}\n")

        write_json_lines(folder / "texts.jsonl", rows())


HIGHEST_GRADE = 3  # larger numbers are codes (system failure, "do not know"), not grades


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Topics and judgments. Task 1 has answers as documents, Task 2 formulas, one for each visual id."""

    task: int = 1
    topics: tuple[Topic, ...] = ()
    judgments: tuple[Judgment, ...] = ()


# The columns of documents, of queries (which have no title) and of judgments.
DOCUMENT = ("_id", "title", "text")
JUDGMENT = ("query-id", "corpus-id", "score")


def _documents(content: Content, task: int) -> Iterator[tuple[str, str, str]]:
    """Yield in Task 1 the answers, titled by their questions; in Task 2 the LaTeX of formulas by their visual ids."""
    if task == 2:
        for visuals in batched(content.visuals(), BATCH):
            expressions = content.expressions_by_id([visual.expression_id for visual in visuals])
            yield from ((str(one.id), "", expressions[one.expression_id].latex) for one in visuals)
        return
    for answers in batched(content.posts("answer"), BATCH):
        titles = content.titles_by_id([answer.thread_id for answer in answers])
        for answer in answers:
            title = titles.get(answer.thread_id)
            yield str(answer.id), title.plain().strip() if title else "", answer.body.plain().strip()


def _queries(benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    """Yield title and question as text with LaTeX between dollar signs, or the LaTeX of a formula."""
    for topic in benchmark.topics:
        text = f"{read_official(topic.title).plain()} {read_official(topic.question).plain()}".strip()
        yield topic.id, topic.latex if benchmark.task == 2 else text


def _judgments(benchmark: Benchmark) -> Iterator[tuple[str, str, int]]:
    """Yield the judgments of these topics that have a grade."""
    topics = {topic.id for topic in benchmark.topics}
    for one in benchmark.judgments:
        if 0 <= one.grade <= HIGHEST_GRADE and (one.topic in topics or not topics):
            yield one.topic, one.item, one.grade


README = """---
configs:
{configs}---

Exported by Porism: {what}. Texts have LaTeX between dollar signs.
"""
CONFIG = """- config_name: {name}
  data_files:
  - split: {split}
    path: {path}
"""


def export_beir(content: Content, folder: Path, benchmark: Benchmark) -> None:
    """Write the corpus and, where there are any, queries and judgments, as BEIR reads them."""
    rows = (dict(zip(DOCUMENT, one, strict=True)) for one in _documents(content, benchmark.task))
    write_json_lines(folder / "corpus.jsonl", (row | {"metadata": {}} for row in rows))
    if benchmark.topics:
        queries = ({"_id": topic, "text": text, "metadata": {}} for topic, text in _queries(benchmark))
        write_json_lines(folder / "queries.jsonl", queries)
    if benchmark.judgments:
        (folder / "qrels").mkdir()
        with open(folder / "qrels" / "test.tsv", "w", encoding="utf-8", newline="\n") as out:
            out.write("\t".join(JUDGMENT) + "\n")
            out.writelines(f"{query}\t{document}\t{grade}\n" for query, document, grade in _judgments(benchmark))


def export_hugging_face(content: Content, folder: Path, benchmark: Benchmark) -> None:
    """Write the layout of Hugging Face datasets that MTEB reads: Parquet files, and a README that names them."""
    written = [("corpus", "corpus", "corpus/corpus.parquet")]
    columns = dict.fromkeys(DOCUMENT, "text")
    write_parquet(folder / "corpus/corpus.parquet", columns, _documents(content, benchmark.task))
    if benchmark.topics:
        written.append(("queries", "queries", "queries/queries.parquet"))
        write_parquet(folder / "queries/queries.parquet", {"_id": "text", "text": "text"}, _queries(benchmark))
    if benchmark.judgments:
        written.append(("default", "test", "data/test.parquet"))
        columns = dict(zip(JUDGMENT, ("text", "text", "int"), strict=True))
        write_parquet(folder / "data/test.parquet", columns, _judgments(benchmark))
    configs = "".join(CONFIG.format(name=name, split=split, path=path) for name, split, path in written)
    what = "formulas by visual id" if benchmark.task == 2 else "answers, titled by their questions"
    (folder / "README.md").write_text(README.format(configs=configs, what=what), "utf-8", newline="\n")
