"""Copy an embedded index into a cluster: as streams, with bounded memory, and so that a load that was killed goes on where it was.

    copy_store("index", "opensearch://localhost:9200/math")

Ids of documents do not depend on the attempt, so that a block that is sent twice does no harm. The aliases name the new build once all of it is there.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import cbor2
import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FIELDS, FORMULA, FORMULA_FAMILIES
from porism.corpus.store.collection import Collection
from porism.corpus.update.threads import highest
from porism.hashing import hash64
from porism.progress import Progress, Silent
from porism.store.embedded.build import build_index
from porism.store.embedded.formulas.store import TYPES, EmbeddedFormulas
from porism.store.embedded.manifest import RANKING, SEARCH, Manifest, read_manifest
from porism.store.embedded.posts.store import POST_TYPES, EmbeddedPosts
from porism.store.embedded.segments.writer import open_collection_of
from porism.store.embedded.storage.columns import read_array, read_columns
from porism.store.embedded.terms.postings import PostingLists
from porism.store.embedded.vectors import VECTOR_FAMILIES
from porism.store.opensearch.address import ClusterAddress
from porism.store.opensearch.blocks import TABLES, Block, blocks_of
from porism.store.opensearch.connection import Cluster
from porism.store.opensearch.inverting import read_rows
from porism.store.opensearch.lease import Lease
from porism.store.opensearch.manifest import Family, StoreManifest, view_name
from porism.store.opensearch.manifest import StoredFile as File
from porism.store.opensearch.packing import FormulaSource, ThreadColumns, pack_formulas, pack_threads
from porism.store.opensearch.places import Place
from porism.store.opensearch.posts import PlacedPost, lines_of_posts, read_posts
from porism.store.opensearch.rendering import binary, line, lines_of_columns, render_terms
from porism.store.opensearch.schema import (
    COMMON,
    MANIFEST,
    MOST_COMMON,
    TAGS,
    Kind,
    file_key,
    image_key,
    main_view,
    scale_of,
    year_field,
)
from porism.store.opensearch.tables import VISUALS, table_files
from porism.store.records import Threads

Ints = npt.NDArray[np.int64]
THREADS_AT_ONCE = 250
FORMULAS_AT_ONCE = 2000
BLOCKS_AT_ONCE = 250
SENDERS = 2
FILE_BLOCK = 1 << 21  # bytes of a file in one document
HIGHEST = {"formulas": "id", "expressions": "id", "visuals": "id", "posts": "id", "comments": "id", "users": "id"}
LOAD = "load"


class Chunk(NamedTuple):
    """Documents that are sent together, and the position up to which the stage is done then."""

    lines: list[bytes]
    end: int


class Source(NamedTuple):
    """An embedded index with a single segment."""

    path: Path
    manifest: Manifest
    collection: Collection
    posts: EmbeddedPosts
    formulas: EmbeddedFormulas

    @classmethod
    def open(cls, path: Path, work: Path) -> Source:
        """Open an index. One that has changed since it was built is built anew into the folder `work`, so that it has one segment."""
        manifest = read_manifest(path, SEARCH)
        if len(manifest.segments) > 1 or manifest.segments[0].deletions or manifest.segments[0].name != ".":
            links, vectors = (bool(manifest.options.get(name, True)) for name in ("links", "vectors"))
            with open_collection_of(path, manifest) as collection:
                build_index(collection, work / "index", links=links, vectors=vectors)
            path = work / "index"
            kept = {name: value for name, value in manifest.options.items() if name in (RANKING, "log", "log_sequence")}
            built = read_manifest(path, SEARCH)
            return cls._open(path, built, {**built.options, **kept})
        return cls._open(path, manifest, manifest.options)

    @classmethod
    def _open(cls, path: Path, manifest: Manifest, options: Mapping[str, Any]) -> Source:
        collection = open_collection_of(path, manifest)
        vectors = bool(manifest.options.get("vectors", True))
        posts = EmbeddedPosts(path / "posts", vectors=vectors)
        return cls(
            path, replace(manifest, options=options), collection, posts, EmbeddedFormulas.open(path / "formulas")
        )


def copy_store(source: str | Path, address: str, progress: Progress | None = None, shards: int = 1) -> int:
    """Copy the index in a folder into a cluster; return the number of the build. Started again after a kill, it goes on where it was."""
    place = Place(Cluster(ClusterAddress.parse(address)), ClusterAddress.parse(address).name)
    lease = Lease(place)
    lease.acquire(0.0)
    try:
        with TemporaryDirectory(prefix="porism-copy-") as work:
            return Loader(place, Source.open(Path(source), Path(work)), progress or Silent(), shards).load()
    finally:
        lease.release()


class Loader:
    """Loads one build."""

    def __init__(
        self,
        place: Place,
        source: Source,
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
            rows = collection.parts.newest_rows(table.query)
            self._send(
                f"table of {name}",
                "rows",
                total,
                lambda start, own=blocks_of(table, rows): _chunks_of_blocks(own, start),
            )
        self._send("others", "rows", None, self._others)
        data = binary(self._manifest(files).to_bytes())
        self._bulk("rows", [line(MANIFEST, 0, {"table": MANIFEST, "data": data})])
        self._place.finish(self._build)
        self._place.show(self._build)
        self._place.put_state_value(LOAD, {})
        return self._build

    def _begin(self) -> tuple[int, dict[str, int]]:
        """Return the number of the build and how far each stage is: of a load of the same index that was killed, or of a new one."""
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

    def _note(self, stage: str, done: Future[None], end: int, start: int, advance: Callable[[int], object]) -> int:
        done.result()
        advance(end - start)
        self._marks[stage] = end
        value = {"build": self._build, "source": self._key, "marks": self._marks}
        self._place.put_state_value(LOAD, value)
        return end

    def _bulk(self, kind: Kind, lines: Iterable[bytes]) -> None:
        self._place.cluster.bulk(self._place.index(kind, self._build), lines)

    def _files(self) -> dict[str, File]:
        """Send the files that clients keep."""
        path = self._source.path
        data = {name: (path / name).read_bytes() for name in table_files(path)}
        data[VISUALS] = _npy(self._source.formulas.all_visual_ids)
        found = {}
        for name, content in data.items():
            blocks = [content[at : at + FILE_BLOCK] for at in range(0, max(1, len(content)), FILE_BLOCK)]
            found[name] = File(len(content), len(blocks), hashlib.sha256(content).hexdigest())
        if not self._marks.get("files"):
            with self._progress.stage("files", len(data)) as advance:
                for name, content in data.items():
                    self._bulk("rows", file_lines(name, content))
                    advance(1)
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
            yield Chunk([*lines_of_threads(batch, packed, self._families, self._weights, 0)], high)

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

    def _manifest(self, files: Mapping[str, File]) -> StoreManifest:
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


def lines_of_threads(
    batch: Threads, packed: Sequence[bytes], families: Mapping[str, Family], weights: npt.NDArray[Any], generation: int
) -> Iterator[bytes]:
    """Yield threads as actions of a bulk request."""
    first = np.append(batch.starts, batch.ends[-1:])
    columns: dict[str, Sequence[Any]] = {"id": batch.post_ids[batch.starts].tolist()}
    for family, rows in batch.terms.items():
        columns[family] = render_terms(rows, first, weights, families[family].mean, families[family].scale)
    columns |= _years(batch)
    columns["record"] = [binary(one) for one in packed]
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
    """Yield posts with the title of their thread and their position; `sizes` are the numbers of posts of threads, the question first."""
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


def _npy(values: npt.NDArray[Any]) -> bytes:
    out = BytesIO()
    np.save(out, values)
    return out.getvalue()


def _chunks_of_blocks(blocks: Iterator[Block], start: int) -> Iterator[Chunk]:
    """Yield blocks together; the position is the number of ids up to the last one."""
    while some := list(islice(blocks, BLOCKS_AT_ONCE)):
        end = 1 + (some[-1].number + 1) * some[-1].table.size
        if end > start:
            yield Chunk([one.line(0) for one in some], end)
