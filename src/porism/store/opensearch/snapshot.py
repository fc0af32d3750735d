"""A snapshot of a collection in a cluster: candidates are searched there, their records are read and decoded here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from porism.analysis.schema import FIELDS, VISUAL_FAMILY, Unit, View
from porism.errors import PorismError
from porism.integrity import DamageError
from porism.store.embedded.learned import read_concepts, read_vocabulary
from porism.store.embedded.posts.store import VECTOR_FAMILIES, Basis, Matrix, Vectors
from porism.store.local import limited
from porism.store.opensearch.content import ClusterContent
from porism.store.opensearch.generation import Generation, table_folder
from porism.store.opensearch.packing import FormulaRecord, unpack_formula, unpack_formulas, unpack_threads
from porism.store.opensearch.reading import Documents, formulas_of_threads
from porism.store.opensearch.rows import USERS, unpack_parts
from porism.store.opensearch.schema import WINDOW, Kind
from porism.store.opensearch.searching import PushedSearch, exact_hits, is_pushed, lengths, term_request, text_request
from porism.store.opensearch.tables import Tables
from porism.store.protocols import Learned
from porism.store.records import (
    NO_HITS,
    UNKNOWN,
    Formulas,
    Hits,
    Ints,
    Option,
    Positions,
    Search,
    StoredPost,
    StoredPosts,
    StoreInfo,
    Term,
    TermQuery,
    TermStatistics,
    TextQuery,
    Threads,
    Values,
)
from porism.store.weighting import BM25, ViewCounts

OPTIONS: frozenset[Option] = frozenset()
MOST_PLACES = 200_000  # posts whose threads are kept
LONGEST_AUTHOR = 8_000  # characters
MOST_NUMBER = 1 << 63
CANDIDATES = 1000  # that are read at least where scores are computed from records


class QueryVectors(Vectors):
    """Turns the terms of a query into a vector; those of threads are in their records."""

    def __init__(self, directory: Any, family: str) -> None:
        self.__dict__["basis"] = Basis(directory, family)

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self.basis.matrix.shape[1])

    def query(self, codes: Ints, weights: Matrix) -> Values:
        """Return the vector of a query's terms."""
        return super().query(codes, weights)


class ClusterLookup:
    """Terms of records by their codes, from the tables."""

    def __init__(self, tables: Tables, note: Callable[[Ints, Ints], None]) -> None:
        self._tables = tables
        self._note = note
        self._codes = self._threads = np.empty(0, np.int64)
        self.documents = tables.frequencies
        self.texts = tables.texts

    def of(self, batch: Threads) -> None:
        """Keep in which threads of a batch formulas are, so that their records can be read with those."""
        if VISUAL_FAMILY in batch.terms and len(batch.post_ids):
            rows = batch.terms[VISUAL_FAMILY]
            low, high = int(rows.starts[0]), int(rows.ends[-1])
            self._codes, first = np.unique(rows.keys[low:high], return_index=True)
            posts = np.searchsorted(rows.ends, low + first, side="right")
            self._threads = batch.numbers[np.searchsorted(batch.ends, posts, side="right")]

    def formulas(self, keys: Ints) -> Ints:
        """Return the visual ids of formulas by the codes with which posts name them."""
        numbers = self._tables.symbols.rows(self._tables.numbers_of_visuals(keys))
        if len(self._codes):
            at = np.minimum(np.searchsorted(self._codes, keys), len(self._codes) - 1)
            known = self._codes[at] == keys
            self._note(numbers[known], self._threads[at[known]])
        return numbers


class ClusterRecords:
    """What else is stored of formulas, as it came with them."""

    def __init__(self, tables: Tables, records: Mapping[int, bytes]) -> None:
        self._tables = tables
        self._records = records

    def _unpacked(self, numbers: Ints) -> list[FormulaRecord]:
        return [unpack_formula(self._records[number]) for number in numbers.tolist()]

    def trees(self, numbers: Ints) -> list[bytes]:
        """Return packed trees."""
        return [one.trees for one in self._unpacked(numbers)]

    def latex(self, numbers: Ints) -> list[str]:
        """Return LaTeX."""
        return [one.latex for one in self._unpacked(numbers)]

    def usage(self, numbers: Ints) -> TermStatistics:
        """Return the codes of visual ids in posts, and how many threads have each."""
        return self._tables.statistics("posts", [Term(VISUAL_FAMILY, str(number)) for number in numbers.tolist()])


class ClusterParts:
    """Sub-expressions of expressions, as they came with the posts."""

    def __init__(self, tables: Tables, parts: Sequence[str], found: Mapping[int, bytes]) -> None:
        codes = tables.statistics("formulas", [Term("parts", text) for text in parts]).keys.tolist()
        self._positions = {code: at for at, code in enumerate(codes) if code != UNKNOWN}
        self._found = found

    def of(self, expression: int) -> Sequence[int]:
        """Return the positions of the requested sub-expressions that an expression has."""
        if not self._positions:
            return ()
        own = np.frombuffer(self._found.get(expression, b""), np.uint32).tolist()
        return [self._positions[code] for code in self._positions.keys() & set(own)]


class ClusterSnapshot:
    """One generation of a collection in a cluster."""

    def __init__(self, address: str, generation: Generation, documents: Documents) -> None:
        manifest = generation.manifest
        self.generation = generation
        self._documents = documents
        self._places: dict[int, int] = {}  # the threads of posts
        self._formula_places: dict[int, int] = {}  # a thread of each formula
        self.content = ClusterContent(address, generation, documents)
        self.info = StoreInfo(
            address,
            manifest.name,
            manifest.generation,
            str(manifest.facts["digest"]),
            {unit: manifest.counts[unit] for unit in ("thread", "question", "answer", "formula")},
            self._lengths,
            OPTIONS,
            has_links=manifest.links,
        )
        folder = table_folder(generation.place, manifest)
        self.learned = Learned(
            generation.tables.symbols,
            read_concepts(folder / "posts"),
            read_vocabulary(folder),
            {family: QueryVectors(folder / "posts", family) for family in VECTOR_FAMILIES if manifest.vectors},
            manifest.ranking,
        )

    def _lengths(self, family: str, view: View) -> ViewCounts:
        return ViewCounts(self.generation.manifest.counts[view.unit], lengths(self.generation, family, view))

    @limited
    def statistics(
        self, terms: Sequence[Term], unit: Unit = "thread", *, seconds: float | None = None
    ) -> TermStatistics:
        """Return codes and document frequencies of many terms, from the tables."""
        return self.generation.tables.statistics("formulas" if unit == "formula" else "posts", terms)

    @limited
    def search(self, searches: Sequence[Search], *, seconds: float | None = None) -> list[Hits]:
        """Answer several searches in one request. Where the scores of the cluster are not those of a query, they are
        computed from records."""
        requests = [self._request(search) for search in searches]
        wanted = [(self.generation.index_name(one.kind), one.body) for one in requests if one is not None]
        only = "hits.hits.sort,hits.total"
        answers = iter(self.generation.place.cluster.msearch(wanted, only=only) if wanted else ())
        return [NO_HITS if one is None else one.hits(next(answers)) for one in requests]

    def _request(self, search: Search) -> PushedSearch | None:
        if isinstance(search, TextQuery):
            return text_request(self.generation, search, self._owners)
        if not isinstance(search, TermQuery):
            raise self._refusal("vectors", "vectors of a model")
        if search.view.unit in ("question", "answer"):
            raise self._refusal("units", "searches over questions and answers")
        if not isinstance(search.weighting, BM25):
            raise self._refusal("weightings", "weightings other than BM25")
        if is_pushed(self.generation, search):
            return term_request(self.generation, search, search.k)
        whole = all(search.view.vector(FIELDS))
        request = term_request(self.generation, search, max(search.k, CANDIDATES) if whole else WINDOW, not whole)
        if request is None or search.k < 1:
            return None
        return request._replace(hits=lambda answer: self._exact(search, request.hits(answer), answer))

    def _refusal(self, option: Option, what: str) -> PorismError:
        """Return the error of what the store does not declare."""
        fix = f"use a store whose options include {option!r}"
        return PorismError(f"has no {what}", where=self.info.address, fix=fix)

    def _exact(self, search: TermQuery, found: Hits, answer: Any) -> Hits:
        """Return hits with exact scores. A view that leaves fields out needs all threads with its terms."""
        total = answer.get("hits", {}).get("total", {}).get("value", 0)
        if total > WINDOW:
            fact = f"more than {WINDOW:,} threads have a term of a search that counts only some fields"
            raise PorismError(fact, where=self.info.address, fix="search with rarer terms, or in an index in a folder")
        families = {term.family for term in (*search.terms, *search.required)}
        return exact_hits(self.generation, search, self.threads(np.sort(found.numbers), families))

    def _owners(self, author: str) -> list[int]:
        """Return the users with a name, or with a number."""
        found = [int(author)] if author.isascii() and author.isdigit() and str(int(author)) == author else []
        if len(author) <= LONGEST_AUTHOR:
            rows = self.content.blocks_with(USERS, "name", [author.casefold()])
            found += [row[0] for row in rows if row[1] and row[1].casefold() == author.casefold()]
        return [number for number in found if number < MOST_NUMBER]

    def records(self, kind: Kind, numbers: Ints) -> list[bytes]:
        """Return the records of threads or formulas."""
        wanted = numbers.tolist()
        elsewhere = self._formulas_of_threads if kind == "formulas" else lambda keys: {}
        found = self._documents.values(self.generation, kind, wanted, ("record",), elsewhere)
        if None in found:
            raise self._damage(f"the record of {wanted[found.index(None)]} is missing in the {kind}")
        return found

    def _formulas_of_threads(self, numbers: Sequence[int]) -> Mapping[int, bytes]:
        return formulas_of_threads(self.generation, numbers, self._formula_places)

    def _damage(self, fact: str) -> DamageError:
        fix = f"copy the collection again: porism store copy FOLDER {self.info.address}"
        return DamageError(f"is damaged: {fact}", where=self.info.address, fix=fix)

    @limited
    def threads(
        self, numbers: Ints, families: Collection[str], vectors: Collection[str] = (), *, seconds: float | None = None
    ) -> Threads:
        """Return threads by the ids of their questions."""
        own = [one for one in vectors if one in self.learned.vectors]
        records = self.records("threads", numbers)
        lookup = ClusterLookup(self.generation.tables, self._note_formulas)
        batch = unpack_threads(numbers, records, families, own, lookup)
        if batch is None:
            raise self._damage("a record of a thread cannot be read")
        lookup.of(batch)
        if len(self._places) > MOST_PLACES:
            self._places = {}
        threads = np.repeat(numbers, batch.ends - batch.starts)
        self._places.update(zip(batch.post_ids.tolist(), threads.tolist(), strict=True))
        return batch

    def _note_formulas(self, numbers: Ints, threads: Ints) -> None:
        if len(self._formula_places) > MOST_PLACES:
            self._formula_places = {}
        self._formula_places.update(zip(numbers.tolist(), threads.tolist(), strict=True))

    @limited
    def formulas(self, numbers: Ints, *, seconds: float | None = None) -> Formulas:
        """Return formulas by their visual ids."""
        records = self.records("formulas", numbers)
        own = ClusterRecords(self.generation.tables, dict(zip(numbers.tolist(), records, strict=True)))
        return unpack_formulas(numbers, records, own)

    @limited
    def posts(self, ids: Sequence[int], parts: Sequence[str] = (), *, seconds: float | None = None) -> StoredPosts:
        """Return posts by their ids. Their questions come with them, as the ranking has told where they are."""
        known = [self._places[number] for number in ids if number in self._places]
        posts = self.content.read_posts([*dict.fromkeys((*ids, *known))], parts=bool(parts))
        others = {one.post.thread_id for one in posts.values()} - posts.keys()
        if others:
            posts |= self.content.read_posts(sorted(others), parts=bool(parts))
        self.content.check_found(dict.fromkeys(posts), ids, "post")
        found = []
        for number in ids:
            post, question = posts[number].post, posts[posts[number].post.thread_id].post
            found.append(StoredPost(post, question, question.accepted_id == post.id))
        packed = {key: value for one in posts.values() if one.parts for key, value in unpack_parts(one.parts).items()}
        return StoredPosts(found, ClusterParts(self.generation.tables, parts, packed))

    @limited
    def locate(self, ids: Ints, *, seconds: float | None = None) -> Positions:
        """Return where posts are."""
        found = self._documents.read(
            self.generation, "posts", list(dict.fromkeys(ids.tolist())), ("thread", "position")
        )
        places = [
            (found[number]["thread"], found[number]["position"]) if number in found else (UNKNOWN, 0)
            for number in ids.tolist()
        ]
        columns = np.array(places, np.int64).reshape(-1, 2)
        return Positions(columns[:, 0], columns[:, 1])
