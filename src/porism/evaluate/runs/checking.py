"""Files as a submission: checked together, or mended one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from porism.evaluate.runs.check import check_run, check_submission, cleaned
from porism.evaluate.runs.facts import CollectionFacts
from porism.evaluate.runs.problems import LEVELS, Problem, counts, kinds, reject, report
from porism.evaluate.runs.run import stem, write_run


def check_files(files: Sequence[str], topics: str | None = None, collection: str | None = None) -> list[Problem]:
    """All problems of all files, and those of the files together."""
    facts = CollectionFacts(collection) if collection else None
    checked = [check_run(path, known_topics(topics), facts) for path in files]
    return [problem for one in checked for problem in one.problems] + list(check_submission(checked))


def known_topics(path: str | None) -> tuple[str, ...]:
    """The ids of a topic file."""
    if path is None:
        return ()
    from porism.corpus.topics.files import read_topics

    return tuple(topic.id for topic in read_topics(path))


def summary(problems: Sequence[Problem], as_json: bool = False) -> str:
    """What a person reads: the problems, then how many of each kind and the topics with most. Or one JSON object per problem."""
    if as_json:
        rows = [
            {
                "level": one.level,
                "kind": one.kind,
                "file": one.file,
                "line": one.line,
                "topic": one.topic,
                "message": one.message,
                "fix": one.fix,
            }
            for one in problems
        ]
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    lines = report(problems)
    by_kind, by_topic = counts(problems), counts(problems, "topic")
    lines += [
        f"{number:>7}  {kinds()[kind].level} {kind} ({LEVELS[kinds()[kind].level]})" for kind, number in by_kind.items()
    ]
    worst = sorted(by_topic.items(), key=lambda pair: (-pair[1], pair[0]))[:10]
    if worst:
        lines.append(
            "topics: "
            + ", ".join(f"{topic} {number}" for topic, number in worst)
            + (", ..." if len(by_topic) > 10 else "")
        )
    return "\n".join(lines or ["no problem found"]) + "\n"


def fix_file(
    path: str, target: str | None = None, topics: str | None = None, collection: str | None = None
) -> tuple[Path, str]:
    """Write the cleaned run; where, and what was done. A file with errors cannot be mended here and is refused."""
    checked = check_run(path, known_topics(topics), CollectionFacts(collection) if collection else None)
    reject(checked.problems)
    place = Path(target) if target else Path(path).with_name(f"{stem(path)}.fixed.tsv")
    write_run(cleaned(checked), place)
    found = counts(checked.problems)
    words = ", ".join(f"{number} {kind}" for kind, number in found.items()) or "nothing to mend"
    return place, f"{path}: {words}; {len(checked.dropped)} {'hit' if len(checked.dropped) == 1 else 'hits'} dropped"
