"""From a collection to a set of topics, in one call."""

from __future__ import annotations

from pathlib import Path

from porism.corpus.store.collection import Collection
from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.lab.topics.files import write_topic_set
from porism.lab.topics.select import Limits, candidates, select


def make_topics(
    collection: str | Path,
    directory: str | Path,
    oracle: str | Path | None = None,
    number: int = 100,
    first: int = 1,
    limits: Limits | None = None,
    since: str = "",
    earlier: str | Path | None = None,
    seed: int = 1,
) -> tuple[int, int]:
    """Write a set of topics; how many candidates there were, and how many topics were made."""
    place = Path(oracle) if oracle else Path(f"{directory}.oracle.tsv")
    if place.resolve().is_relative_to(Path(directory).resolve()):
        raise PorismError(
            "the oracle's file would lie among the published ones",
            where=str(place),
            fix="name a place outside the folder of the topics",
        )
    titles = [topic.title for topic in read_topics(earlier)] if earlier else []
    with Collection.open(collection) as opened:
        found = list(candidates(opened, limits, since, titles))
    chosen = select(found, number, seed)
    return len(found), len(write_topic_set(chosen, directory, place, first))


def limits_of(texts: list[str]) -> Limits:
    """Limits from words like `terms=10:200`, `score=1:` or `views=:5000`."""
    values: dict[str, tuple[int, int]] = {}
    for text in texts:
        name, _, span = text.partition("=")
        low, colon, high = span.partition(":")
        if (
            name not in Limits.__slots__
            or not colon
            or not all(not part or part.lstrip("-").isdecimal() for part in (low, high))
        ):
            raise PorismError(
                f"no limit {text!r}", fix=f"write NAME=LOW:HIGH, NAME one of {', '.join(Limits.__slots__)}"
            )
        values[name] = (int(low) if low else -(10**9), int(high) if high else 10**9)
    return Limits(**values)
