"""Topic files: the lab's XML of every year and task, or a table `topic, latex` or `topic, title`."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from porism.corpus.sources.tables import utf8_text
from porism.corpus.topics import formulas as topic_formulas
from porism.corpus.topics.formulas import FIELDS, FormulaRow, TopicPiece, split_formulas, to_html
from porism.errors import PorismError
from porism.files import atomic_file, lines_of, report_unreadable
from porism.formula.characters import xml_text
from porism.records import Topic, TopicFormula
from porism.text.markup import decode_latex

GIVE_TOPICS = "give the lab's XML or a table with the header topic, latex or topic, title"


@report_unreadable(GIVE_TOPICS)
def read_topics(path: str | Path, formulas: str | Path | Sequence[str | Path] | None = None) -> list[Topic]:
    """Read the topics of a file in its order. `formulas` are the year's formula tables: the rows of the LaTeX table win
    over the text, those of the MathML tables (Presentation `slt`, Content `opt`) are added to the formulas."""
    with utf8_text(path) as stream:
        text = stream.read()
    tables = [formulas] if isinstance(formulas, (str, Path)) else list(formulas or ())
    mathml = {table: kind for table in tables if (kind := topic_formulas.mathml_kind(table))}
    rows: dict[str, list[FormulaRow]] = {}
    for table in tables:
        if table not in mathml:
            rows |= topic_formulas.read_formula_rows(table)
    topics = read_xml(text, str(path), rows) if text.lstrip().startswith("<") else read_table(text, str(path))
    if not topics:
        raise PorismError("no topic in this file", where=str(path), fix=GIVE_TOPICS)
    seen: set[str] = set()
    for topic in topics:
        if topic.id in seen:
            raise PorismError(f"topic {topic.id} appears twice", where=str(path), fix="keep one of them")
        seen.add(topic.id)
    for table, kind in mathml.items():
        topics = topic_formulas.add_mathml(topics, table, kind)
    return topic_formulas.add_posts(topics, tables)


def read_xml(text: str, where: str, rows: Mapping[str, list[FormulaRow]]) -> list[Topic]:
    """Read the topics of the lab's XML."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        place = f"{where}:{error.position[0]}"
        raise PorismError(f"not well-formed XML: {error}", where=place, fix="correct this line") from None
    return [
        read_topic(one, where, rows.get(topic_formulas.number(one.get("number", "")), [])) for one in root.iter("Topic")
    ]


def read_topic(element: ElementTree.Element, where: str, rows: list[FormulaRow]) -> Topic:
    """Read one topic. For a formula, the table wins over the `Latex` element, and that over the text."""
    identifier = (element.get("number") or "").strip()
    if not identifier:
        raise PorismError("a topic has no number", where=where, fix='write <Topic number="A.1">')
    query_formula = (element.findtext("Formula_Id") or "").strip()
    latex = topic_formulas.without_dollars(decode_latex((element.findtext("Latex") or "").strip()))
    known = {row.id: row.latex for row in rows}
    if query_formula:
        known.setdefault(query_formula, latex)
    # Ids on wrong words are fixed, missing ids come from the table, and so does the LaTeX.
    parts = {
        name: topic_formulas.fix_ids(list(split_formulas((element.findtext(tag) or "").strip())))
        for name, tag in (("title", "Title"), ("question", "Question"))
    }
    used = {part.id for field in parts.values() for part in field if part.id}
    for name, field in parts.items():
        named = give_ids(field, [row for row in rows if row.field == name and row.id not in used])
        parts[name] = [
            replace(part, latex=known[part.id]) if part.latex is not None and part.id in known else part
            for part in named
        ]
    found = tuple(
        TopicFormula(part.id, part.latex, FIELDS[name], source=part.source if part.named_by_table else "")
        for name in parts
        for part in parts[name]
        if part.latex is not None
    )
    tags = tuple(tag.strip() for tag in re.split(r"[,\s]+", element.findtext("Tags") or "") if tag.strip())
    title, question = to_html(parts["title"]), to_html(parts["question"])
    return Topic(identifier, title, question, tags, found, query_formula, known.get(query_formula, latex))


def give_ids(field: list[TopicPiece], free: list[FormulaRow]) -> list[TopicPiece]:
    """Give formulas without id that of an unused row with the same LaTeX; then, if equally many are left, in order."""
    left = list(free)
    named = list(field)
    for place, part in enumerate(named):
        if part.latex is not None and not part.id:
            latex = squeeze(part.latex)
            same = next((row for row in left if squeeze(row.latex) == latex), None)
            if same is not None:
                left.remove(same)
                named[place] = replace(part, id=same.id, named_by_table=True)
    open_places = [place for place, part in enumerate(named) if part.latex is not None and not part.id]
    if len(open_places) == len(left):
        for place, row in zip(open_places, left, strict=True):
            named[place] = replace(named[place], id=row.id, named_by_table=True)
    return named


def squeeze(latex: str) -> str:
    """Return LaTeX without blanks and dollar signs, to compare two copies of a formula."""
    return re.sub(r"[\s$]+", "", latex)


def read_table(text: str, where: str) -> list[Topic]:
    """Read topics from a tab-separated table with `topic` and `latex` or `title`, perhaps question and tags."""
    lines = lines_of(text)
    header = lines[0].split("\t") if lines else []
    if "topic" not in header or not {"latex", "title"} & set(header):
        fact, fix = (
            "the header must name topic and latex, or topic and title",
            "write: topic<TAB>latex or topic<TAB>title",
        )
        raise PorismError(fact, where=f"{where}:1", fix=fix)
    topics = []
    for line, row in enumerate(lines[1:], 2):
        if not row.strip():
            continue
        cells = row.split("\t")
        if len(cells) != len(header):
            fact = f"{len(cells)} columns where the header has {len(header)}"
            raise PorismError(fact, where=f"{where}:{line}", fix="separate columns by one tab")
        value = dict(zip(header, cells, strict=True))
        title = html.escape(value.get("title", ""), quote=False)
        tags = tuple(tag for tag in value.get("tags", "").split(",") if tag)
        topics.append(Topic(value["topic"], title, value.get("question", ""), tags, latex=value.get("latex", "")))
    return topics


def write_topics(topics: Iterable[Topic], path: str | Path) -> None:
    """Write the lab's XML; a topic with a formula id is a Task 2 topic. Reading the file gives the same topics."""
    with atomic_file(path) as out:
        out.write('<?xml version="1.0" encoding="utf-8"?>\n<Topics>\n')
        for topic in topics:
            out.write(f"   <Topic number={quoteattr(xml_text(topic.id))}>\n")
            elements = {"Formula_Id": topic.formula_id, "Latex": topic.latex} if topic.formula_id else {}
            elements |= {"Title": _dollars(topic.title), "Question": _dollars(topic.question)}
            for tag, value in (*elements.items(), ("Tags", ",".join(topic.tags))):
                out.write(f"      <{tag}>{escape(xml_text(value))}</{tag}>\n")
            out.write("   </Topic>\n")
        out.write("</Topics>\n")


def _dollars(text: str) -> str:
    """Return a field with its formulas between dollar signs, as the lab writes them."""
    parts = split_formulas(text)
    return to_html([part if part.latex is None else replace(part, latex=f"${part.latex}$") for part in parts])


# Columns of the files of all years, and our fields.
COLUMNS = {
    "category": "category", "topictype": "category", "topic type": "category", "type": "category",
    "difficulty": "difficulty", "dependency": "dependency", "dependence": "dependency", "multi-part": "multi_part",
    "multi_part": "multi_part", "complexity": "complexity",
}  # fmt: skip
WORDS = {"calculation": "computation"}
DIFFICULTY = {"low": "easy", "high": "hard"}
ALLOWED = {
    "category": ("computation", "concept", "proof"),
    "difficulty": ("easy", "medium", "hard"),
    "dependency": ("text", "formula", "both"),
    "multi_part": ("no", "yes"),
    "complexity": ("low", "medium", "high"),
}


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """The properties of a topic. Each is a tuple, since a topic may be "Proof & Concept"; empty if unknown."""

    topic: str
    category: tuple[str, ...] = ()
    difficulty: tuple[str, ...] = ()
    dependency: tuple[str, ...] = ()
    multi_part: tuple[str, ...] = ()
    complexity: tuple[str, ...] = ()

    def values(self, field: str) -> tuple[str, ...]:
        """Return the values of a field named as in ALLOWED."""
        found: tuple[str, ...] = getattr(self, field)
        return found


@report_unreadable("write one row per topic, with named columns")
def read_topic_info(path: str | Path) -> dict[str, TopicInfo]:
    """Read topic information from CSV, TSV or JSON, by topic."""
    with utf8_text(path) as stream:
        text = stream.read()
    if text.lstrip().startswith("{"):
        rows = {str(topic): row for topic, row in json.loads(text).items()}
    else:
        first = text.partition("\n")[0]
        reader = csv.DictReader(text.splitlines(), delimiter="\t" if "\t" in first else ",")
        if "topic" not in {(name or "").lower() for name in reader.fieldnames or ()}:
            fix = "name the columns: Topic, Category, Difficulty, Dependency, Multi-Part"
            raise PorismError("no column named Topic", where=f"{path}:1", fix=fix)
        rows = {next(value for key, value in row.items() if key.lower() == "topic"): row for row in reader}
    # One published file repeats its header as a topic.
    infos = {topic: topic_info(topic, row, f"{path}: topic {topic}") for topic, row in rows.items() if "." in topic}
    if not infos:
        raise PorismError("no topic in this file", where=str(path), fix="one row per topic, ids like A.301")
    return infos


def topic_info(topic: str, row: Mapping[str, object], where: str) -> TopicInfo:
    """Read one row and translate its words."""
    found: dict[str, tuple[str, ...]] = {}
    for column, value in row.items():
        field = COLUMNS.get(str(column).strip().lower())
        if field is None or value in (None, ""):
            continue
        ours = DIFFICULTY if field == "difficulty" else WORDS
        plain = (word.strip().lower() for word in str(value).split(" & "))
        found[field] = tuple(ours.get(word, word) for word in plain)
        if not set(found[field]) <= set(ALLOWED[field]):
            fix = f"write one of {', '.join(ALLOWED[field])}"
            raise PorismError(f"{column} is {value!r}", where=where, fix=fix)
    return TopicInfo(topic, **found)
