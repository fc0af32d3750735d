"""One topic of a run: its ranking, and the journal beside the run file, by which an interrupted run continues.

The first line of a journal is a key of everything that shapes the rankings. A journal with another key is not
continued."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NamedTuple

from porism.corpus.content import Content
from porism.errors import PorismError
from porism.evaluate.runs.run import RunRanking
from porism.records import Topic
from porism.search.retriever import Pipeline, Retriever
from porism.systems.answerer import Cost, WrittenAnswer
from porism.systems.topic_queries import topic_query

SPARE = 2  # times as many formulas are searched as are needed, since those in comments only may not be returned


class TopicRanking(NamedTuple):
    """A topic and what a system found for it."""

    topic: str
    ranking: RunRanking


def topic_ranking(retriever: Retriever, content: Content, topic: Topic, task: int, k: int) -> RunRanking:
    """Return the best k hits of a system for a topic. Of each visual id it is one instance: that which the system
    names, or the first that may be returned."""
    if task != 2:
        found = retriever.search(topic_query(topic, 1), k).top(k)
        return RunRanking([str(number) for number in found.ids.tolist()], found.scores.tolist())
    if not topic.latex:
        raise PorismError("has no formula", fix="give topics of Task 2, or a table topic, latex")
    hits = retriever.search(topic_query(topic, 2), SPARE * k)
    ids: list[int] = hits.ids.tolist()
    if isinstance(retriever, Pipeline) and retriever.names_instances:
        places = retriever.instances(ids)
    else:
        places = {visual: own[0] for visual, own in content.instances(ids, 1, returnable=True).items()}
    kept = [(hit, places[hit.id]) for hit in hits if hit.id in places][: max(k, 0)]
    return RunRanking(
        [str(place.id if place.post_id else hit.id) for hit, place in kept],
        [hit.score for hit, _ in kept],
        [str(place.post_id) if place.post_id else "-" for _, place in kept],
    )


@dataclass(frozen=True, slots=True)
class FinishedTopic:
    """The ranking of one topic, or in Task 3 its answer, and how long it took."""

    topic: str
    ranking: RunRanking
    seconds: float
    answer: WrittenAnswer | None = None


class RunJournal:
    """Appends finished topics to a file; reads those of an earlier, interrupted run."""

    def __init__(self, out: Path, key: str) -> None:
        self.path = out.with_name(f".{out.name}.unfinished")
        self._key = key
        self._stream: IO[str] | None = None
        self.finished = {done.topic: done for done in self._read()}

    def _read(self) -> Iterator[FinishedTopic]:
        """Yield the finished topics. The last line may be cut, if the process was killed."""
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return
        if not lines or lines[0] != self._key:
            return
        for line in lines[1:]:
            try:
                topic, items, scores, posts, seconds, answer = json.loads(line)
            except ValueError:
                return
            if answer is not None:
                answer = WrittenAnswer(answer["text"], answer["sources"], Cost(**answer["cost"]))
            yield FinishedTopic(topic, RunRanking(items, scores, posts), seconds, answer)

    def __enter__(self) -> RunJournal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = open(self.path, "w", encoding="utf-8")
        self._stream.write(f"{self._key}\n")
        for done in self.finished.values():
            self._write(done)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
        if not self.finished:  # there is nothing to continue
            self.remove()

    def add(self, done: FinishedTopic) -> None:
        """Add a finished topic; it survives the end of the process."""
        self.finished[done.topic] = done
        self._write(done)

    def _write(self, done: FinishedTopic) -> None:
        assert self._stream is not None
        ranking = done.ranking
        answer = None if done.answer is None else asdict(done.answer)
        row = [done.topic, ranking.items, ranking.scores, ranking.posts, done.seconds, answer]
        self._stream.write(json.dumps(row) + "\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def remove(self) -> None:
        """Delete the journal: the run is complete, or nothing of it is."""
        self.path.unlink(missing_ok=True)
