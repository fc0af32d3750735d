"""Copy an embedded index into a cluster: as streams, with bounded memory, and so that a load that was killed goes on
where it was.

    copy_store("index", "opensearch://localhost:9200/math")

Ids of documents do not depend on the attempt, so that a block that is sent twice does no harm. The aliases name the new
build once all of it is there.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FIELDS, FORMULA, FORMULA_FAMILIES, VISUAL_FAMILY
from porism.corpus.update.threads import highest
from porism.hashing import hash64
from porism.progress import Progress, Silent
from porism.store.embedded.formulas.store import TYPES
from porism.store.embedded.manifest import RANKING
from porism.store.embedded.posts.store import POST_TYPES, VECTOR_FAMILIES
from porism.store.embedded.storage.columns import read_array, read_columns
from porism.store.embedded.terms.postings import PostingLists
from porism.store.opensearch.address import ClusterAddress
from porism.store.opensearch.connection import Cluster
from porism.store.opensearch.documents import (
    FILE_BLOCK,
    ThreadRecords,
    binary,
    file_lines,
    image_line,
    line,
    lines_of_columns,
    lines_of_threads,
    render_terms,
    single_line,
)
from porism.store.opensearch.folders import IndexSource
from porism.store.opensearch.lease import Lease
from porism.store.opensearch.manifest import Family, StoreManifest, TableFile, view_name
from porism.store.opensearch.packing import FormulaSource, ThreadColumns, pack_formulas, pack_group, pack_threads
from porism.store.opensearch.places import ClusterPlace
from porism.store.opensearch.rows import TABLES, Table, blocks_of, lines_of_posts, place_posts, read_posts
from porism.store.opensearch.schema import (
    COMMON,
    FEW_THREADS,
    MANIFEST,
    MOST_COMMON,
    TAGS,
    Kind,
    main_view,
    scale_of,
)
from porism.store.opensearch.tables import VISUALS, table_files
from porism.store.opensearch.term_rows import read_rows, thread_codes
from porism.store.records import UNKNOWN, Threads

Ints = npt.NDArray[np.int64]
THREADS_AT_ONCE = 250
FORMULAS_AT_ONCE = 2000
BLOCKS_AT_ONCE = 250
SENDERS = 2
HIGHEST = {"formulas": "id", "expressions": "id", "visuals": "id", "posts": "id", "comments": "id", "users": "id"}
LOAD = "load"
MANY_THREADS = 10_000  # from which on it pays to wait until the source of what was loaded can be removed
MARK_SECONDS = 2.0  # between two notes of how far a load is


class Chunk(NamedTuple):
    """Documents that are sent together, and the position up to which the stage is done then."""

    lines: list[bytes]
    end: int


def copy_store(source: str | Path, address: str, progress: Progress | None = None, shards: int = 1) -> int:
    """Copy the index in a folder into a cluster; return the number of the build. Started again after a kill, it goes on
    where it was."""
    parsed = ClusterAddress.parse(address)
    place = ClusterPlace(Cluster(parsed), parsed.name)
    with Lease(place).held(0.0), TemporaryDirectory(prefix="porism-copy-") as work:
        return Loader(place, IndexSource.open(Path(source), Path(work)), progress or Silent(), shards).load()


class Loader:
    """Loads one build."""

    def __init__(
        self,
        place: ClusterPlace,
        source: IndexSource,
        progress: Progress,
        shards: int = 1,
        *,
        name: str = "",
        before: StoreManifest | None = None,
    ) -> None:
        """`before` is the manifest of the collection that the source was made of: what is in no source stays."""
        self._place = place
        self._source = source
        self._progress = progress
        self._shards = shards
        self._name = name or place.name
        self._first: Ints = read_array(source.path / "posts" / "threads.npy")
        self._columns = read_columns(source.path / "posts", POST_TYPES)
        threads, answers = source.posts.size("thread"), source.posts.size("answer")
        self._view = main_view(threads, answers)
        self._weights = np.array(self._view.vector(FIELDS))
        self._families = {family: self._family(family) for family in FAMILIES}
        self._formula_families = {family: self._formula_family(family) for family in FORMULA_FAMILIES}
        self._before = before
        self._generation = 1
        self._marked = 0.0  # when it was noted how far the load is, by time.monotonic()

    def _family(self, family: str) -> Family:
        lengths = read_array(self._source.path / "posts" / f"{family}.lengths.npy")
        is_question = np.zeros(len(lengths), np.bool_)
        is_question[self._first[:-1]] = True
        sums = [tuple(lengths[kept].sum(axis=0, dtype=np.int64).tolist()) for kept in (is_question, ~is_question)]
        counts = self._source.posts.terms.count(family, self._view)
        codes = len(self._source.posts.terms.dictionary(family))
        return Family(counts.mean_length, scale_of(counts.mean_length), codes, *sums)

    def _formula_family(self, family: str) -> Family:
        terms = self._source.formulas.terms
        counts = terms.count(family, FORMULA)
        return Family(
            counts.mean_length, scale_of(counts.mean_length), len(terms.dictionary(family)), (round(counts.length),)
        )

    def load(self) -> int:
        """Load the build, and let the aliases name it."""
        self._build, self._marks = self._begin()
        source, collection = self._source, self._source.collection
        files = self._files()
        self._send("threads", "threads", len(self._first) - 1, self._threads)
        self._send("posts", "posts", len(self._first) - 1, self._posts)
        self._send("formulas", "formulas", source.formulas.formulas, self._formulas)
        for name, table in TABLES.items():
            total = collection.count(name) if name != "titles" else None
            self._send(f"table of {name}", "rows", total, partial(self._blocks, table))
        self._send("others", "rows", None, self._others)
        data = binary(self._manifest(files).to_bytes())
        self._bulk("rows", [line(MANIFEST, 0, {"table": MANIFEST, "data": data})])
        self._place.finish(self._build, slim=len(self._first) > MANY_THREADS)
        before = self._place.current()
        self._place.show(self._build)
        for build in self._place.builds():
            if before is not None and build < before:  # its readers have had a whole build's time to follow
                self._place.remove(build)
        self._place.put_state_value(LOAD, {})
        return self._build

    def _begin(self) -> tuple[int, dict[str, int]]:
        """Return the number of the build and how far each stage is: of a load of the same index that was killed, or of
        a new one."""
        place = self._place
        known, current = place.builds(), place.current()
        stored = place.get_state(LOAD)
        key = hashlib.sha256(repr((self._source.manifest.files, self._source.manifest.collection)).encode()).hexdigest()
        self._key = key
        if stored is not None and stored.value.get("source") == key and stored.value["build"] in known:
            return int(stored.value["build"]), dict(stored.value["marks"])
        for build in known:
            if current is None or build > current:  # a load that was killed, of something else
                place.remove(build)
        build = 1 + max([*known, current or 0], default=0)
        before = place.manifest() if current is not None else None
        scales: dict[Kind, dict[str, int]] = {
            "threads": {family: one.scale for family, one in self._families.items()},
            "formulas": {family: one.scale for family, one in self._formula_families.items()},
        }
        place.create(build, {"threads": self._shards, "posts": self._shards, "formulas": self._shards}, scales)
        place.put_state_value(LOAD, {"build": build, "source": key, "marks": {}})
        self._generation = 1 if before is None else before.generation + 1
        return build, {}

    def _send(self, stage: str, kind: Kind, total: int | None, chunks: Callable[[int], Iterable[Chunk]]) -> None:
        """Send the documents of a stage from where it was, two chunks at a time, and note how far it is."""
        start = self._marks.get(stage, 0)
        with self._progress.stage(stage, total) as advance, ThreadPoolExecutor(SENDERS) as senders:
            sent: deque[tuple[Future[None], int]] = deque()
            advance(start)
            for chunk in chunks(start):
                sent.append((senders.submit(self._bulk, kind, chunk.lines), chunk.end))
                if len(sent) > SENDERS:
                    start = self._note(stage, *sent.popleft(), start, advance)
            while sent:
                start = self._note(stage, *sent.popleft(), start, advance)
        self._write_marks()

    def _note(self, stage: str, done: Future[None], end: int, start: int, advance: Callable[[int], object]) -> int:
        done.result()
        advance(end - start)
        self._marks[stage] = end
        if time.monotonic() > self._marked + MARK_SECONDS:
            self._write_marks()
        return end

    def _write_marks(self) -> None:
        """Note in the cluster how far each stage is."""
        self._marked = time.monotonic()
        value = {"build": self._build, "source": self._key, "marks": self._marks}
        self._place.put_state_value(LOAD, value)

    def _bulk(self, kind: Kind, lines: Iterable[bytes]) -> None:
        self._place.cluster.bulk(self._place.index(kind, self._build), lines)

    def _files(self) -> dict[str, TableFile]:
        """Send the files that clients keep."""
        path = self._source.path
        data = {name: (path / name).read_bytes() for name in table_files(path)}
        data[VISUALS] = _npy(self._source.formulas.all_visual_ids)
        found = {}
        for name, content in data.items():
            blocks = [content[at : at + FILE_BLOCK] for at in range(0, max(1, len(content)), FILE_BLOCK)]
            found[name] = TableFile(len(content), len(blocks), hashlib.sha256(content).hexdigest())
        if not self._marks.get("files"):
            with self._progress.stage("files", None):
                self._bulk("rows", (line for name, content in data.items() for line in file_lines(name, content)))
            self._marks["files"] = 1
        return found

    def _threads(self, start: int) -> Iterator[Chunk]:
        families, number = sorted(FAMILIES), len(self._first) - 1
        dimensions = [f for f in VECTOR_FAMILIES if f in self._source.posts.vectors]
        vectors = [read_array(self._source.path / "posts" / f"vectors.{family}.npy") for family in dimensions]
        vectors += [np.zeros((number, 0), np.float16)] * (len(VECTOR_FAMILIES) - len(vectors))
        for low in range(start, number, THREADS_AT_ONCE):
            high = min(low + THREADS_AT_ONCE, number)
            batch = self._source.posts.fetch(np.arange(low, high), families)
            posts = slice(int(self._first[low]), int(self._first[high]))
            columns = ThreadColumns(
                batch.ends - batch.starts,
                self._columns["id"][posts],
                self._columns["year"][posts],
                self._columns["accepted"][posts],
                [own[low:high] for own in vectors],
            )
            packed = pack_threads(columns, self._source.posts.packed(low, high))
            records = ThreadRecords(packed, self._formulas_of(batch))
            yield Chunk([*lines_of_threads(batch, records, self._families, self._weights, 0)], high)

    def _formulas_of(self, batch: Threads) -> list[bytes]:
        """Return the records of the formulas of each thread that few threads have."""
        terms, formulas = self._source.posts.terms, self._source.formulas
        source = FormulaSource(read_columns(self._source.path / "formulas" / "rows", TYPES))
        found = []
        for codes in thread_codes(batch, VISUAL_FAMILY):
            visuals = terms.numbers(VISUAL_FAMILY, codes[terms.frequencies(VISUAL_FAMILY, codes) <= FEW_THREADS])
            rows = formulas.rows(visuals)
            known = rows != UNKNOWN
            found.append(pack_group(visuals[known].tolist(), [*pack_formulas(source, rows[known].tolist())]))
        return found

    def _posts(self, start: int) -> Iterator[Chunk]:
        ids = self._columns["id"]
        for low in range(start, len(self._first) - 1, THREADS_AT_ONCE):
            high = min(low + THREADS_AT_ONCE, len(self._first) - 1)
            wanted = ids[self._first[low] : self._first[high]].tolist()
            rows = read_posts(self._source.collection, wanted)
            sizes = np.diff(self._first[low : high + 1]).tolist()
            placed = place_posts([rows[number] for number in wanted], sizes)
            yield Chunk([*lines_of_posts(placed, self._source.formulas.part_codes, 0)], high)

    def _formulas(self, start: int) -> Iterator[Chunk]:
        path, formulas = self._source.path / "formulas", self._source.formulas
        lists = {family: PostingLists(path / "terms" / family) for family in FORMULA_FAMILIES}
        lengths = {family: read_array(path / "terms" / f"{family}.lengths.npy") for family in FORMULA_FAMILIES}
        source = FormulaSource(read_columns(path / "rows", TYPES))
        for rows in read_rows(lists, lengths, formulas.formulas):
            if rows.end <= start:
                continue
            texts = {
                family: render_terms(
                    own,
                    np.arange(rows.end - rows.first + 1),
                    np.ones(1),
                    self._formula_families[family].mean,
                    self._formula_families[family].scale,
                )
                for family, own in rows.terms.items()
            }
            for low in range(max(start, rows.first), rows.end, FORMULAS_AT_ONCE):
                high = min(low + FORMULAS_AT_ONCE, rows.end)
                own = slice(low - rows.first, high - rows.first)
                ids = formulas.all_visual_ids[low:high].tolist()
                records = [binary(one) for one in pack_formulas(source, range(low, high))]
                columns = {"id": ids, **{family: text[own] for family, text in texts.items()}, "record": records}
                yield Chunk([*lines_of_columns(ids, 0, columns)], high)

    def _blocks(self, table: Table, start: int) -> Iterator[Chunk]:
        """Tables in blocks; the position is the number of ids up to the last block."""
        blocks = blocks_of(table, self._source.collection.parts.newest_rows(table.query))
        while some := list(islice(blocks, BLOCKS_AT_ONCE)):
            end = 1 + (some[-1].number + 1) * table.size
            if end > start:
                yield Chunk([one.line(0) for one in some], end)

    def _others(self, start: int) -> Iterator[Chunk]:
        """Tags and the most common formulas as one document each, and pictures."""
        collection = self._source.collection
        tags = [list(one) for one in collection.tags()]
        common = [list(one) for one in collection.parts.most_common_visuals(MOST_COMMON)]
        yield Chunk([single_line(TAGS, tags, 0), single_line(COMMON, common, 0)], 1)
        names = [row[0] for row in collection.parts.newest_rows("SELECT name FROM images ORDER BY name")]
        for number, name in enumerate(names):
            data = collection.images([name])[name]
            yield Chunk([image_line(name, hash64(name) >> 1, data, 0)], 2 + number)

    def _manifest(self, files: Mapping[str, TableFile]) -> StoreManifest:
        source, collection = self._source, self._source.collection
        manifest = source.manifest
        facts = {name: value for name, value in collection.manifest.items() if name not in ("files", "parts")}
        top = {table: highest(collection.parts, column, table) for table, column in HIGHEST.items()}
        top["visuals"] = max(top["visuals"], highest(collection.parts, "visual_id", "formulas"))
        if self._before is not None:
            top = {table: max(number, self._before.highest[table]) for table, number in top.items()}
        ranking, position = str(manifest.options.get(RANKING, "")), manifest.log_position
        if self._before is not None:
            ranking, position = self._before.ranking, self._before.log_position
        return StoreManifest(
            self._build,
            self._generation,
            self._name,
            view_name(self._view),
            {
                "thread": source.posts.size("thread"),
                "question": source.posts.size("question"),
                "answer": source.posts.size("answer"),
                "formula": source.formulas.formulas,
            },
            self._families,
            self._formula_families,
            facts,
            top,
            files,
            collection.has_votes,
            collection.has_dates,
            bool(manifest.options.get("links", True)),
            bool(manifest.options.get("vectors", True)),
            ranking,
            *position,
            committed=time.time(),
        )


def _npy(values: npt.NDArray[Any]) -> bytes:
    out = BytesIO()
    np.save(out, values)
    return out.getvalue()
