"""Turn judgments into qrels: merge them, treat the two codes that are no grades, drop topics, write variants.

Rules of the lab: System failure and Do not know count as not judged in Tasks 1 and 2 and as 0 in Task 3. A visually
distinct formula gets the highest grade of its instances. A topic with fewer than two High or Medium items is left out
of the official file (a single item would decide its whole score) and kept in the `all` file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from porism.corpus.content import Content
from porism.corpus.sources.raw import RowError
from porism.corpus.sources.tables import Row, read_table
from porism.errors import PorismError, listed
from porism.evaluate.qrels import HIGHEST, from_judgments, to_judgments
from porism.files import atomic_file
from porism.lab.judging.assessments import Assessment, main_judgments
from porism.lab.judging.scale import RELEVANT
from porism.lab.pooling.pool import ItemId, is_written_answer
from porism.records import Judgment, topic_key

MINIMUM_RELEVANT = 2
# trec_eval reads a negative grade as "pooled but not judged", which infAP needs for a sampled pool.
POOLED_UNJUDGED = -1
COLUMNS = ("topic", "post_id", "latex", "grade")


def merge(assessments: Iterable[Assessment], task: int) -> list[Judgment]:
    """Return the sorted judgments of Task 1, 2 or 3. Task 3 keeps the codes 5 and 6 (see `codes_as_zero`)."""
    best: dict[ItemId, int] = {}
    for given in main_judgments(assessments):
        if given.task != (2 if task == 2 else 1) or (task != 2 and is_written_answer(given.item) != (task == 3)):
            continue
        key = ItemId(given.topic, given.item)
        if task == 3:
            best[key] = given.grade
        elif given.grade <= 3:
            best[key] = max(given.grade, best.get(key, 0))
    return sorted((Judgment(*key, grade) for key, grade in best.items()), key=_sort_key)


def _sort_key(judgment: Judgment) -> tuple[tuple[str, int, str], tuple[str, int, str]]:
    """Return a key that puts topics and their items in the order of their numbers."""
    head, _, tail = judgment.item.rpartition("_")
    return topic_key(judgment.topic), (head, int(tail), "") if tail.isdigit() else (head, 0, judgment.item)


def kept_topics(judgments: Iterable[Judgment], minimum: int = MINIMUM_RELEVANT) -> set[str]:
    """Return the topics with at least `minimum` items of grade Medium or High."""
    counts: Counter[str] = Counter()
    for judgment in judgments:
        counts[judgment.topic] += RELEVANT <= judgment.grade <= 3
    return {topic for topic, count in counts.items() if count >= minimum}


def codes_as_zero(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Count System failure and Do not know as not relevant, as Task 3 does."""
    return [Judgment(j.topic, j.item, j.grade if j.grade <= 3 else 0) for j in judgments]


def with_unjudged(judgments: Iterable[Judgment], pooled: Iterable[ItemId]) -> list[Judgment]:
    """Add the pooled items that nobody judged with grade -1, so that infAP can infer from the sample."""
    known = {ItemId(judgment.topic, judgment.item): judgment for judgment in judgments}
    for item in pooled:
        known.setdefault(item, Judgment(item.topic, item.item, POOLED_UNJUDGED))
    return sorted(known.values(), key=_sort_key)


@dataclass(frozen=True, slots=True)
class QrelsVariants:
    """The qrels of one task: the judgments of each variant, and the topics that the official variant leaves out."""

    files: Mapping[str, list[Judgment]]
    removed: tuple[str, ...]


def variants(
    assessments: Iterable[Assessment],
    task: int,
    *,
    minimum: int = MINIMUM_RELEVANT,
    pooled: Iterable[ItemId] | None = None,
) -> QrelsVariants:
    """Return `official` and `all`, for Task 3 also `complete` (codes kept), with `pooled` also `sampled` (for infAP).

    The answers of Task 1 decide which topics are official in Tasks 1 and 3; the formulas decide in Task 2.
    """
    given = list(assessments)
    judged = merge(given, task)
    kept = kept_topics(merge(given, 2 if task == 2 else 1), minimum)
    shape: Callable[[list[Judgment]], list[Judgment]] = codes_as_zero if task == 3 else list
    official = [judgment for judgment in judged if judgment.topic in kept]
    files = {"official": shape(official), "all": shape(judged)}
    if task == 3:
        files["complete"] = official
    if pooled is not None:
        wanted = [item for item in pooled if item.topic in kept and is_written_answer(item.item) == (task == 3)]
        files["sampled"] = with_unjudged(files["official"], wanted)
    topics = {judgment.topic for judgment in judged}
    return QrelsVariants(files, tuple(sorted(topics - kept, key=topic_key)))


def qrels_text(judgments: Iterable[Judgment]) -> str:
    """Return judgments as the lines of a qrels file: topic, 0, item, grade, between tabs."""
    return "".join(f"{judgment.topic}\t0\t{judgment.item}\t{judgment.grade}\n" for judgment in judgments)


def write_variants(found: QrelsVariants, task: int, folder: Path, stem: str = "") -> list[Path]:
    """Write each variant to a file such as `qrel_task1_official.tsv`; return the paths."""
    paths = []
    for name, judgments in found.files.items():
        path = folder / f"qrel_task{task}_{stem + '_' if stem else ''}{name}.tsv"
        with atomic_file(path) as out:
            out.write(qrels_text(judgments))
        paths.append(path)
    return paths


def variants_by_visual_id(path: Path, content: Content, minimum: int = MINIMUM_RELEVANT) -> QrelsVariants:
    """Return `official` and `all`; a visual id gets the highest grade of its instances. Unknown ones are an error."""
    judgments: list[Judgment] = []
    unknown: list[str] = []
    rows = [(row, *_post_and_grade(row)) for row in read_table(path, COLUMNS, quoted=False)]
    formulas = content.formulas_by_post([post_id for _, post_id, _ in rows])
    for row, post_id, grade in rows:
        same = [formula for formula in formulas.get(post_id, ()) if formula.latex == row["latex"]]
        judgments += [Judgment(row["topic"], str(formula.visual_id), grade) for formula in same]
        if not same:
            unknown.append(f"{row.where}: post {row['post_id']} has no formula {row['latex']}")
    if unknown:
        where, message = listed(unknown).split(": ", 1)
        raise PorismError(message, where=where, fix="name the collection whose posts were judged")
    merged = sorted(to_judgments(from_judgments(judgments)), key=_sort_key)
    kept = kept_topics(merged, minimum)
    official = [judgment for judgment in merged if judgment.topic in kept]
    removed = {judgment.topic for judgment in merged} - kept
    return QrelsVariants({"official": official, "all": merged}, tuple(sorted(removed, key=topic_key)))


def _post_and_grade(row: Row) -> tuple[int, int]:
    try:
        grade = row.number("grade")
        if 0 <= grade <= HIGHEST:
            return row.number("post_id"), grade
        problem = f"grade {grade} is not one of 0, 1, 2, 3"
    except RowError as error:
        problem = str(error)
    raise PorismError(problem, where=row.where, fix="correct the row")
