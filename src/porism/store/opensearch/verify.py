"""Compare a copy in a cluster with its source: counts, fingerprints, and digests of all records, formulas and posts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES
from porism.corpus.content import Content, batched
from porism.errors import PorismError
from porism.integrity import Damage, Verification
from porism.progress import Progress, Silent
from porism.store.embedded.segments.term_index import SegmentedTermIndex
from porism.store.embedded.store import EmbeddedStore
from porism.store.embedded.terms.dictionary import Hashes
from porism.store.local import LocalSnapshot
from porism.store.opensearch.generation import read_files
from porism.store.opensearch.snapshot import ClusterSnapshot
from porism.store.opensearch.store import ClusterStore
from porism.store.protocols import Snapshot

AT_ONCE = 250
AGAIN = "copy the collection again: porism store copy FOLDER {}"
HashesOf = Callable[[str], Hashes]  # the hashes of the terms of a family, by code


def differences(address: str, source: str | Path, progress: Progress | None = None) -> list[str]:
    """Return what differs between a collection in a cluster and the index in a folder."""
    report = progress or Silent()
    copy, own = ClusterStore.open(address).snapshot(), EmbeddedStore(source).snapshot()
    found = _facts(copy, own)
    known: tuple[tuple[str, Callable[[Any, Any], Iterator[bytes]]], ...] = (
        ("records of threads", lambda snapshot, hashes: _records(snapshot, hashes)),
        ("formulas", lambda snapshot, _: _formulas(snapshot)),
        ("posts", lambda snapshot, _: _posts(snapshot.content)),
    )
    for name, read in known:
        with report.stage(name) as advance:
            digests = [
                _digest(read(copy, copy.generation.tables.hashes), advance),
                _digest(read(own, _embedded_hashes(own)), advance),
            ]
        if digests[0] != digests[1]:
            found.append(f"the {name} have the digest {digests[0][:12]}, not {digests[1][:12]}")
    return found


def verify_collection(snapshot: ClusterSnapshot, progress: Progress | None = None) -> Verification:
    """Read the records of all threads and formulas and the files of the tables, and count the documents."""
    report, address, manifest = progress or Silent(), snapshot.info.address, snapshot.generation.manifest
    threads, formulas = list(snapshot.content.question_ids()), snapshot.generation.tables.symbols.visual_ids.tolist()
    damages = []
    for name, found, right in (
        ("threads", len(threads), manifest.counts["thread"]),
        ("formulas", len(formulas), manifest.counts["formula"]),
        ("posts", sum(1 for _ in snapshot.content.posts()), manifest.facts["counts"]["posts"]),
    ):
        if found != right:
            damages.append(Damage(name, f"are {found:,}, not {right:,}", AGAIN.format(address)))
    with report.stage("records", len(threads) + len(formulas)) as advance:
        for ids, read in ((threads, lambda some: snapshot.threads(some, FAMILIES)), (formulas, snapshot.formulas)):
            for some in batched(ids, AT_ONCE):
                try:
                    read(np.array(some, np.int64))
                except (PorismError, KeyError) as error:
                    damages.append(
                        Damage(f"records {some[0]} to {some[-1]}", f"cannot be read: {error}", AGAIN.format(address))
                    )
                advance(len(some))
    with TemporaryDirectory(prefix="porism-verify-") as work:
        try:
            read_files(snapshot.generation.place, manifest, Path(work))
        except PorismError as error:
            damages.append(Damage("files", error.message, error.fix))
    size = snapshot.generation.place.bytes(manifest.build)
    return Verification(address, "collection in a cluster", len(manifest.files), size, tuple(damages))


def _facts(copy: ClusterSnapshot, own: LocalSnapshot) -> list[str]:
    found = []
    for unit in ("thread", "question", "answer", "formula"):
        counts = copy.info.counts.get(unit, 0), own.info.counts.get(unit, 0)
        if counts[0] != counts[1]:
            found.append(f"has {counts[0]:,} {unit}s, not {counts[1]:,}")
    if copy.info.fingerprint != own.info.fingerprint:
        found.append(f"is of the content {copy.info.fingerprint[:12]}, not {own.info.fingerprint[:12]}")
    return found


def _digest(parts: Iterator[bytes], advance: Callable[[int], object]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
        advance(1)
    return total.hexdigest()


def _embedded_hashes(snapshot: LocalSnapshot) -> HashesOf:
    """Return what gives the hashes of the terms of an embedded index."""
    terms = snapshot._documents.terms
    if isinstance(terms, SegmentedTermIndex):
        return lambda family: terms.codes[family].hashes()
    return lambda family: terms.dictionary(family).by_id()  # type: ignore[attr-defined]


def _records(snapshot: Snapshot, hashes_of: HashesOf) -> Iterator[bytes]:
    """Yield threads, their posts, and the terms of each post by family, in an order that depends on no codes."""
    hashes: Mapping[str, Hashes] = {family: hashes_of(family) for family in FAMILIES}
    for ids in batched(snapshot.content.question_ids(), AT_ONCE):
        numbers = snapshot.locate(np.array(ids, np.int64)).threads
        batch = snapshot.threads(numbers, FAMILIES)
        sizes = batch.ends - batch.starts
        for values in (sizes, batch.post_ids, batch.years, batch.accepted.astype(np.int64)):
            yield np.asarray(values, np.int64).tobytes()
        for family in FAMILIES:
            rows = batch.terms[family]
            low, high = (int(rows.starts[0]), int(rows.ends[-1])) if len(rows.starts) else (0, 0)
            posts = np.repeat(np.arange(len(rows.starts)), rows.ends - rows.starts)
            keys, fields = hashes[family][rows.keys[low:high]], rows.fields[low:high].astype(np.int64)
            counts = rows.counts[low:high].astype(np.int64)
            order = np.lexsort((counts, fields, keys, posts))
            yield from (values[order].tobytes() for values in (posts, keys, fields, counts))


def _formulas(snapshot: Snapshot) -> Iterator[bytes]:
    """Yield distinct formulas with their trees, LaTeX and symbols."""
    names: npt.NDArray[np.object_] = np.array(list(snapshot.learned.symbols.labels), np.object_)
    for visuals in batched((one.id for one in snapshot.content.visuals()), AT_ONCE):
        numbers = _numbers(snapshot, visuals)
        batch = snapshot.formulas(numbers)
        yield batch.visual_ids.astype(np.int64).tobytes()
        yield b"\0".join(batch.records.trees(numbers))
        yield "\0".join(batch.records.latex(numbers)).encode("utf-8", "surrogatepass")
        for starts, ends, labels in (batch.layout[:3], batch.operators[:3]):
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                yield "\0".join(names[labels[start:end]]).encode("utf-8", "surrogatepass")


def _numbers(snapshot: Snapshot, visuals: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the numbers of formulas by their visual ids."""
    if isinstance(snapshot, LocalSnapshot):
        return snapshot._formulas.rows(np.array(visuals, np.int64))
    return np.array(visuals, np.int64)


def _posts(content: Content) -> Iterator[bytes]:
    """Yield posts with what belongs to them."""
    for posts in batched(content.posts(), AT_ONCE):
        ids = [post.id for post in posts]
        yield repr(posts).encode("utf-8", "surrogatepass")
        for read in (content.comments_by_post, content.links_by_post, content.formulas_by_post):
            found: Any = read(ids)
            yield repr([(number, found[number]) for number in ids if found.get(number)]).encode(
                "utf-8", "surrogatepass"
            )
