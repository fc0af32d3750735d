"""Run by a Python that has pya0 (Approach Zero): index lines of LaTeX, then answer queries, and print the seconds of
each.

python _pya0.py FORMULAS DIRECTORY       (one formula a line; then on standard input one query a line, as JSON)
Our lines begin with `pya0:`; the library prints others.
"""

from __future__ import annotations

import json
import sys
import time

import pya0  # type: ignore[import-not-found]

K = 1000


def report(value: object) -> None:
    """Print one of our lines, after whatever the library printed."""
    print(f"\npya0:{json.dumps(value)}", flush=True)


def build(formulas: str, directory: str) -> tuple[float, float]:
    """Build the index; return wall-clock and processor seconds."""
    with open(formulas, encoding="utf-8") as file:
        documents = file.read().split("\n")
    start, used = time.perf_counter(), time.process_time()
    index = pya0.index_open(directory, option="w")
    writer = pya0.index_writer(index)
    for latex in documents:
        pya0.writer_add_doc(writer, content=f"[imath]{latex}[/imath]")
        pya0.writer_maintain(writer)
    pya0.writer_flush(writer)
    pya0.writer_close(writer)
    pya0.index_close(index)
    return time.perf_counter() - start, time.process_time() - used


def main(formulas: str, directory: str) -> None:
    """Build the index, then answer queries."""
    report(build(formulas, directory))
    index = pya0.index_open(directory, option="r")
    for line in sys.stdin:
        latex = json.loads(line)
        start = time.perf_counter()
        pya0.search(index, [{"str": latex, "type": "tex"}], verbose=False, topk=K)
        report(time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:3])
