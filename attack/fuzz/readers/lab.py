"""Readers of the lab's files: runs, judgments, topics, and tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path

from attack.fuzz.grammar import Grammar
from attack.fuzz.reader import Reader, Wrong
from attack.fuzz.readers.text_grammars import HTML
from porism.corpus.sources.tables import FormulaList
from porism.corpus.topics.files import read_topic_info, read_topics, write_topics
from porism.evaluate.qrels import count, judged_only, read_qrels, write_qrels
from porism.evaluate.runs.check import check_run, fix_file
from porism.evaluate.runs.lookup import read_visual_map
from porism.evaluate.runs.run import read_run, write_run


def _with_file(name: str, data: bytes, read: Callable[[Path], Hashable]) -> Hashable:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return read(path)


def _run(path: Path) -> Hashable:
    checked = check_run(str(path))
    kinds = tuple(sorted({problem.kind for problem in checked.problems}))
    if len(kinds) % 2:
        fix_file(str(path), str(path.with_name("fixed.tsv")))
    run = read_run(path)
    write_run(run, path.with_name("written.tsv"))
    again = read_run(path.with_name("written.tsv"), run.kind)
    topics, written = (list(one.answers if one.kind == "task3" else one.rankings) for one in (run, again))
    if written != topics:
        raise Wrong("a run that was written has other topics")
    return run.kind, kinds, len(topics).bit_length()


def read_runs(data: bytes) -> Hashable:
    """Check, correct, read and write a run."""
    return _with_file("Team-task1-run-auto-both-P.tsv", data, _run)


def _qrels(path: Path) -> Hashable:
    qrels = read_qrels(path)
    counted = count(qrels)
    judged_only(qrels)
    write_qrels(qrels, path.with_name("written"))
    if read_qrels(path.with_name("written")) != qrels:
        raise Wrong("judgments that were written are different")
    return counted.topics.bit_length(), counted.judged.bit_length()


def read_judgments(data: bytes) -> Hashable:
    """Read and write judgments, every fifth time a map of visual ids."""
    if len(data) % 5 == 0:
        return _with_file("map.tsv", data, lambda path: len(read_visual_map(path)).bit_length())
    return _with_file("qrels.tsv", data, _qrels)


def _topics(path: Path) -> Hashable:
    topics = read_topics(path)
    write_topics(topics, path.with_name("written.xml"))
    return len(topics).bit_length(), tuple(sorted({len(topic.formulas) for topic in topics}))[:5]


def read_topic_files(data: bytes) -> Hashable:
    """Read topics: XML or a table; by the length also formula tables, topic information, or a table of formulas."""
    kind = len(data) % 6
    if kind == 1:
        return _with_file("information.csv", data, lambda path: len(read_topic_info(path)))
    if kind == 2:
        return _with_file("formulas.tsv", data, lambda path: sum(1 for _ in FormulaList(path).parts()[0].read()))
    if kind == 3:
        return _with_file("formulas.tsv", data, lambda path: len(read_topics(_SAMPLE, path)))
    return _with_file("topics.xml", data, _topics)


_SAMPLE = Path(__file__).resolve().parents[3] / "sample" / "topics" / "task1.xml"
_SEPARATED: Grammar = {
    "sep": ("\t", "\t", "\t", " ", ",", "  ", ";", "\t\t"),
    "end": ("\n", "\n", "\n", "\r\n", "\r", "\n\n", "\u2028", "\x0b", ""),
    "topic": ("A.1", "A.2", "A.301", "B.1", "a.1", "«odd_text»", "", "1", "A.«number»"),
    "item": ("12", "«number»", "«odd_text»", "d_1", "q_1"),
    "tag": ("run", "«odd_text»", "a b", ""),
}
RUN: Grammar = {
    **_SEPARATED,
    "start": (
        "«lines»",
        "\ufeff«lines»",
        "# ir_metadata.start\n# x: «odd_text»\n# ir_metadata.end\n«lines»",
        "«answers»",
    ),
    "lines": ("«line»«end»", "«line»«end»«lines»", "«line»«end»«line»«end»«lines»", "«odd_text»«end»«lines»"),
    "line": (
        "A.1\t12\t1\t3.5\trun",
        "«topic»«sep»«item»«sep»«number»«sep»«number»«sep»«tag»",
        "«topic»«sep»Q0«sep»«item»«sep»«number»«sep»«number»«sep»«tag»",
        "«topic»«sep»«item»«sep»«item»«sep»«number»«sep»«number»«sep»«tag»",
        "A.1\t«number»\t1\t3.5\trun",
        "A.1\t12\t«number»\t3.5\trun",
        "A.1\t12\t1\t«number»\trun",
    ),
    "answers": (
        'A.1\t1\t0.5\trun\tsource\t"An answer $x$"«end»',
        '«topic»\t«number»\t«number»\trun\t«odd_text»\t"«odd_text»""«odd_text»«end»«answers»',
        "«topic»\t1\t1\trun\tx\t«quote»«answers»",
    ),
    "quote": ('"', '""', "'", '"a\nb"', "a"),
}
QRELS: Grammar = {
    **_SEPARATED,
    "start": ("«lines»", "\ufeff«lines»"),
    "lines": ("A.1\t0\t12\t3«end»", "«line»«end»«lines»", "«line»«end»«line»«end»«lines»", "# «odd_text»«end»«lines»"),
    "line": (
        "A.1 12 3",
        "«topic»«sep»0«sep»«item»«sep»«number»",
        "«topic»«sep»«item»«sep»«number»",
        "A.1\t0\t12\t«number»",
        "«odd_text»",
    ),
}
TOPICS: Grammar = {
    **HTML,
    "sep": _SEPARATED["sep"],
    "end": _SEPARATED["end"],
    "start": (
        "<Topics>«topics»</Topics>",
        '<?xml version="1.0" encoding="«encoding»"?><Topics>«topics»</Topics>',
        "topic\tlatex«end»«table»",
        "topic\ttitle\tquestion\ttags«end»«table»",
        "id\ttopic_id\tthread_id\ttype\tformula«end»«table»",
        "visual_id\tlatex\tmathml«end»«table»",
        "Topic,Category,Difficulty,Dependency,Multi-Part«end»«information»",
        '{"A.1": {"category": "proof", "difficulty": «json»}, "«odd_text»": «json»}',
        "«json»",
    ),
    "json": ('"easy"', "1", "null", "[«json»]", '{"x": «json»}', '"«odd_text»"', '["proof", 1]', "{}", "NaN"),
    "encoding": ("utf-8", "latin-1", "utf-16", "nosuch", "utf-7", "idna", "zlib"),
    "topics": ("«one»", "«one»«topics»", "«xbroken»«topics»"),
    "one": (
        '<Topic number="A.1"><Title>t</Title><Question>q $x$</Question><Tags>a,b</Tags></Topic>',
        '<Topic number="«number»"><Title>«xtext»</Title><Question>«xtext»</Question><Tags>«xtext»</Tags></Topic>',
        '<Topic number="B.«number»"><Formula_Id>q_«number»</Formula_Id><Latex>«letter»</Latex><Title>«xtext»</Title><Question>«xtext»</Question><Tags>«letter»</Tags></Topic>',
        "<Topic><«field»>«xtext»</«field»></Topic>",
        "<Topic number='B.1'/>",
    ),
    "field": ("Title", "Question", "Tags", "Latex", "Formula_Id", "X"),
    "xtext": (
        "x",
        "&lt;p&gt;$«letter»$&lt;/p&gt;",
        "&lt;span class=&quot;math-container&quot; id=&quot;q_«number»&quot;&gt;$«letter»$&lt;/span&gt;",
        "«xtext» «xtext»",
        "$«letter»",
        "&lt;",
        "<b>«xtext»</b>",
        "&#xE000;",
    ),
    "xbroken": (
        "<Topic",
        "</Topics>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]>",
        "&a;",
        "\x00",
        "<a>",
        "&lt;",
        "<![CDATA[x]]>",
        "<!--",
    ),
    "table": (
        "A.1\tx^2«end»",
        "A.«number»\t«row»\t«words»«end»«table»",
        "q_«number»\tA.1\t«number»\ttitle\t«row»«end»«table»",
        "«number»«sep»«row»«end»«table»",
        "«odd_text»«end»«table»",
        '"«row»\t"',
    ),
    "information": (
        "A.1,Proof,Low,Both,No«end»",
        "A.«number»,«words»,«words»,Both,No«end»«information»",
        "A.2,Proof & Concept,High«end»«information»",
        "A.3«end»«information»",
        ",,,,,,,,«end»",
        "A.1,«odd_text»,«odd_text»«end»",
    ),
}
_TABLE_TOKENS = ["\t", "\n", " ", "A.1", "A.2", "12", "1", "0.5", "run", '"', ",", "\r", "Q0", "0", "3", "nan", "-1"]


def _sample(*names: str) -> list[bytes]:
    """Return the beginnings of files of the sample."""
    folder = _SAMPLE.parents[1]
    return [(folder / name).read_bytes()[:1500].rsplit(b"\n", 1)[0] + b"\n" for name in names]


READERS = (
    Reader(
        "runs",
        50,
        read_runs,
        RUN,
        _TABLE_TOKENS,
        binary=True,
        longest=40_000,
        seeds=lambda: _sample(
            "runs/Tally-task1-both-auto-both-A.tsv", "runs/Porism-task3-Echo-auto-text-generate-A.tsv"
        ),
    ),
    Reader(
        "qrels",
        90,
        read_judgments,
        QRELS,
        _TABLE_TOKENS,
        binary=True,
        longest=40_000,
        seeds=lambda: _sample("qrels/task1.txt", "qrels/task2-formulas.tsv"),
    ),
    Reader(
        "topics",
        60,
        read_topic_files,
        TOPICS,
        [*_TABLE_TOKENS, "<Topic>", "</Topic>", "<Title>", "</Title>", "&lt;", "&amp;", "$"],
        binary=True,
        longest=40_000,
        seeds=lambda: _sample("topics/task2.xml", "topics/metadata.csv", "topics/formulas_latex.tsv"),
    ),
)
