"""Judgments become qrels: merging, the two codes that are no grade, removal of topics, variants.

Rules of the lab: System failure and Do not know count as not judged in Tasks 1 and 2 and as 0 in Task 3; a visual formula
has the highest grade of its instances; a topic with fewer than two High or Medium items is dropped from the official
file (one item would decide its whole score) and kept in the `all` file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from porism.files import atomic_file
from porism.lab.judging.assessment import Assessment
from porism.lab.judging.scale import RELEVANT
from porism.lab.pooling.rules import topic_key
from porism.records import Judgment

MINIMUM_RELEVANT = 2
# trec_eval reads a negative grade as "pooled but not judged", which infAP needs of a sampled pool.
POOLED_UNJUDGED = -1


def is_written(item: str) -> bool:
    """Is it the synthetic id of a Task 3 answer?"""
    return item.startswith("d_")


def standing(assessments: Iterable[Assessment]) -> list[Assessment]:
    """The main judgments, one per item and instance: where two people judged the same, the later submission stands."""
    last: dict[tuple[str, str, int], Assessment] = {}
    for one in assessments:
        if one.purpose != "main":
            continue
        key = (one.topic, one.item, one.instance)
        if key not in last or (one.submitted, one.assessor) >= (last[key].submitted, last[key].assessor):
            last[key] = one
    return list(last.values())


def merge(assessments: Iterable[Assessment], task: int) -> list[Judgment]:
    """The judgments of Task 1, 2 or 3, sorted. In Task 3 the codes 5 and 6 are kept: see `as_official`."""
    best: dict[tuple[str, str], int] = {}
    for one in standing(assessments):
        if one.task != (2 if task == 2 else 1) or (task != 2 and is_written(one.item) != (task == 3)):
            continue
        key = (one.topic, one.item)
        if task == 3:
            best[key] = one.grade
        elif one.grade <= 3:
            best[key] = max(one.grade, best.get(key, 0))
    return [Judgment(*key, best[key]) for key in sorted(best, key=lambda key: (topic_key(key[0]), item_key(key[1])))]


def item_key(item: str) -> tuple[str, int, str]:
    """Items in the order of their numbers."""
    head, _, tail = item.rpartition("_")
    return (head, int(tail), "") if tail.isdigit() else (head, 0, item)


def kept_topics(judgments: Iterable[Judgment], minimum: int = MINIMUM_RELEVANT) -> set[str]:
    """Topics with at least `minimum` items of grade Medium or High."""
    counts: dict[str, int] = {}
    for one in judgments:
        counts[one.topic] = counts.get(one.topic, 0) + (RELEVANT <= one.grade <= 3)
    return {topic for topic, count in counts.items() if count >= minimum}


def coded_as_zero(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Task 3: failure and do not know count as not relevant."""
    return [Judgment(one.topic, one.item, one.grade if one.grade <= 3 else 0) for one in judgments]


def with_unjudged(judgments: Iterable[Judgment], pooled: Iterable[tuple[str, str]]) -> list[Judgment]:
    """Add the pooled items that nobody judged with grade -1, so that infAP can infer from the sample."""
    known = {(one.topic, one.item): one for one in judgments}
    for topic, item in pooled:
        known.setdefault((topic, item), Judgment(topic, item, POOLED_UNJUDGED))
    return [known[key] for key in sorted(known, key=lambda key: (topic_key(key[0]), item_key(key[1])))]


@dataclass(frozen=True, slots=True)
class Variants:
    """The files of one task: name of the variant -> judgments; and the topics that the official one leaves out."""

    files: Mapping[str, list[Judgment]]
    removed: tuple[str, ...]


def variants(
    assessments: Iterable[Assessment],
    task: int,
    *,
    minimum: int = MINIMUM_RELEVANT,
    pooled: Iterable[tuple[str, str]] | None = None,
) -> Variants:
    """`official` and `all`; Task 3 has `complete` (codes kept) too; with `pooled`, also `sampled` for infAP.

    Which topics stand is decided by the answers of Task 1 for Tasks 1 and 3, and by the formulas for Task 2.
    """
    given = list(assessments)
    judged = merge(given, task)
    kept = kept_topics(merge(given, 2 if task == 2 else 1), minimum)
    shape: Callable[[list[Judgment]], list[Judgment]] = coded_as_zero if task == 3 else list
    official = [one for one in judged if one.topic in kept]
    files = {"official": shape(official), "all": shape(judged)}
    if task == 3:
        files["complete"] = official
    if pooled is not None:
        wanted = [(topic, item) for topic, item in pooled if topic in kept and is_written(item) == (task == 3)]
        files["sampled"] = with_unjudged(files["official"], wanted)
    topics = {one.topic for one in judged}
    return Variants(files, tuple(sorted(topics - kept, key=topic_key)))


def write_variants(found: Variants, task: int, folder: Path, stem: str = "") -> list[Path]:
    """Write `qrel_task1_official.tsv` and its like: topic, 0, item, grade, between tabs."""
    paths = []
    for name, judgments in found.files.items():
        path = folder / f"qrel_task{task}_{stem + '_' if stem else ''}{name}.tsv"
        with atomic_file(path) as out:
            out.writelines(f"{one.topic}\t0\t{one.item}\t{one.grade}\n" for one in judgments)
        paths.append(path)
    return paths
