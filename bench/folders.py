"""Folders of documents: an encyclopedia in LaTeX, and notes in Markdown and notebooks, built, indexed and asked for known facts.

python -m bench folders; PORISM_BENCH_KEEP names a folder in which the documents, collections and indexes stay.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import iterparse

import porism
from porism.corpus.build import build
from porism.corpus.collection import Collection
from porism.corpus.report import report_lines
from porism.corpus.sources import open_source
from porism.index.build import build_index

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("PORISM_SHARED", ROOT.parent / "shared"))
ENTRIES = SHARED / "data/planetmath/entries.jsonl"
HISTORY = ROOT / "sample/dump/PostHistory.xml"
TITLE, BODY = "1", "2"

# What is asked, and a word of the title that the first hits must show.
FACTS = {
    "encyclopedia": (
        (r"$a^{p-1}\equiv 1\pmod p$", "Fermat"),
        (r"$(p-1)!\equiv -1\pmod p$", "Wilson"),
        ("determinant of the Vandermonde matrix", "Vandermonde"),
        (r"every even number greater than 2 is a sum of two primes", "Goldbach"),
        (r"$\left(\frac{p}{q}\right)\left(\frac{q}{p}\right)=(-1)^{\frac{p-1}{2}\frac{q-1}{2}}$", "reciprocity"),
        (r"$\zeta(s)=\prod_p\frac{1}{1-p^{-s}}$", "uler"),
    ),
    "notes": (
        (r"$\sum_{n=1}^\infty\frac{1}{n^2}=\frac{\pi^2}{6}$", "Different proofs"),
        (r"$\binom{n}{k}=\binom{n-1}{k-1}+\binom{n-1}{k}$", "C_n^k"),
    ),
}


def write_encyclopedia(folder: Path) -> int:
    """One .tex file per entry, in a folder for each field; how many."""
    written = 0
    with open(ENTRIES, encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            path = folder / entry["section"] / f"{entry['id']}.tex"
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                path = path.with_stem(f"{path.stem}-{written}")
            text = f"\\title{{{entry['title']}}}\n\\begin{{document}}\n{entry['body']}\n\\end{{document}}\n"
            path.write_text(text, "utf-8")
            written += 1
    return written


def write_notes(folder: Path) -> int:
    """The posts of the sample as their authors typed them: a Markdown file or a notebook each, in turn; how many."""
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, dict[str, str]] = {}
    for _, row in iterparse(HISTORY):
        kind, post = row.get("PostHistoryTypeId", ""), row.get("PostId", "")
        if kind in (TITLE, BODY):
            texts.setdefault(post, {}).setdefault(kind, row.get("Text", ""))
    for at, (post, text) in enumerate(texts.items()):
        source = f"# {text.get(TITLE, 'Answer ' + post)}\n\n{text.get(BODY, '')}\n"
        if at % 2:
            cells = [
                {"cell_type": "markdown", "source": part.splitlines(keepends=True)}
                for part in re.split(r"\n\n", source)
            ]
            (folder / f"{post}.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}), "utf-8")
        else:
            (folder / f"{post}.md").write_text(source, "utf-8")
    return len(texts)


def ask(index: Path, facts: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Where the first title with the word stands, and what is first."""
    engine = porism.open(index)
    for query, word in facts:
        titles = ["".join(part.text for part in hit.title) for hit in engine.search(query, 10, kind="questions").hits]
        rank = next((at for at, title in enumerate(titles, 1) if word in title), None)
        yield f"  {query}: {f'rank {rank}' if rank else 'not in the first 10'}; first: {titles[0] if titles else '-'}"


def measure(name: str, folder: Path) -> None:
    """Build, index and ask one folder of documents."""
    documents, collection, index = folder / name, folder / f"{name}.collection", folder / f"{name}.index"
    start = time.perf_counter()
    build([open_source(documents)], collection)
    built = time.perf_counter()
    with Collection.open(collection) as made:
        build_index(made, index)
        done = time.perf_counter()
        for line in report_lines(made.manifest):
            print("  " + line)
    print(f"  built in {built - start:.0f} s, indexed in {done - built:.0f} s")
    for line in ask(index, FACTS[name]):
        print(line)


def main() -> None:
    """Both folders."""
    with contextlib.ExitStack() as stack:
        place = os.environ.get("PORISM_BENCH_KEEP") or stack.enter_context(tempfile.TemporaryDirectory())
        folder = Path(place)
        if ENTRIES.exists():
            print(f"encyclopedia: {write_encyclopedia(folder / 'encyclopedia'):,} files of LaTeX")
            measure("encyclopedia", folder)
        else:
            print(f"encyclopedia: no data at {SHARED}; set PORISM_SHARED")
        print(f"notes: {write_notes(folder / 'notes'):,} files of Markdown and notebooks")
        measure("notes", folder)


if __name__ == "__main__":
    main()
