from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from porism.corpus.topics.files import TopicInfo, read_topic_info, read_topics, squeeze, write_topics
from porism.corpus.topics.formulas import fix_ids, split_formulas, to_html
from porism.errors import PorismError
from porism.records import Topic, TopicFormula


def xml(question: str, title: str = "T", number: str = "A.1", extra: str = "") -> str:
    escape = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    return (
        f'<?xml version="1.0" ?>\r\n<Topics>\r\n<Topic number="{number}">{extra}<Title>{title.translate(escape)}</Title>'
        f"<Question> {question.translate(escape)} </Question><Tags>algebra,limits</Tags></Topic>\r\n</Topics>"
    )


SPAN = '<span class="math-container" id="{}">{}</span>'


def read(tmp_path: Path, text: str, rows: str = "") -> Topic:
    path = tmp_path / "topics.xml"
    path.write_text(text, encoding="utf-8")
    table = None
    if rows:
        table = tmp_path / "formulas.tsv"
        table.write_text("id\ttopic_id\tthread_id\ttype\tformula\r\n" + rows, encoding="utf-8", newline="")
    return read_topics(path, table)[0]


def test_formulas_of_escaped_html_with_less_than_signs_that_look_like_tags(tmp_path: Path) -> None:
    topic = read(
        tmp_path,
        xml(
            '<p>If <span class="math-container" id="q_1">$a<b$</span> and <span class="math-container" id="q_2">$$x &amp; y$$</span></p>'
        ),
    )
    assert topic.formulas == (TopicFormula("q_1", "a<b"), TopicFormula("q_2", "x & y"))
    assert (
        topic.question
        == '<p>If <span class="math-container" id="q_1">a&lt;b</span> and <span class="math-container" id="q_2">x &amp; y</span></p>'
    )
    assert topic.tags == ("algebra", "limits")


def test_raw_ampersands_of_2022_stay(tmp_path: Path) -> None:
    topic = read(tmp_path, xml('<span class="math-container" id="q_1">$\\begin{matrix}a&b\\end{matrix}$</span>'))
    assert topic.formulas[0].latex == "\\begin{matrix}a&b\\end{matrix}"


def test_nested_spans_are_one_formula_with_the_inner_id(tmp_path: Path) -> None:
    topic = read(
        tmp_path,
        xml('where <span class="math-container">$<span class="math-container" id="q_5"> x <\\infty</span> $</span>.'),
    )
    assert topic.formulas == (TopicFormula("q_5", "x <\\infty"),)


def test_an_id_on_a_plain_word_moves_to_the_formula() -> None:
    parts = list(
        split_formulas(
            'maps <span class="math-container" id="q_55">$a $</span>positive integer <span class="math-container">$a$</span>'
        )
    )
    assert to_html(fix_ids(parts)) == 'maps a positive integer <span class="math-container" id="q_55">a</span>'


def test_the_table_wins_over_a_cut_formula_and_names_formulas_without_id(tmp_path: Path) -> None:
    text = xml(
        '<span class="math-container" id="q_1">$x$</span> <span class="math-container">$a & b$</span> <span class="math-container">\\begin{align}z\\end{align}</span>'
    )
    rows = 'q_1\tA.1\t7\tbody\tx<y\r\nq_2\tA.1\t7\tquestion\ta&b\r\nq_3\tA.1\t7\tquestion\t"\\begin{align}z ""w""\\end{align}"\r\n'
    topic = read(tmp_path, text, rows)
    assert topic.formulas == (
        TopicFormula("q_1", "x<y"),
        TopicFormula("q_2", "a&b"),
        TopicFormula("q_3", '\\begin{align}z "w"\\end{align}'),
    )


@pytest.mark.parametrize(
    ("mathml", "name"), [("<mi>x</mi>", "mathml"), ("<apply><plus/><ci>x</ci></apply>", "content")]
)
def test_a_table_of_mathml_is_recognised_by_its_first_row(tmp_path: Path, mathml: str, name: str) -> None:
    """All tables of 2021 have the header `formula`."""
    cell = f'"<math display=""inline"">{mathml}</math>"'
    topic = read(tmp_path, xml(SPAN.format("q_1", "$x$")), f"q_1\tA.1\t5\tquestion\t{cell}\r\n")
    assert getattr(topic.formulas[0], name) == f'<math display="inline">{mathml}</math>'
    assert topic.formulas[0].latex == "x"


def test_the_latex_element_wins_over_the_span(tmp_path: Path) -> None:
    text = xml(
        '<span class="math-container" id="q_9">$x$</span>',
        number="B.1",
        extra="<Formula_Id>q_9</Formula_Id><Latex>\nx&lt;y</Latex>",
    )
    topic = read(tmp_path, text)
    assert (topic.formula_id, topic.latex, topic.formulas) == ("q_9", "x<y", (TopicFormula("q_9", "x<y"),))


def test_an_unclosed_span_reaches_to_the_end() -> None:
    assert [part.latex for part in split_formulas('a <span id="q_1" class="math-container">$x')] == [None, "$x"]


def test_written_and_read_again_topics_are_the_same(tmp_path: Path) -> None:
    span = '<span class="math-container" id="q_1">a &lt; b &amp; c</span>'
    task2 = Topic(
        "B.1", "T & <b>x</b>", f"<p>{span}</p>", ("a", "b"), (TopicFormula("q_1", "a < b & c"),), "q_1", "a < b & c"
    )
    path = tmp_path / "out.xml"
    write_topics([task2], path)
    assert read_topics(path) == [task2]


def test_tables_of_formulas_and_of_titles(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("topic\tlatex\nB.1\tx^2\nB.2\ty\n", encoding="utf-8")
    assert [(topic.id, topic.latex) for topic in read_topics(path)] == [("B.1", "x^2"), ("B.2", "y")]
    path.write_text("topic\ttitle\r\nL.1\tIs\u2028$a<b$?\r\n", encoding="utf-8", newline="")
    assert read_topics(path)[0].title == "Is\u2028$a&lt;b$?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "<Topics></Topics>",
            "{p}: no topic in this file\n  fix: give the lab's XML or a table with the header topic, latex or topic, title",
        ),
        (
            "<Topics>\n<Topic>",
            "{p}:2: not well-formed XML: no element found: line 2, column 7\n  fix: correct this line",
        ),
        (
            "id\tx\n1\t2\n",
            "{p}:1: the header must name topic and latex, or topic and title\n  fix: write: topic<TAB>latex or topic<TAB>title",
        ),
        ("topic\tlatex\nB.1\n", "{p}:2: 1 columns where the header has 2\n  fix: separate columns by one tab"),
        ("topic\tlatex\nB.1\tx\nB.1\ty\n", "{p}: topic B.1 appears twice\n  fix: keep one of them"),
    ],
)
def test_errors(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PorismError, match=f"^{re.escape(message.format(p=path))}$"):
        read_topics(path)


def test_topic_information_of_all_years_uses_the_same_words(tmp_path: Path) -> None:
    path = tmp_path / "info.csv"
    path.write_text(
        "Topic,Category,Difficulty,Dependency,Multi-Part\r\nA.1,Proof & Concept,Low,Both,No\r\nA.2,Calculation,High,Text,Yes",
        newline="",
    )
    assert read_topic_info(path) == {
        "A.1": TopicInfo("A.1", ("proof", "concept"), ("easy",), ("both",), ("no",)),
        "A.2": TopicInfo("A.2", ("computation",), ("hard",), ("text",), ("yes",)),
    }
    path.write_text("Topic,Difficulty\nA.1,So so\n")
    with pytest.raises(
        PorismError,
        match=re.escape(f"{path}: topic A.1: Difficulty is 'So so'\n  fix: write one of easy, medium, hard"),
    ):
        read_topic_info(path)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("year", "task", "topics", "formulas"),
    [(2020, 1, 98, 1008), (2020, 2, 85, 922), (2021, 1, 100, 843), (2021, 2, 100, 843)],
)
def test_official_topics(shared_data: Path, tmp_path: Path, year: int, task: int, topics: int, formulas: int) -> None:
    table = shared_data / f"arqmath-format/topic-formulas/{year}_formulas_latex.tsv"
    found = read_topics(shared_data / f"slice/topics/task{task}-{year}.xml", table)
    assert len(found) == topics
    named = [formula for topic in found for formula in topic.formulas]
    assert len(named) == len({formula.id for formula in named}) == formulas
    assert all(formula.id and "</" not in formula.latex for formula in named)
    assert [formula.id for formula in named if not formula.latex] == (
        ["q_217"] if year == 2020 else []
    )  # a blank in the table itself
    if task == 2:
        assert all(topic.latex and topic.formula_id in {formula.id for formula in topic.formulas} for topic in found)
    write_topics(found, tmp_path / "again.xml")
    assert read_topics(tmp_path / "again.xml") == [
        replace(topic, post_id=0) for topic in found
    ]  # known from the table only


@pytest.mark.shared
def test_official_formulas_without_id_get_those_of_the_table(shared_data: Path) -> None:
    path = shared_data / "slice/topics/task1-2021.xml"
    bare = [formula for topic in read_topics(path) for formula in topic.formulas]
    assert len(bare) == 843
    assert sum(not formula.id for formula in bare) == 14


@pytest.mark.shared
def test_the_table_and_the_latex_element_differ_where_they_are_known_to(shared_data: Path) -> None:
    path = shared_data / "slice/topics/task2-2021.xml"
    table = shared_data / "arqmath-format/topic-formulas/2021_formulas_latex.tsv"
    pairs = zip(read_topics(path), read_topics(path, table), strict=True)
    assert [one.id for one, two in pairs if squeeze(one.latex) != squeeze(two.latex)] == ["B.231", "B.271"]


@pytest.mark.shared
@pytest.mark.parametrize(("year", "number"), [(2020, 77), (2021, 71)])
def test_official_topic_information(shared_data: Path, year: int, number: int) -> None:
    infos = read_topic_info(shared_data / f"slice/topics/task1_{year}_topic_info.json")
    assert len(infos) == number
    assert all(info.category and info.difficulty and info.dependency for info in infos.values())


def test_a_file_that_is_not_utf8_is_reported_with_its_line(tmp_path: Path) -> None:
    topics, formulas = tmp_path / "topics.xml", tmp_path / "formulas.tsv"
    topics.write_bytes(b"<Topics>\n<Topic number='A.1'><Title>caf\xe9</Title></Topic></Topics>")
    with pytest.raises(PorismError, match=r"topics\.xml:2: not UTF-8"):
        read_topics(topics)
    formulas.write_bytes(b"id\ttopic_id\tthread_id\ttype\tformula\nq_1\tA.1\t\ttitle\t\xff\n")
    topics.write_text("<Topics><Topic number='A.1'><Title>a</Title></Topic></Topics>")
    with pytest.raises(PorismError, match=r"formulas\.tsv:2: not UTF-8"):
        read_topics(topics, formulas)
