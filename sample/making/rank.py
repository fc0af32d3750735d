"""Make small Task 1 runs by plain BM25, as examples for pooling, checking and scoring. This is not Porism's ranking."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from pathlib import Path

from .dump import Dump
from .source import Post
from .topics import MATH, Topic

DEPTH = 25
K1, B = 1.2, 0.75
WORD = re.compile(r"[a-z]{3,}")
SYMBOL = re.compile(r"\\[A-Za-z]+|[A-Za-z]|\d+|[=<>+^_/!-]")


def words(text: str) -> list[str]:
    """Return the words of three or more letters outside formulas and tags."""
    return WORD.findall(re.sub(r"<[^>]+>", " ", MATH.sub(" ", text)).lower())


def symbols(text: str) -> list[str]:
    """Return the pairs of adjacent LaTeX symbols in formulas."""
    pairs: list[str] = []
    for found in MATH.finditer(text):
        tokens = SYMBOL.findall(found[0])
        pairs += [f"{a} {b}" for a, b in itertools.pairwise(tokens)]
    return pairs


# File name, run id, and the function that gives the terms.
RUNS = (
    ("Abacus-task1-words-auto-text-P", "words", words),
    ("Tally-task1-symbols-auto-math-P", "symbols", symbols),
    ("Tally-task1-both-auto-both-A", "both", lambda text: words(text) + symbols(text)),
)


def write_task1_runs(topics: list[Topic], dump: Dump, folder: Path) -> None:
    """Rank all answers up to 2018 for each topic, each answer together with the title of its question."""
    answers = [p for p in dump.calendar.posts if p.parent is not None and dump.calendar.time[p.key].year <= 2018]
    for name, number, tokens in RUNS:
        counts = {dump.ids[answer.key]: Counter(tokens(_text(answer))) for answer in answers}
        rows: list[str] = []
        for topic in topics:
            ranked = _ranking(Counter(tokens(f"{topic.title}\n{topic.question}")), counts)[:DEPTH]
            rows += [f"A.{topic.number}\t{p}\t{r}\t{score:.4f}\t{number}" for r, (p, score) in enumerate(ranked, 1)]
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8", newline="\n")


def _text(answer: Post) -> str:
    return f"{answer.parent.title if answer.parent else ''}\n{answer.text}"


def _ranking(query: Counter[str], counts: dict[int, Counter[str]]) -> list[tuple[int, float]]:
    mean = sum(count.total() for count in counts.values()) / len(counts)
    spread = Counter(token for count in counts.values() for token in count)
    weight = {token: math.log(1 + (len(counts) - spread[token] + 0.5) / (spread[token] + 0.5)) for token in query}
    scores: dict[int, float] = {}
    for post, count in counts.items():
        length = K1 * (1 - B + B * count.total() / mean)
        score = sum(weight[t] * count[t] * (K1 + 1) / (count[t] + length) for t in query if t in count)
        if score > 0:
            scores[post] = round(score, 4)
    return _break_ties(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def _break_ties(ranked: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Lower equal scores slightly, so that every tool keeps the order."""
    last, rows = math.inf, []
    for post, score in ranked:
        last = min(score, round(last - 0.0001, 4))
        rows.append((post, last))
    return rows
