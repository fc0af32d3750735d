"""Runs: what a system returned for each topic. Read and write the lab's run files and trec_eval's."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.evaluate.runs.lines import COLUMNS, RunKind, RunLines, base_name, read_lines, topic_rows
from porism.evaluate.runs.problems import RunProblem, reject
from porism.files import atomic_file
from porism.records import Hit, ranked

LIMIT = 1000  # hits per topic, by the lab's rules
SUBSTITUTE_TAG = "-substitute"  # ends the run id of a run with a model other than the original


@dataclass(frozen=True, slots=True)
class RunRanking:
    """The hits of one topic in the order of the file; `posts` holds the post of each formula in Task 2."""

    items: list[str]
    scores: list[float]
    posts: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, hits: Iterable[Hit], posts: Mapping[int, int] | None = None) -> RunRanking:
        """Make a ranking of hits, ordered by descending score, then descending id."""
        order = ranked(hits)
        in_posts = [str(posts[hit.id]) for hit in order] if posts else []
        return cls([str(hit.id) for hit in order], [hit.score for hit in order], in_posts)

    def in_score_order(self, limit: int = 0) -> RunRanking:
        """Return the items in trec_eval's order: descending 32-bit score, then descending item.

        An item that occurs twice keeps its first score. `limit` returns the first items only, without sorting the rest.
        """
        single = single_precision(self.scores)
        places: Sequence[int] = range(len(self.items))
        if 0 < limit < single.size and len(set(self.items)) == len(self.items):
            lowest = np.partition(single, single.size - limit)[single.size - limit]
            places = np.flatnonzero(single >= lowest).tolist()
        first: dict[str, float] = {}
        for place in places:
            first.setdefault(self.items[place], float(single[place]))
        order = sorted(first.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[: limit or None]
        return RunRanking([item for item, _ in order], [score for _, score in order])


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """A Task 3 answer."""

    topic: str
    text: str
    sources: str = ""
    rank: int = 1
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Run:
    """What a system returned: rankings in Tasks 1 and 2, answers in Task 3."""

    name: str
    kind: RunKind
    rankings: dict[str, RunRanking] = field(default_factory=dict)
    tag: str = ""
    answers: dict[str, RunAnswer] = field(default_factory=dict)


def read_run(path: str | Path, kind: RunKind | None = None) -> Run:
    """Read a run of any kind. Raise an error that lists up to 20 bad lines if the file cannot be read whole."""
    lines = read_lines(path, kind)
    reject(lines.problems)
    if lines.kind == "task3":
        return answer_run(lines)
    found: dict[str, RunRanking] = {}  # in the order of the file; a topic that occurs in several places is joined
    items, posts = lines.cells["item"], lines.cells.get("post", [])
    for topic, start, end in topic_rows(lines.cells["topic"]):
        part = RunRanking(items[start:end], lines.scores[start:end], posts[start:end])
        if topic in found:
            first = found[topic]
            part = RunRanking(first.items + part.items, first.scores + part.scores, first.posts + part.posts)
        found[topic] = part
    return Run(base_name(path), lines.kind, found, lines.cells["tag"][0] if lines.cells["tag"] else "")


def answer_run(lines: RunLines) -> Run:
    """Make a Task 3 run; a second answer to a topic is an error."""
    answers: dict[str, RunAnswer] = {}
    cells = lines.cells
    for place, topic in enumerate(cells["topic"]):
        if topic in answers:
            fact = f"a second answer for topic {topic}"
            reject([RunProblem("second-answer", lines.path, lines.lines[place], fact, topic)])
        text, sources = cells["answer"][place], cells["sources"][place]
        answers[topic] = RunAnswer(topic, text, sources, lines.ranks[place], lines.scores[place])
    return Run(base_name(lines.path), "task3", tag=cells["tag"][0] if answers else "", answers=answers)


def single_precision(scores: Sequence[float]) -> npt.NDArray[np.float32]:
    """Return scores as 32-bit numbers, as trec_eval stores them; larger ones are infinite."""
    with np.errstate(over="ignore"):
        return np.array(scores, dtype=np.float32)


def break_ties(scores: Iterable[float]) -> list[float]:
    """Return scores that fall strictly, also as 32-bit numbers, and are as close to the given ones as that allows.

    trec_eval stores scores in 32 bits and breaks ties by item id. Without ties, it keeps the order of the run.
    """
    single = single_precision(list(scores))
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
    """Write a run in the format of its kind, or of `kind`."""
    if (kind or run.kind) == "task3":
        write_answers(run, path)
    else:
        write_rankings(run.rankings.items(), path, kind or run.kind, run.tag or run.name)


def write_rankings(
    rankings: Iterable[tuple[str, RunRanking]], path: str | Path, kind: RunKind, tag: str, header: Sequence[str] = ()
) -> None:
    """Write rankings as a run file, `header` lines first: ranks from 1, at most 1000 hits per topic, no ties."""
    if not tag or any(blank in tag for blank in "\t\n"):
        raise PorismError(f"the run id {tag!r} is empty or has a tab or line break", fix="choose one word")
    with atomic_file(path) as out:
        out.writelines(f"{line}\n" for line in header)
        for topic, ranking in rankings:
            posts = ranking.posts or ["-"] * len(ranking.items)
            scores = break_ties(ranking.scores[:LIMIT])
            for rank, (item, post, score) in enumerate(zip(ranking.items, posts, scores, strict=False), 1):
                row = {"topic": topic, "item": item, "post": post, "rank": rank, "score": score, "tag": tag, "q0": "Q0"}
                out.write("\t".join(str(row[name]) for name in COLUMNS[kind]) + "\n")


def write_answers(run: Run, path: str | Path, header: Sequence[str] = ()) -> None:
    """Write a Task 3 run, quoted as CSV. `header` lines come first."""
    with atomic_file(path) as out:
        out.writelines(f"{line}\n" for line in header)
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        for answer in run.answers.values():
            writer.writerow([answer.topic, answer.rank, answer.score, run.tag or run.name, answer.sources, answer.text])
