"""A change as documents: the new threads, posts and formulas with codes of the collection, the blocks of tables that
differ, and the differences of statistics. New threads are indexed by the code of the embedded store, as a segment."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import FAMILIES, FIELDS, FORMULA, FORMULA_FAMILIES, VISUAL_FAMILY
from porism.corpus.store.collection import Collection
from porism.corpus.update.delta import Delta
from porism.corpus.update.threads import highest
from porism.hashing import hash64
from porism.store.embedded.formulas.build import FormulaPart
from porism.store.embedded.formulas.codes import encode_expressions
from porism.store.embedded.formulas.store import KEY_TYPES, TYPES, EmbeddedFormulas
from porism.store.embedded.posts.store import VECTOR_FAMILIES, EmbeddedPosts
from porism.store.embedded.segments.writer import write_later_segment
from porism.store.embedded.storage.columns import read_array, read_columns
from porism.store.embedded.storage.records import encode_records
from porism.store.embedded.terms.dictionary import Dictionary
from porism.store.embedded.terms.postings import PostingLists
from porism.store.opensearch.documents import (
    ThreadRecords,
    binary,
    image_line,
    lines_of_columns,
    lines_of_threads,
    render_terms,
    single_line,
)
from porism.store.opensearch.generation import CommitRecord
from porism.store.opensearch.load import HIGHEST
from porism.store.opensearch.manifest import StoreManifest
from porism.store.opensearch.packing import FormulaSource, ThreadColumns, pack_formulas, pack_group, pack_threads
from porism.store.opensearch.rows import (
    EXPRESSIONS,
    FORMULAS,
    USERS,
    VISUALS,
    Block,
    Row,
    Table,
    lines_of_posts,
    place_posts,
    read_posts,
)
from porism.store.opensearch.schema import COMMON, FEW_THREADS, MOST_COMMON, TAGS, Kind, image_key
from porism.store.opensearch.snapshot import ClusterSnapshot
from porism.store.opensearch.tables import FOLDERS, NOTHING, Counted, SymbolChange, Tables, TermChange
from porism.store.opensearch.term_rows import (
    OldFormulas,
    answer_count,
    read_rows,
    recoded,
    row_block,
    thread_codes,
    thread_counts,
    with_lengths,
)
from porism.store.records import UNKNOWN, Threads

Ints = npt.NDArray[np.int64]


class FirstSegment(NamedTuple):
    """What a later segment reads of the first one: the dictionaries of the build, and the bases of vectors."""

    terms: FirstTerms
    vectors: Mapping[str, Any]


class FirstTerms:
    """The dictionaries of the build."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def dictionary(self, family: str) -> Dictionary:
        """Return the dictionary of a family."""
        return Dictionary(self._folder / FOLDERS["posts"] / family)


class Prepared(NamedTuple):
    """A change that is ready to be sent: documents by index, what readers need to follow, and the manifest after it."""

    lines: Mapping[Kind, list[bytes]]
    commit: CommitRecord
    manifest: StoreManifest


class NewSegment(NamedTuple):
    """New threads and formulas, indexed by themselves."""

    folder: Path
    posts: EmbeddedPosts
    formulas: EmbeddedFormulas

    @classmethod
    def write(
        cls, folder: Path, changed: Collection, delta: Delta, manifest: StoreManifest, first: FirstSegment
    ) -> NewSegment:
        """Index the threads and formulas of a change."""
        part = FormulaPart(np.array(delta.new_visuals, np.int64), delta.first_expression)
        write_later_segment(folder, changed, delta.threads, part, manifest.links, first)  # type: ignore[arg-type]
        return cls(
            folder,
            EmbeddedPosts(folder / "posts", vectors=False),
            EmbeddedFormulas.open(folder / "formulas"),
        )

    def documents(self, group: str, family: str) -> Ints:
        """Return how many documents contain each term of a family."""
        return read_array(self.folder / FOLDERS[group] / f"{family}.documents.npy").astype(np.int64)

    def dictionary(self, group: str, family: str) -> Dictionary:
        """Return the dictionary of a family."""
        return Dictionary(self.folder / FOLDERS[group] / family)


class Change:
    """Prepares the documents of a change."""

    def __init__(
        self, snapshot: ClusterSnapshot, changed: Collection, delta: Delta, segment: NewSegment | None
    ) -> None:
        self._snapshot = snapshot
        self._content = snapshot.content
        self._before = snapshot.generation
        self._changed = changed
        self._delta = delta
        self._segment = segment
        self._generation = self._before.manifest.generation + 1
        self._codes: dict[tuple[str, str], Ints] = {}  # of the terms of the segment, by group and family
        self._lines: dict[Kind, list[bytes]] = defaultdict(list)
        self._gone: dict[Kind, list[Any]] = defaultdict(list)
        self._put: dict[Kind, list[Any]] = defaultdict(list)

    def prepare(self) -> Prepared:
        """Return the change."""
        replaced = np.array(self._delta.replaced, np.int64)
        old = self._snapshot.threads(replaced, FAMILIES)
        old_formulas = self._old_formulas()
        terms = {
            "posts": {one: self._term_change("posts", one, thread_counts(old, one)) for one in FAMILIES},
            "formulas": {one: self._term_change("formulas", one, old_formulas.terms[one]) for one in FORMULA_FAMILIES},
        }
        symbols = self._symbol_change(old_formulas)
        tables = self._before.tables.changed(terms, symbols)
        self._gone["threads"] += replaced.tolist()
        self._gone["posts"] += old.post_ids.tolist()
        self._gone["formulas"] += self._delta.gone_visuals
        new = self._put_segment(tables)
        self._put_tables(old.post_ids.tolist())
        commit = CommitRecord(self._generation, self._gone, self._put, terms, symbols)
        return Prepared(self._lines, commit, self._manifest(old, new, old_formulas, tables))

    # Terms.

    def _term_change(self, group: str, family: str, less: Counted) -> TermChange:
        """Return how a family changes: the terms of the segment are added, those of replaced documents taken away."""
        table = self._before.tables.terms[group][family]
        change = NOTHING.plus(less.keys, -less.numbers)
        if self._segment is None:
            return TermChange(np.empty(0, np.uint64), (), change)
        dictionary = self._segment.dictionary(group, family)
        hashes = dictionary.by_id()
        codes = table.find(hashes)
        new = np.flatnonzero(codes == UNKNOWN)
        codes[new] = table.size + np.arange(len(new))
        self._codes[group, family] = codes
        texts = dictionary.texts(new)
        kept = texts if any(texts) else []
        return TermChange(hashes[new], kept, change.plus(codes, self._segment.documents(group, family)))

    def _old_formulas(self) -> OldFormulas:
        gone = np.array(self._delta.gone_visuals, np.int64)
        if not len(gone):
            return OldFormulas(
                dict.fromkeys(FORMULA_FAMILIES, NOTHING), {}, NOTHING, dict.fromkeys(FORMULA_FAMILIES, 0)
            )
        trees = self._snapshot.formulas(gone).records.trees(gone)
        return OldFormulas.of(trees, self._before.tables.terms["formulas"])

    def _symbol_change(self, old: OldFormulas) -> SymbolChange:
        labels = {name: (-layout, -operators) for name, (layout, operators) in old.labels.items()}
        keys = NOTHING.plus(old.keys.keys, -old.keys.numbers)
        if self._segment is not None:
            formulas = self._segment.formulas
            counts = np.stack(formulas.label_counts, axis=1).tolist()
            for name, number in formulas.labels.items():
                before = labels.get(name, (0, 0))
                labels[name] = (before[0] + counts[number][0], before[1] + counts[number][1])
            columns = read_columns(self._segment.folder / "formulas" / "keys", KEY_TYPES)
            keys = keys.plus(columns["key"].astype(np.int64), columns["key_count"].astype(np.int64))
        new, gone = (np.array(one, np.int64) for one in (self._delta.new_visuals, self._delta.gone_visuals))
        return SymbolChange(labels, keys, new, gone)

    # Documents.

    def _put_segment(self, tables: Tables) -> Threads | None:
        if self._segment is None:
            return None
        new = self._put_threads(tables) if self._delta.threads else None
        if new is not None:
            self._put_posts(new)
        if self._delta.new_visuals:
            self._put_formulas(tables)
        return new

    def _put_threads(self, tables: Tables) -> Threads:
        segment = self._segment
        assert segment is not None, "there are threads"
        batch = segment.posts.fetch(np.arange(segment.posts.size("thread")), sorted(FAMILIES))
        rows = {family: recoded(own, self._codes["posts", family]) for family, own in batch.terms.items()}
        batch = batch._replace(terms=rows)
        sizes = batch.ends - batch.starts
        records = encode_records([row_block(rows[family]) for family in FAMILIES], sizes)
        bounds = [0, *records.ends.tolist()]
        terms = [records.data[start:end].tobytes() for start, end in itertools.pairwise(bounds)]
        files = [segment.folder / "posts" / f"vectors.{family}.npy" for family in VECTOR_FAMILIES]
        none = np.zeros((len(sizes), 0), np.float16)
        vectors = [read_array(path) if path.is_file() else none for path in files]
        columns = ThreadColumns(
            sizes, batch.post_ids, batch.years.astype(np.int16), batch.accepted.astype(np.uint8), vectors
        )
        manifest = self._before.manifest
        weights = np.array(manifest.main_view.vector(FIELDS))
        stored = ThreadRecords(pack_threads(columns, terms), self._formulas_of(batch, tables))
        self._lines["threads"] += lines_of_threads(batch, stored, manifest.posts, weights, self._generation)
        self._put["threads"] += batch.post_ids[batch.starts].tolist()
        return batch

    def _formulas_of(self, batch: Threads, tables: Tables) -> list[bytes]:
        """Return the records of the formulas of each thread that few threads have."""
        new = self._new_formulas(tables)
        found = []
        for codes in thread_codes(batch, VISUAL_FAMILY):
            own = codes[tables.frequencies(VISUAL_FAMILY, codes) <= FEW_THREADS]
            visuals = tables.symbols.rows(tables.numbers_of_visuals(own))
            visuals = visuals[visuals != UNKNOWN]
            old = [number for number in visuals.tolist() if number not in new]
            known = dict(zip(old, self._snapshot.records("formulas", np.array(old, np.int64)), strict=True)) | new
            found.append(pack_group(visuals.tolist(), [known[number] for number in visuals.tolist()]))
        return found

    def _new_formulas(self, tables: Tables) -> dict[int, bytes]:
        """Return the records of the formulas of the segment."""
        segment = self._segment
        assert segment is not None, "there are threads"
        labels = np.array([tables.symbols.labels[name] for name in segment.formulas.labels], np.int32)
        source = FormulaSource(read_columns(segment.folder / "formulas" / "rows", TYPES), labels)
        ids = segment.formulas.all_visual_ids.tolist()
        return dict(zip(ids, pack_formulas(source, range(len(ids))), strict=True))

    def _put_posts(self, batch: Threads) -> None:
        ids = batch.post_ids.tolist()
        rows = read_posts(self._changed, ids)
        expressions = sorted({row[5] for one in rows.values() for row in one.formulas})
        extra = encode_expressions(self._changed, expressions)
        lists = extra.encoded.lists["parts"]
        codes = self._before.tables.terms["formulas"]["parts"].find(extra.hashes["parts"])
        new = self._codes["formulas", "parts"]
        assert self._segment is not None, "there are threads"
        own = self._segment.dictionary("formulas", "parts").find_hashes(extra.hashes["parts"])
        codes = np.where(own != UNKNOWN, new[own] if len(new) else UNKNOWN, codes)
        ends = np.cumsum(lists.sizes).tolist()
        parts = {
            number: [code for code in codes[lists.codes[end - size : end]].tolist() if code != UNKNOWN]
            for number, size, end in zip(expressions, lists.sizes.tolist(), ends, strict=True)
        }
        placed = place_posts([rows[number] for number in ids], (batch.ends - batch.starts).tolist())
        self._lines["posts"] += lines_of_posts(placed, lambda some: [parts[one] for one in some], self._generation)
        self._put["posts"] += ids

    def _put_formulas(self, tables: Tables) -> None:
        segment = self._segment
        assert segment is not None, "there are formulas"
        path, families = segment.folder / "formulas", self._before.manifest.formulas
        lists = {family: PostingLists(path / "terms" / family) for family in FORMULA_FAMILIES}
        lengths = {family: read_array(path / "terms" / f"{family}.lengths.npy") for family in FORMULA_FAMILIES}
        records = self._new_formulas(tables)
        for rows in read_rows(lists, lengths, segment.formulas.formulas):
            ids = segment.formulas.all_visual_ids[rows.first : rows.end].tolist()
            columns: dict[str, Sequence[Any]] = {"id": ids}
            for family, own in rows.terms.items():
                terms = recoded(own, self._codes["formulas", family])
                first = np.arange(rows.end - rows.first + 1)
                columns[family] = render_terms(terms, first, np.ones(1), families[family].mean, families[family].scale)
            columns["record"] = [binary(records[number]) for number in ids]
            self._lines["formulas"] += lines_of_columns(ids, self._generation, columns)
            self._put["formulas"] += ids

    # Tables.

    def _put_tables(self, removed: Sequence[int]) -> None:
        """Write the blocks of tables that differ; the newest part of the changed collection has their new rows."""
        newest = self._changed.parts.stores[-1]
        rows = {table: list(newest.rows(table.query)) for table in (EXPRESSIONS, VISUALS, USERS, FORMULAS)}
        old = [row for one in self._content.read_posts(removed).values() for row in one.rows.formulas]
        self._put_blocks(EXPRESSIONS, [row for row in rows[EXPRESSIONS] if row[0] >= self._delta.first_expression], ())
        visuals = [row for row in rows[VISUALS] if row[2]]
        self._put_blocks(VISUALS, visuals, [row[0] for row in rows[VISUALS] if not row[2]])
        self._put_blocks(USERS, rows[USERS], ())
        self._put_blocks(FORMULAS, rows[FORMULAS], [row[0] for row in old])
        tags = [list(one) for one in self._changed.tags()]
        if tags != [list(one) for one in self._content.tags()]:
            self._put_single(TAGS, single_line(TAGS, tags, self._generation))
        self._put_common(rows[VISUALS])
        for name, data in newest.rows("SELECT name, data FROM images ORDER BY name"):
            key = image_key(name)
            number = hash64(name) >> 1
            self._put_row(key, bool(self._content.images([name])), image_line(name, number, data, self._generation))

    def _put_blocks(self, table: Table, rows: Sequence[Row], removed: Sequence[int]) -> None:
        """Write the blocks of rows that are new or removed, with what they have besides."""
        new: defaultdict[int, dict[int, Row]] = defaultdict(dict)
        gone: defaultdict[int, set[int]] = defaultdict(set)
        for row in rows:
            new[row[0] // table.size][row[0]] = list(row)
        for number in removed:
            gone[number // table.size].add(number)
        for number in sorted(new.keys() | gone.keys()):
            before = {row[0]: row for row in self._content.block_rows(table, number)}
            after = {key: row for key, row in before.items() if key not in gone[number]} | new[number]
            block = Block(table, number, [after[key] for key in sorted(after)])
            if after != before:
                self._put_row(block.key, bool(before), block.line(self._generation) if after else b"")

    def _put_single(self, key: str, line: bytes) -> None:
        self._put_row(key, True, line)

    def _put_row(self, key: str, existed: bool, line: bytes) -> None:
        """Write a document of the rows; without a line it is only removed."""
        if existed:
            self._gone["rows"].append(key)
        if line:
            self._lines["rows"].append(line)
            self._put["rows"].append(key)

    def _put_common(self, visuals: Sequence[Row]) -> None:
        """Write the most common formulas, where their numbers differ."""
        before = self._content.common_rows()
        changed = {row[0]: list(row) for row in visuals}
        kept = [row for row in before if row[0] not in changed]
        lowest = before[-1][2] if len(before) >= MOST_COMMON else 0
        after = [*kept, *(row for row in changed.values() if row[2] > lowest)]
        after = sorted(after, key=lambda row: (-row[2], row[0]))[:MOST_COMMON]
        if after != before:
            self._put_single(COMMON, single_line(COMMON, after, self._generation))

    # The manifest.

    def _manifest(self, old: Threads, new: Threads | None, formulas: OldFormulas, tables: Tables) -> StoreManifest:
        before, facts = self._before.manifest, self._changed.manifest
        answers = before.counts["answer"] - answer_count(old) + (answer_count(new) if new is not None else 0)
        threads = before.counts["thread"] - len(old.numbers) + (len(new.numbers) if new is not None else 0)
        posts = {
            family: with_lengths(own, tables.terms["posts"][family], old, new, family)
            for family, own in before.posts.items()
        }
        distinct = {}
        for family, own in before.formulas.items():
            added = 0 if self._segment is None else round(self._segment.formulas.terms.count(family, FORMULA).length)
            total = own.questions[0] + added - formulas.lengths[family]
            distinct[family] = replace(own, codes=tables.terms["formulas"][family].size, questions=(total,))
        parts = self._changed.parts
        top = {name: max(before.highest[name], highest(parts, column, name)) for name, column in HIGHEST.items()}
        top["visuals"] = max(top["visuals"], highest(parts, "visual_id", "formulas"))
        return replace(
            before,
            generation=self._generation,
            counts={
                "thread": threads,
                "question": threads,
                "answer": answers,
                "formula": tables.symbols.formulas,
            },
            posts=posts,
            formulas=distinct,
            facts={name: value for name, value in facts.items() if name not in ("files", "parts")},
            highest=top,
            has_votes=before.has_votes or self._any("score != 0"),
            has_dates=before.has_dates or self._any("created != ''"),
            commits=(*before.commits, self._generation),
            changed=before.changed + len({*self._delta.threads, *self._delta.replaced}),
        )

    def _any(self, condition: str) -> bool:
        return self._changed.parts.stores[-1].one(f"SELECT 1 FROM posts WHERE {condition} LIMIT 1") is not None
