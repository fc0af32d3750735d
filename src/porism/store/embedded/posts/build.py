"""Build the index of posts: workers make blocks of threads, whose terms they collect per field and fold into rows of
counts; this process appends the blocks, then inverts the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.schema import (
    FAMILIES,
    FIELDS,
    FORMULA_FAMILIES,
    NAME_FAMILY,
    TAG_FAMILY,
    TEXT_FAMILIES,
    VISUAL_FAMILY,
)
from porism.analysis.terms import Pieces, PieceTerms, split_thread
from porism.compiled import compiled
from porism.corpus.content import Content, VisualUse
from porism.corpus.post import Thread
from porism.corpus.store.collection import Collection
from porism.corpus.store.excerpt import expression_rows, expressions_of, open_excerpt, thread_rows
from porism.parallel import Jobs, ordered, workers, worth
from porism.progress import Progress
from porism.store.embedded.formulas.build import open_in_worker
from porism.store.embedded.formulas.codes import (
    FORMS,
    MISSING,
    CodesExcerpt,
    ExtraFormulas,
    FormulaCodes,
    KnownCodes,
    encode_expressions,
)
from porism.store.embedded.learned import ConceptBlock, ConceptCollector, ConceptWriter
from porism.store.embedded.posts.store import POST_TYPES, thread_of_posts
from porism.store.embedded.storage.columns import ArrayWriter, ColumnWriter, OpenFiles, read_array, smallest
from porism.store.embedded.storage.records import RecordsWriter
from porism.store.embedded.storage.rows import Rows, RowsWriter, fold_rows
from porism.store.embedded.terms.dictionary import BlockTerms, DictionaryWriter, Hashes, LocalRows, local_codes
from porism.store.embedded.terms.embedded import write_frequencies
from porism.store.embedded.terms.postings import write_postings

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]
FIELD_NUMBER = {field: number for number, field in enumerate(FIELDS)}
# Families whose texts are kept: terms that are shown to people, and visual ids, by which the formulas of a post are
# found.
NAMED_FAMILIES = ("words", TAG_FAMILY, VISUAL_FAMILY)
CHUNK = 64  # threads that a worker reads in one task
SMALL = 1_000  # fewer threads are read in one process, before others would have started


class FieldFormulas(NamedTuple):
    """Formulas of a field of a post: the position of the post in its thread, the field, and the visual ids."""

    post: int
    field: str
    visual_ids: list[int]


class _FamilyOccurrences:
    """Occurrences of one family: term, row and field of each."""

    def __init__(self) -> None:
        self.vocabulary = BlockTerms()
        self._codes: list[int] = []
        self._places: list[tuple[int, int, int]] = []  # row, field, number of terms

    def add(self, row: int, field: int, terms: Sequence[str]) -> None:
        """Add the terms of one piece of text."""
        self._codes += self.vocabulary.codes(terms)
        self._places.append((row, field, len(terms)))

    def rows(self, documents: int, named: bool) -> LocalRows:
        """Return the rows of all documents."""
        places = np.array(self._places, np.int64).reshape(-1, 3)
        rows, fields = (np.repeat(places[:, column], places[:, 2]) for column in (0, 1))
        block = fold_rows(rows, np.array(self._codes, np.uint32), fields, documents, len(FIELDS))
        return LocalRows(block, self.vocabulary.hashes(), self.vocabulary.texts() if named else ())


class Occurrences:
    """Collect the pieces of threads, then make the rows of their posts in every family."""

    def __init__(self) -> None:
        self.posts = 0
        self._terms = {
            family: _FamilyOccurrences() for family in (*TEXT_FAMILIES, TAG_FAMILY, VISUAL_FAMILY, NAME_FAMILY)
        }
        self._expressions: list[int] = []  # of each formula
        self._formula_places: list[tuple[int, int, int]] = []  # row, field, number of formulas

    def add(self, thread: Thread, pieces: Pieces, visuals: Sequence[FieldFormulas]) -> None:
        """Add the next thread: a row for its question, then one for each answer."""
        row, question = self.posts, thread.question
        own = (("title", pieces.title), ("question", pieces.body), *pieces.headings.items(), ("tags", pieces.tags))
        for field, piece in (*own, *(("linked_titles", title) for title in pieces.linked)):
            self._add(row, field, piece)
        for field, names in pieces.names.items():
            self._terms[NAME_FAMILY].add(row, FIELD_NUMBER[field], names)
        self._terms[TAG_FAMILY].add(row, FIELD_NUMBER["tags"], question.tags)
        for position, post in enumerate((question, *thread.answers)):
            if position:
                self._add(row + position, "answer", pieces.answers[position - 1])
            for comment in pieces.comments.get(post.id, ()):
                self._add(row + position, f"{post.kind}_comments", comment)
        for use in visuals:
            self._terms[VISUAL_FAMILY].add(row + use.post, FIELD_NUMBER[use.field], [*map(str, use.visual_ids)])
        self.posts += 1 + len(thread.answers)

    def _add(self, row: int, field: str, piece: PieceTerms) -> None:
        for family, terms in piece.terms.items():
            self._terms[family].add(row, FIELD_NUMBER[field], terms)
        self._expressions += [formula.expression_id for formula in piece.formulas]
        self._formula_places.append((row, FIELD_NUMBER[field], len(piece.formulas)))

    def rows(self, known: KnownCodes, content: Content) -> dict[str, LocalRows]:
        """Return the rows of all posts by family."""
        found = {family: terms.rows(self.posts, family in NAMED_FAMILIES) for family, terms in self._terms.items()}
        places = np.array(self._formula_places, np.int64).reshape(-1, 3)
        rows, fields = (np.repeat(places[:, column], places[:, 2]) for column in (0, 1))
        expressions, numbers = np.unique(np.array(self._expressions, np.int64), return_inverse=True)
        items = known.items(expressions)
        extra = encode_expressions(content, expressions[items == MISSING].tolist())
        for family in FORMULA_FAMILIES:
            own = _CodeSource(items, known.ends[family], known.codes[family], known.hashes[family])
            new = _extra_source(items, extra, family)
            found[family] = _formula_rows(rows, fields, numbers, (own, new), self.posts)
        return found


class _CodeSource(NamedTuple):
    """Codes of expressions: the item of each (or MISSING), where items end, the codes, and the hashes of codes."""

    items: Ints
    ends: Ints
    codes: Codes
    hashes: Hashes


def _extra_source(items: Ints, extra: ExtraFormulas, family: str) -> _CodeSource:
    """Return the source of expressions whose codes were not stored, because an earlier segment has them."""
    missing = np.flatnonzero(items == MISSING)
    own = np.full(len(items), MISSING, np.int64)
    own[missing] = np.arange(len(missing))
    lists = extra.encoded.lists[family]
    ends, codes = np.cumsum(lists.sizes), lists.codes
    for array in (ends, codes):
        array.setflags(write=False)  # like mapped arrays, so that loops are compiled once for both
    return _CodeSource(own, ends, codes, extra.hashes[family])


@compiled
def _expand(items: Any, rows: Any, fields: Any, ends: Any, codes: Any) -> Any:
    """Return row, field and code of each term of formulas. Those with a negative item are in another source."""
    size = 0
    for at in range(len(items)):
        item = items[at]
        if item >= 0:
            size += ends[item] - (ends[item - 1] if item else 0)
    out_rows, out_fields, out_codes = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.uint32)
    place = 0
    for at in range(len(items)):
        item = items[at]
        if item >= 0:
            for spot in range(ends[item - 1] if item else 0, ends[item]):
                out_rows[place], out_fields[place], out_codes[place] = rows[at], fields[at], codes[spot]
                place += 1
    return out_rows, out_fields, out_codes


def _formula_rows(rows: Ints, fields: Ints, numbers: Ints, sources: Sequence[_CodeSource], documents: int) -> LocalRows:
    """Return the rows of one family of formula terms."""
    all_rows, all_fields, all_codes, hashes = [], [], [], []
    before = 0
    for source in sources:
        found_rows, found_fields, codes = _expand(source.items[numbers], rows, fields, source.ends, source.codes)
        # The distinct codes in order, and the position of each code among them; faster than sorting. No key is 0.
        distinct = local_codes(codes.astype(np.uint64) + np.uint64(1))
        order = np.argsort(distinct.hashes)
        ranks = np.empty(len(order), np.uint32)
        ranks[order] = np.arange(before, before + len(order))
        all_rows.append(found_rows)
        all_fields.append(found_fields)
        all_codes.append(ranks[distinct.codes])
        hashes.append(source.hashes[(distinct.hashes[order] - np.uint64(1)).astype(np.int64)])
        before += len(order)
    block = fold_rows(
        np.concatenate(all_rows), np.concatenate(all_codes), np.concatenate(all_fields), documents, len(FIELDS)
    )
    return LocalRows(block, np.concatenate(hashes))


class ThreadTask(NamedTuple):
    """A task of a worker: questions of a collection. `codes` are the terms of its formulas; `learn` requests the
    occurrences that concepts are learned from."""

    collection: Callable[[], Collection]
    codes: Callable[[], KnownCodes]
    questions: Ints
    links: bool
    learn: bool


class ThreadBlock(NamedTuple):
    """Threads: the number of posts of each, attributes of posts, rows by family, and what concepts are learned from."""

    sizes: Ints
    attributes: dict[str, Ints]
    rows: dict[str, LocalRows]
    concepts: ConceptBlock | None


def make_threads(task: ThreadTask) -> ThreadBlock:
    """Do one task."""
    collection, known = task.collection(), task.codes()
    occurrences, concepts = Occurrences(), ConceptCollector()
    sizes: list[int] = []
    attributes: list[tuple[int, int, int, int]] = []
    read = collection.threads_by_id(task.questions.tolist())
    uses = collection.visuals_by_post(
        [post.id for thread in read.values() for post in (thread.question, *thread.answers)]
    )
    linked = [link.other_id for thread in read.values() for link in thread.links] if task.links else []
    titles = collection.titles_by_id(linked)
    for number in task.questions.tolist():
        thread = read[number]
        own = [title for link in thread.links if (title := titles.get(link.other_id))]
        pieces = split_thread(thread, own, task.links)
        occurrences.add(thread, pieces, _visuals(thread, uses))
        sizes.append(1 + len(thread.answers))
        attributes += _attributes(thread)
        if task.learn:
            concepts.add(thread, pieces)
    return ThreadBlock(
        np.array(sizes, np.int64),
        dict(zip(POST_TYPES, np.array(attributes, np.int64).T, strict=True)),
        occurrences.rows(known, collection),
        concepts.block(known) if task.learn else None,
    )


def with_content(task: ThreadTask) -> ThreadTask:
    """Return a task that holds the threads and the terms it reads."""
    collection, known = task.collection(), task.codes()
    assert isinstance(known, FormulaCodes)
    rows = thread_rows(collection, task.questions.tolist(), task.links)
    expressions = np.array(sorted(expressions_of(rows)), np.int64)
    rows |= expression_rows(collection, expressions[known.items(expressions) == MISSING].tolist())
    return task._replace(
        collection=partial(open_excerpt, rows), codes=partial(CodesExcerpt.opened, known.excerpt(expressions))
    )


def _attributes(thread: Thread) -> Iterator[tuple[int, int, int, int]]:
    """Yield id, year (0: not known), votes and accepted of each post, as POST_TYPES has them."""
    chosen = thread.question.accepted_id
    has_chosen = any(answer.id == chosen for answer in thread.answers)
    for post in (thread.question, *thread.answers):
        year = int(post.created[:4]) if post.created[:4].isdigit() else 0
        yield post.id, year, post.score, int(has_chosen if post is thread.question else post.id == chosen)


def _visuals(thread: Thread, uses: Mapping[int, Sequence[VisualUse]]) -> list[FieldFormulas]:
    """Return where formulas occur in the posts of a thread."""
    found: list[FieldFormulas] = []
    for position, post in enumerate((thread.question, *thread.answers)):
        for kind, same in groupby(uses.get(post.id, ()), itemgetter(0)):
            field = f"{post.kind}_comments" if kind == "comment" else kind
            found.append(FieldFormulas(position, field, [use.visual_id for use in same]))
    return found


@lru_cache(1)
def open_codes(codes: Path, forms: Path) -> FormulaCodes:
    """Open the terms of formulas, or return them if they are open already. Each build has its own folder `codes`."""
    return FormulaCodes(codes, forms)


class PostsWriter(OpenFiles):
    """Write the records of threads and the attributes of posts into a directory; use it in a `with` statement, then
    call `finish`.

    The folder `rows` gets the same rows by family, which posting lists and vectors are made from. No reader of the
    index needs it."""

    def __init__(self, directory: Path, rows: Path) -> None:
        super().__init__()
        directory.mkdir(parents=True)
        self._directory = directory
        self._row_folder = rows
        enter = self._stack.enter_context
        self._dictionaries = {family: DictionaryWriter() for family in FAMILIES}
        self._rows = {family: enter(RowsWriter(rows, family, len(FIELDS))) for family in FAMILIES}
        self._records = enter(RecordsWriter(directory))
        self._attributes = enter(ColumnWriter(directory, POST_TYPES))
        self._threads = enter(ArrayWriter(directory / "threads.npy", "<i8"))
        self.posts = 0
        self._threads.append([0])

    def add(self, block: ThreadBlock) -> None:
        """Append the next threads."""
        rows = {family: block.rows[family].final(self._dictionaries[family]) for family in FAMILIES}
        for family, made in rows.items():
            self._rows[family].add(made)
        self._records.add(list(rows.values()), block.sizes)
        for name, values in block.attributes.items():
            self._attributes.append(name, values)
        self._threads.append(self.posts + np.cumsum(block.sizes))
        self.posts += int(block.sizes.sum())

    def finish(self) -> None:
        """Write dictionaries, posting lists, frequencies and lengths, once all rows are written."""
        threads = thread_of_posts(read_array(self._directory / "threads.npy"))
        for family, dictionary in self._dictionaries.items():
            path = self._directory / family
            dictionary.save(path)
            rows = Rows(self._row_folder, family)
            write_postings(rows, dictionary.size, path)
            np.save(f"{path}.lengths.npy", smallest(rows.lengths))
            write_frequencies(path, threads)


class SegmentFolders(NamedTuple):
    """The folders of a segment that is written: formulas, posts, and what one stage leaves for the next."""

    formulas: Path
    posts: Path
    passing: Path
    codes: Path  # of the terms of formulas
    rows: Path  # of posts, by family
    occurrences: Path  # that concepts are learned from

    @classmethod
    def of(cls, work: Path) -> SegmentFolders:
        """Return the folders inside of one."""
        passing = work / "passing"
        return cls(work / "formulas", work / "posts", passing, passing / "codes", passing / "rows", passing / "names")


def write_posts(
    collection: Collection,
    folders: SegmentFolders,
    links: bool,
    progress: Progress,
    questions: Ints | None = None,
    jobs: Jobs = 0,
) -> int:
    """Write the threads of these questions in the order of their ids; return the number of posts.

    Without `questions` all threads are written, and the occurrences that concepts are learned from."""
    learn = questions is None
    if questions is None:
        questions = np.fromiter(collection.question_ids(), np.int64)
    content = partial(open_in_worker, collection.path, collection.digest)
    known = partial(open_codes, folders.codes, folders.formulas / FORMS)

    def tasks() -> Iterator[tuple[int, ThreadTask]]:
        for start in range(0, len(questions), CHUNK):
            chunk = questions[start : start + CHUNK]
            yield len(chunk), ThreadTask(content, known, chunk, links, learn)

    with (
        progress.stage("threads", len(questions)) as advance,
        workers(worth(jobs, len(questions) < SMALL)) as pool,
        PostsWriter(folders.posts, folders.rows) as writer,
        ConceptWriter(folders.occurrences) if learn else nullcontext() as concepts,
    ):
        for count, made in ordered(pool, make_threads, tasks(), with_content):
            writer.add(made)
            if concepts is not None and made.concepts is not None:
                concepts.add(made.concepts)
            advance(count)
    with progress.stage("posting lists", None):
        writer.finish()
    return writer.posts
