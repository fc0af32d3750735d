"""Write topics, judgments and runs, with the keys of posts replaced by ids."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from .dump import Dump
from .rank import write_task1_runs
from .topics import read_topics, write_topics


def write_lab(source: Path, folder: Path, dump: Dump) -> None:
    """Write the topics, judgments and runs of the three tasks."""
    topics = read_topics(source / "topics.txt")
    write_topics(topics, folder / "topics")
    qrels = folder / "qrels"
    qrels.mkdir(parents=True, exist_ok=True)
    _write(qrels / "task1.txt", _answers_judged(source / "judgments.tsv", dump.ids))
    _write(qrels / "task2-formulas.tsv", _formulas_judged(source / "formula-judgments.tsv", dump.ids))
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    write_task1_runs(topics, dump, folder / "runs")
    _write_task3(source, folder, dump.ids)


def _write(path: Path, rows: list[str]) -> None:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8", newline="\n")


def _table(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


def _answers_judged(path: Path, ids: dict[str, int]) -> list[str]:
    rows: list[tuple[int, int, str]] = []
    for topic, grade, keys in _table(path):
        rows += [(int(topic.removeprefix("A.")), ids[key], grade) for key in keys.split()]
    return [f"A.{topic}\t0\t{post}\t{grade}" for topic, post, grade in sorted(rows)]


def _formulas_judged(path: Path, ids: dict[str, int]) -> list[str]:
    """Write judgments of formulas by post and LaTeX, since formula ids and visual ids belong to a built collection."""
    rows = [f"{topic}\t{ids[key]}\t{latex}\t{grade}" for topic, grade, key, latex in _table(path)]
    return ["topic\tpost_id\tlatex\tgrade", *rows]


def _write_task3(source: Path, folder: Path, ids: dict[str, int]) -> None:
    """Write the Task 3 judgments. Equal answers to a topic share an id, as in the lab; the map lists the answer of each run."""
    runs = _read_runs(source / "task3-answers.txt")
    grades = {topic: cells.split() for topic, cells in _table(source / "task3-judgments.tsv")}
    known: dict[tuple[str, str], str] = {}
    origins, judged = [], []
    for place, (name, run_number, rows) in enumerate(runs):
        with (folder / "runs" / f"{name}.tsv").open("w", encoding="utf-8", newline="") as out:
            table = csv.writer(out, delimiter="\t", lineterminator="\n")
            for topic, score, origin, text in rows:
                table.writerow((topic, 1, score, run_number, ids.get(origin, origin), text))
                if (topic, text) not in known:
                    known[topic, text] = f"d_{len(known) + 1}"
                    judged.append(f"{topic}\t0\t{known[topic, text]}\t{grades[topic][place]}")
                origins.append(f"{name}\t{topic}\t{known[topic, text]}")
    _write(folder / "qrels" / "task3.tsv", judged)
    _write(folder / "qrels" / "task3-answers.tsv", origins)


def _read_runs(path: Path) -> list[tuple[str, str, list[tuple[str, str, str, str]]]]:
    runs = []
    for chunk in re.split(r"^(?==== )", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, *lines = chunk.rstrip("\n").split("\n")
        name, run_number = (cell.strip() for cell in head[4:].split("|"))
        rows = []
        for meta, text in zip(lines[::2], lines[1::2], strict=True):
            topic, score, origin = (cell.strip() for cell in meta.split("|"))
            rows.append((topic, score, origin, text))
        runs.append((name, run_number, rows))
    return runs
