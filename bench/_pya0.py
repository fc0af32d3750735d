"""Runs under a Python that has pya0 (Approach Zero): indexes LaTeX lines, answers queries, prints JSON of seconds.

python _pya0.py FORMULAS QUERIES DIRECTORY       (one formula a line)
"""

from __future__ import annotations

import json
import sys
import time

import pya0

K = 1000


def main(formulas: str, queries: str, directory: str) -> None:
    with open(formulas, encoding="utf-8") as file:
        documents = file.read().split("\n")
    with open(queries, encoding="utf-8") as file:
        asked = file.read().split("\n")
    start = time.perf_counter()
    index = pya0.index_open(directory, option="w")
    writer = pya0.index_writer(index)
    for latex in documents:
        pya0.writer_add_doc(writer, content=f"[imath]{latex}[/imath]")
        if pya0.writer_maintain(writer):
            continue
    pya0.writer_flush(writer)
    pya0.writer_close(writer)
    pya0.index_close(index)
    built = time.perf_counter() - start
    processor = time.process_time()
    index = pya0.index_open(directory, option="r")
    seconds = []
    for latex in asked:
        start = time.perf_counter()
        pya0.search(index, [{"str": latex, "type": "tex"}], verbose=False, topk=K)
        seconds.append(time.perf_counter() - start)
    print("\n" + json.dumps({"build": built, "processor": processor, "queries": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:4])
