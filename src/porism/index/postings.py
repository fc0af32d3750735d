"""Terms in, weighted disjunction, top k with scores out: the one place that knows the inverted-index engine.

A posting list holds documents that a caller numbers himself (`key`, not negative). A document has named fields, each a bag of
terms without blanks. The score of a document is the sum over the asked terms of weight x BM25 (k1 = 1.2, b = .75 within the
field; statistics over the whole index). The engine is embedded (tantivy); another one can stand behind the same two classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from porism.errors import PorismError
from porism.files import disk_error

KEY = "key"
NAME = "name"  # the key again, as text: the engine deletes by text only
HEAP = 256_000_000  # bytes of memory before the engine writes a segment


@dataclass(frozen=True, slots=True)
class Term:
    """A term asked for: the field it stands in and what a match is worth."""

    field: str
    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """Documents, best first (equal scores: smaller key first)."""

    keys: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]


class PostingsWriter:
    """Writes documents into a directory, new or already holding postings; use it in a `with` statement.

    What was added is seen by readers after `close`; when the block ends by an exception nothing is.
    """

    def __init__(self, directory: Path, fields: Sequence[str]) -> None:
        import tantivy

        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._document = tantivy.Document
        with _on_disk(directory):
            # One thread: the order of documents, and with it the order of equal scores, is that of the calls.
            self._writer = tantivy.Index(_schema(fields), str(directory)).writer(HEAP, 1)

    def add(self, key: int, fields: Mapping[str, str]) -> None:
        """Add a document; each field is its terms joined by blanks (a term may stand there many times)."""
        document = self._document()
        document.add_unsigned(KEY, key)
        document.add_text(NAME, str(key))
        for field, terms in fields.items():
            document.add_text(field, terms)
        with _on_disk(self._directory):
            self._writer.add_document(document)

    def remove(self, key: int) -> None:
        """Take out all documents of a key that were there before this writer."""
        self._writer.delete_documents_by_term(NAME, str(key))

    def close(self) -> None:
        """Make everything durable and wait until it is."""
        with _on_disk(self._directory):
            self._writer.commit()
            self._writer.wait_merging_threads()

    def __enter__(self) -> PostingsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._writer.rollback()


class Postings:
    """Reads postings; many threads may search at once, also while a writer adds (what they see is the state at `open`)."""

    def __init__(self, index: Any, directory: Path) -> None:
        self._index = index
        self._directory = directory
        self._searcher = index.searcher()

    @classmethod
    def open(cls, directory: Path) -> Postings:
        """Open postings that a `PostingsWriter` closed."""
        import tantivy

        try:
            return cls(tantivy.Index.open(str(directory)), directory)
        except (ValueError, OSError) as error:
            raise PorismError(
                f"no readable postings: {error}", where=str(directory), fix="build the index again: porism index"
            ) from None

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def document_frequency(self, field: str, text: str) -> int:
        """How many documents have a term in a field."""
        return int(self._searcher.doc_freq(field, text))

    def search(self, terms: Iterable[Term], k: int, *, required: Sequence[Term] = ()) -> Found:
        """The k best documents with at least one of the terms, and with all the required ones (which do not score)."""
        from tantivy import Occur, Query

        schema = self._index.schema
        parts: list[tuple[Any, Any]] = []
        for term in terms:
            query = Query.term_query(schema, term.field, term.text, "freq")
            parts.append((Occur.Should, query if term.weight == 1.0 else Query.boost_query(query, term.weight)))
        if not parts or k < 1:
            return Found(np.empty(0, np.int64), np.empty(0))
        query = Query.boolean_query(parts)
        if required:
            must = [Query.const_score_query(Query.term_query(schema, t.field, t.text), 0.0) for t in required]
            query = Query.boolean_query([(Occur.Must, query), *((Occur.Must, one) for one in must)])
        return self._found(self._searcher.search(query, k, count=False).hits)

    def _found(self, hits: Sequence[tuple[float, Any]]) -> Found:
        """The engine's answer as arrays in the order that is promised."""
        scores = np.array([score for score, _ in hits], np.float64)
        keys = np.array(self._searcher.fast_field_values(KEY, [address for _, address in hits]), np.int64)
        order = np.lexsort((keys, -scores))
        return Found(keys[order], scores[order])


def _schema(fields: Sequence[str]) -> Any:
    """Every field is split at blanks and keeps counts, no positions."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(KEY, fast=True)
    builder.add_text_field(NAME, tokenizer_name="raw", index_option="basic")
    for field in fields:
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


@contextmanager
def _on_disk(directory: Path) -> Iterator[None]:
    """What the engine says of the disk, in words that say what to do."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise disk_error(OSError(str(error)), directory) from error
