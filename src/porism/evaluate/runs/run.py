"""Runs: ranked lists per topic, read from and written to the lab's files and trec_eval's."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice, pairwise
from operator import ne
from pathlib import Path

import numpy as np

from porism.errors import PorismError
from porism.evaluate.runs.lines import COLUMNS, RunKind, RunLines, read_lines
from porism.evaluate.runs.problems import Problem, reject
from porism.files import atomic_file
from porism.records import Hit, ranked

LIMIT = 1000  # hits per topic, by the lab's rules


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of one topic in their order; `posts` holds the post of each formula in Task 2."""

    items: list[str]
    scores: list[float]
    posts: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, hits: Iterable[Hit], posts: Mapping[int, int] | None = None) -> Ranking:
        """A ranking from hits, in the order that is the same everywhere: score down, then id down."""
        order = ranked(hits)
        return cls(
            [str(hit.id) for hit in order],
            [hit.score for hit in order],
            [str(posts[hit.id]) for hit in order] if posts else [],
        )

    def pairs(self, cut: int = 0) -> list[tuple[str, float]]:
        """(item, score) in trec_eval's order: 32-bit score down, then item down; an item that comes twice counts once, at its first place.

        `cut` gives the first ones only, without ordering the rest.
        """
        single = np.asarray(self.scores, dtype=np.float32)
        places: Sequence[int] = range(len(self.items))
        if 0 < cut < single.size and len(set(self.items)) == len(self.items):
            lowest = np.partition(single, single.size - cut)[single.size - cut]
            places = np.flatnonzero(single >= lowest).tolist()
        seen: dict[str, float] = {}
        for place in places:
            seen.setdefault(self.items[place], float(single[place]))
        order = sorted(seen.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
        return order[: cut or None]


@dataclass(frozen=True, slots=True)
class Answer:
    """A Task 3 answer."""

    topic: str
    text: str
    sources: str = ""
    rank: int = 1
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Run:
    """What a system returned. Tasks 1 and 2 have rankings, Task 3 has answers."""

    name: str
    kind: RunKind
    rankings: dict[str, Ranking] = field(default_factory=dict)
    tag: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)

    @property
    def topics(self) -> list[str]:
        """The topics answered, in the file's order."""
        return list(self.answers if self.kind == "task3" else self.rankings)


def read_run(path: str | Path, kind: RunKind | None = None) -> Run:
    """Read a run of any kind; a file that cannot be read whole is an error that tells up to 20 lines."""
    lines = read_lines(path, kind)
    reject(lines.problems)
    if lines.kind == "task3":
        return read_answer_run(lines)
    return Run(stem(path), lines.kind, rankings(lines), lines.cells["tag"][0] if lines.cells["tag"] else "")


def stem(path: str | Path) -> str:
    """The file's name without its endings .tsv, .trec, .txt, .run, .gz and so on."""
    name = Path(path).name
    while Path(name).suffix.lower() in {".tsv", ".trec", ".txt", ".run", ".csv", ".res", ".gz", ".bz2", ".xz"}:
        name = Path(name).stem
    return name


def groups(topics: list[str]) -> Iterator[tuple[str, int, int]]:
    """Stretches of equal topics: (topic, start, end)."""
    changes = compress(
        range(1, len(topics)), map(ne, islice(topics, 1, None), topics)
    )  # a loop would take most of the time of a check
    edges = [0, *changes, len(topics)] if topics else [0]
    for start, end in pairwise(edges):
        yield topics[start], start, end


def rankings(lines: RunLines) -> dict[str, Ranking]:
    """The rankings in the file's order, topics that come back later joined."""
    found: dict[str, Ranking] = {}
    items, posts = lines.cells["item"], lines.cells.get("post", [])
    for topic, start, end in groups(lines.cells["topic"]):
        part = Ranking(items[start:end], lines.scores[start:end], posts[start:end])
        if topic in found:
            first = found[topic]
            part = Ranking(first.items + part.items, first.scores + part.scores, first.posts + part.posts)
        found[topic] = part
    return found


def read_answer_run(lines: RunLines) -> Run:
    """A Task 3 run; a second answer to a topic is an error."""
    answers: dict[str, Answer] = {}
    cells = lines.cells
    for place, topic in enumerate(cells["topic"]):
        if topic in answers:
            reject(
                [Problem("second-answer", lines.path, lines.lines[place], f"a second answer for topic {topic}", topic)]
            )
        answers[topic] = Answer(
            topic, cells["answer"][place], cells["sources"][place], lines.ranks[place], lines.scores[place]
        )
    return Run(stem(lines.path), "task3", tag=cells["tag"][0] if answers else "", answers=answers)


def untied(scores: Iterable[float]) -> list[float]:
    """Scores for hits in their order, strictly falling also as 32-bit numbers, and as near to the given ones as that allows.

    trec_eval holds scores in 32 bits and breaks ties by item id; a run without ties is scored in the order it was written.
    """
    single = np.array(list(scores), dtype=np.float32)
    if single.size and not np.isfinite(single).all():
        raise PorismError("a score is not a finite 32-bit number", fix="write scores between -3e38 and 3e38")
    for place in np.flatnonzero(np.diff(single) >= 0) + 1 if single.size else ():
        here = int(place)
        while here < single.size and single[here] >= single[here - 1]:
            step = max(abs(float(np.spacing(single[here - 1]))), 1e-30)
            lower = np.float32(float(single[here - 1]) - step)
            single[here] = lower if lower < single[here - 1] else np.nextafter(single[here - 1], np.float32("-inf"))
            here += 1
    return [float(text) for text in single.astype(str)]


def write_run(run: Run, path: str | Path, kind: RunKind | None = None) -> None:
    """Write a whole run; see write_rankings."""
    if (kind or run.kind) == "task3":
        write_answers(run, path)
    else:
        write_rankings(run.rankings.items(), path, kind or run.kind, run.tag or run.name)


def write_rankings(found: Iterable[tuple[str, Ranking]], path: str | Path, kind: RunKind, tag: str) -> None:
    """Write rankings as they come: ranks from 1, at most 1000 hits a topic, no tied scores."""
    if not tag or any(blank in tag for blank in "\t\n"):
        raise PorismError(f"the run id {tag!r} is empty or has a tab or line break", fix="choose one word")
    with atomic_file(path) as out:
        for topic, ranking in found:
            posts = ranking.posts or ["-"] * len(ranking.items)
            scores = untied(ranking.scores[:LIMIT])
            for rank, (item, post, score) in enumerate(zip(ranking.items, posts, scores, strict=False), 1):
                row = {"topic": topic, "item": item, "post": post, "rank": rank, "score": score, "tag": tag, "q0": "Q0"}
                out.write("\t".join(str(row[name]) for name in COLUMNS[kind]) + "\n")


def write_answers(run: Run, path: str | Path) -> None:
    """Write a Task 3 run with the quoting of CSV."""
    with atomic_file(path) as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        for answer in run.answers.values():
            writer.writerow([answer.topic, answer.rank, answer.score, run.tag or run.name, answer.sources, answer.text])
