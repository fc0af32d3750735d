"""Threads, files and short tables as documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import cbor2
import numpy as np
import numpy.typing as npt

from porism.store.opensearch.manifest import Family
from porism.store.opensearch.posts import PlacedPost
from porism.store.opensearch.rendering import binary, line, lines_of_columns, render_terms
from porism.store.opensearch.schema import file_key, image_key, year_field
from porism.store.records import Threads

FILE_BLOCK = 1 << 21  # bytes of a file in one document


class ThreadRecords(NamedTuple):
    """The records of some threads, and those of their formulas."""

    terms: Sequence[bytes]
    formulas: Sequence[bytes]


def lines_of_threads(
    batch: Threads, records: ThreadRecords, families: Mapping[str, Family], weights: npt.NDArray[Any], generation: int
) -> Iterator[bytes]:
    """Yield threads as actions of a bulk request."""
    first = np.append(batch.starts, batch.ends[-1:])
    columns: dict[str, Sequence[Any]] = {"id": batch.post_ids[batch.starts].tolist()}
    for family, rows in batch.terms.items():
        columns[family] = render_terms(rows, first, weights, families[family].mean, families[family].scale)
    columns |= _years(batch)
    columns["record"] = [binary(one) for one in records.terms]
    columns["formulas"] = [binary(one) for one in records.formulas]
    return iter(lines_of_columns(columns["id"], generation, columns))


def _years(batch: Threads) -> dict[str, list[list[int]]]:
    """Return the distinct years of the posts of each thread, by kind and acceptance."""
    found: dict[str, list[list[int]]] = {}
    for kind in ("question", "answer"):
        for only_accepted in (False, True):
            own = found.setdefault(year_field(kind, only_accepted), [])
            for start, end in zip(batch.starts.tolist(), batch.ends.tolist(), strict=True):
                posts = slice(start, start + 1) if kind == "question" else slice(start + 1, end)
                years = batch.years[posts][batch.accepted[posts]] if only_accepted else batch.years[posts]
                own.append(sorted(set(years.tolist())))
    return found


def place_posts(posts: Sequence[Any], sizes: Sequence[int]) -> Iterator[PlacedPost]:
    """Yield posts with the title of their thread and their position; `sizes` are the numbers of posts of threads, the
    question first."""
    left = iter(posts)
    for size in sizes:
        title = ""
        for position, rows in enumerate(islice(left, size)):
            title = rows.post[12] if not position else title
            yield PlacedPost(rows, title, position)


def image_line(name: str, number: int, data: bytes, generation: int) -> bytes:
    """Return the document of a picture; numbers are those of a stream, so that no two pictures should have the same."""
    return line(
        image_key(name), generation, {"table": "images", "block": number, "data": binary(cbor2.dumps([name, data]))}
    )


def single_line(key: str, rows: Sequence[Any], generation: int) -> bytes:
    """Return the document of a short table."""
    return line(key, generation, {"table": key, "data": binary(cbor2.dumps(rows))})


def file_lines(name: str, content: bytes) -> Iterator[bytes]:
    """Yield a file in blocks."""
    for number, at in enumerate(range(0, max(1, len(content)), FILE_BLOCK)):
        yield line(file_key(name, number), 0, {"table": "file", "data": binary(content[at : at + FILE_BLOCK])})
