"""Folders of documents: build, index and search an encyclopedia in LaTeX, and notes in Markdown and notebooks.

python -m bench folders; PORISM_BENCH_KEEP names a folder that keeps documents, collections and indexes for the next time.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import iterparse

import porism
from bench._data import DATA, SHARED
from bench._judged import folder
from porism.corpus.build.ledger import report_lines
from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.store import open_content
from porism.store.maintenance import build_index

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = DATA / "planetmath/entries.jsonl"
HISTORY = ROOT / "sample/dump/PostHistory.xml"
TITLE, BODY = "1", "2"

# Queries, each with a word that the title of a first hit must contain.
QUERIES = {
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


def write_encyclopedia(place: Path) -> int:
    """Write a .tex file for each entry, in a folder for each field; return how many."""
    written, used = 0, set[Path]()
    with open(ENTRIES, encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            path = place / entry["section"] / f"{entry['id']}.tex"
            path.parent.mkdir(parents=True, exist_ok=True)
            if path in used:
                path = path.with_stem(f"{path.stem}-{written}")
            used.add(path)
            text = f"\\title{{{entry['title']}}}\n\\begin{{document}}\n{entry['body']}\n\\end{{document}}\n"
            path.write_text(text, "utf-8")
            written += 1
    return written


def write_notes(place: Path) -> int:
    """Write the posts of the sample as their authors typed them, as Markdown files and notebooks in turn; return how
    many."""
    place.mkdir(parents=True, exist_ok=True)
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
            (place / f"{post}.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}), "utf-8")
        else:
            (place / f"{post}.md").write_text(source, "utf-8")
    return len(texts)


def search(index: Path, queries: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield for each query the rank of the first title with the word, and the first title."""
    engine = porism.open(index)
    for query, word in queries:
        titles = ["".join(part.text for part in hit.title) for hit in engine.search(query, 10, kind="questions").hits]
        rank = next((at for at, title in enumerate(titles, 1) if word in title), None)
        yield f"  {query}: {f'rank {rank}' if rank else 'not in the first 10'}; first: {titles[0] if titles else '-'}"


def measure(name: str, place: Path) -> None:
    """Build, index and search one folder of documents."""
    collection, index = place / f"{name}.collection", place / f"{name}.index"
    start = time.perf_counter()
    if not collection.exists():
        build([open_source(place / name)], collection)
        print(f"  built in {time.perf_counter() - start:.0f} s")
    content = open_content(collection)
    start = time.perf_counter()
    if not index.exists():
        build_index(content, index)
        print(f"  indexed in {time.perf_counter() - start:.0f} s")
    for line in report_lines(content.facts):
        print("  " + line)
    for line in search(index, QUERIES[name]):
        print(line)


def main() -> None:
    """Measure both folders."""
    place = folder()
    if ENTRIES.exists():
        print(f"encyclopedia: {write_encyclopedia(place / 'encyclopedia'):,} files of LaTeX")
        measure("encyclopedia", place)
    else:
        print(f"encyclopedia: no data at {SHARED}; set PORISM_SHARED")
    print(f"notes: {write_notes(place / 'notes'):,} files of Markdown and notebooks")
    measure("notes", place)


if __name__ == "__main__":
    main()
