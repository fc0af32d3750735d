"""Runs, judgments and topics of any content give a result or a PorismError, never another error."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from porism.corpus.topics.files import read_topic_info, read_topics, write_topics
from porism.errors import PorismError
from porism.evaluate.evaluation import EvaluationOptions, evaluate
from porism.evaluate.qrels import count, judged_only, read_qrels
from porism.evaluate.runs.check import check_run, fix_file
from porism.evaluate.runs.derive import convert_run, fuse
from porism.evaluate.runs.lookup import read_visual_map, to_visual_ids
from porism.evaluate.runs.run import read_run

SAMPLE = Path(__file__).parents[2] / "sample"
RUN = SAMPLE / "runs" / "Abacus-task1-words-auto-text-P.tsv"
ANSWERS = SAMPLE / "runs" / "Porism-task3-Extract-auto-both-extract-P.tsv"
QRELS = SAMPLE / "qrels" / "task1.txt"
MUTATIONS = 60  # of each file by each reader
ODD = (
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\r",
    b"\x1c",
    b"\x85",
    b'"',
    b"'",
    b"\t",
    b"\n",
    b"nan",
    b"inf",
    b"-1e400",
    b"1e39",
    b"9" * 20,
    b"9" * 5000,
    b"\xd9\xa3",
    b"1_0",
    b"<",
    b"&",
    b"&#0;",
    b"]]>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"# ir_metadata.start\n",
    b"{",
    b"[" * 2000,
)


def mutated(data: bytes, chosen: Random) -> bytes:
    """Return a file with a few changes: bytes, lines or columns removed, repeated, exchanged or made odd."""
    for _ in range(chosen.choice((1, 1, 2, 4))):
        start = chosen.randint(0, len(data))
        end = min(len(data), start + chosen.choice((0, 1, 1, 3, 20, 300)))
        lines = data.split(b"\n")
        way = chosen.randrange(7)
        if way == 0:
            data = data[:start] + data[end:]
        elif way == 1:
            data = data[:start] + chosen.choice(ODD) + data[end:]
        elif way == 2:
            data = data[:start] + data[start:end] * 2 + data[end:]
        elif way == 3:
            data = data[:start]
        elif way == 4:
            cells = lines[at := chosen.randrange(len(lines))].split(b"\t")
            cells[chosen.randrange(len(cells))] = chosen.choice(ODD)
            data = b"\n".join([*lines[:at], b"\t".join(cells), *lines[at + 1 :]])
        elif way == 5:
            chosen.shuffle(lines)
            data = b"\n".join(lines)
        else:
            data = bytes(byte ^ 1 << chosen.randrange(8) if at == start else byte for at, byte in enumerate(data))
    return data


def _evaluate(path: Path, kind: str) -> None:
    runs, qrels = ([str(path)], str(QRELS)) if kind == "run" else ([str(RUN)], str(path))
    evaluate(EvaluationOptions(qrels, runs, per_topic=True, coverage=True))


READERS: dict[str, tuple[Path, Callable[[Path], object]]] = {
    "read a run": (RUN, read_run),
    "check a run": (RUN, lambda path: [str(problem) for problem in check_run(str(path)).problems]),
    "fix a run": (RUN, lambda path: fix_file(str(path), str(path.with_name("fixed")))),
    "convert a run": (RUN, lambda path: convert_run(path, path.with_name("converted"), "trec")),
    "fuse runs": (RUN, lambda path: fuse([read_run(RUN), read_run(path)])),
    "evaluate a run": (RUN, lambda path: _evaluate(path, "run")),
    "evaluate by judgments": (QRELS, lambda path: _evaluate(path, "qrels")),
    "read answers": (ANSWERS, read_run),
    "check answers": (ANSWERS, lambda path: check_run(str(path))),
    "read judgments": (QRELS, lambda path: (count(read_qrels(path)), judged_only(read_qrels(path)))),
    "read topics": (SAMPLE / "topics/task1.xml", lambda path: write_topics(read_topics(path), path.with_name("x"))),
    "read formula topics": (SAMPLE / "topics/task2.xml", read_topics),
    "read formulas of topics": (
        SAMPLE / "topics/formulas_latex.tsv",
        lambda path: read_topics(SAMPLE / "topics/task1.xml", path),
    ),
    "read topic information": (SAMPLE / "topics/metadata.csv", read_topic_info),
    "read a map of visual ids": (
        SAMPLE / "topics/formulas_latex.tsv",
        lambda path: to_visual_ids(read_run(RUN), read_visual_map(path)),
    ),
}


def few_lines(path: Path) -> bytes:
    """Return the start of a file; XML stays whole."""
    data = path.read_bytes()
    return data if path.suffix == ".xml" else b"\n".join(data.split(b"\n")[:30])


@pytest.mark.parametrize("name", READERS)
def test_no_mutated_file_gives_a_raw_error(name: str, tmp_path: Path) -> None:
    seed, read = READERS[name]
    whole, chosen = few_lines(seed), Random(f"17 {name}")
    for number in range(MUTATIONS):
        data = mutated(whole, chosen)
        path = tmp_path / seed.name
        if number % 10 == 9:
            path = tmp_path / f"{seed.name}.gz"
            packed = gzip.compress(data)
            data = packed[: chosen.randint(1, len(packed))] if number % 20 == 19 else mutated(packed, chosen)
        path.write_bytes(data)
        try:
            read(path)
        except PorismError:
            pass
        except Exception as error:
            raise AssertionError(f"{name}: mutation {number}: {data[:300]!r}") from error
