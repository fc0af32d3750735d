"""Whether scores may be compared with the published ones: only scores on the same judgments may."""

from __future__ import annotations

from collections.abc import Mapping

from porism.evaluate.published import published
from porism.evaluate.qrels import count


def difference_from_official(qrels: Mapping[str, Mapping[str, int]], task: int, year: int) -> str:
    """Return how judgments differ from the official ones of an edition, by their counts; nothing if they are the same."""
    table = published("qrels")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    official = [row for row in rows if (row["year"], row["task"], row["scope"]) == (year, task, "official")]
    found = count(qrels)
    ours = {
        "topics": found.topics,
        "judged": found.judged,
        **{f"grade {grade}": found.grades.get(grade, 0) for grade in range(4)},
    }
    if any(all(row[name] == number for name, number in ours.items()) for row in official):
        return ""
    expected = " or ".join(dict.fromkeys(f"{row['topics']} topics and {row['judged']:,} judgments" for row in official))
    return (
        f"these judgments are not the official ones of Task {task}, {year}: "
        f"{found.topics} topics and {found.judged:,} judgments instead of {expected}"
    )
