"""Runs under a Python that has pya0 (Approach Zero): indexes LaTeX lines, then answers queries, telling the seconds of each.

python _pya0.py FORMULAS DIRECTORY       (one formula a line; then on standard input one query a line, as JSON)
Lines of ours begin with `pya0:`; the library prints others.
"""

from __future__ import annotations

import json
import sys
import time

import pya0

K = 1000


def say(value: object) -> None:
    """One line of ours, on a line of its own whatever the library printed before it."""
    print(f"\npya0:{json.dumps(value)}", flush=True)


def build(formulas: str, directory: str) -> tuple[float, float]:
    """Seconds by the clock and of processors."""
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
    """Build, then answer."""
    say(build(formulas, directory))
    index = pya0.index_open(directory, option="r")
    for line in sys.stdin:
        latex = json.loads(line)
        start = time.perf_counter()
        pya0.search(index, [{"str": latex, "type": "tex"}], verbose=False, topk=K)
        say(time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:3])
