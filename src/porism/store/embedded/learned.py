"""What is learned from a collection: concepts, which are names and formulas that occur in the same posts far more often
than by chance, and the counted words of its posts. Both are tables in the index.

Words are read from at most MAX_POSTS posts, evenly spread, so that the cost is bounded; words that occur only once
there are mostly misspelt themselves and are left out, unless they are in a title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from porism.analysis.learned import LONGEST, Concept, Vocabulary, log_likelihood_ratio, names_of
from porism.analysis.terms import Pieces, PieceTerms, form_term, make_piece, tag_text
from porism.corpus.content import Content
from porism.corpus.post import Thread
from porism.hashing import hash64
from porism.store.embedded.formulas.codes import KnownCodes
from porism.store.embedded.storage.columns import ColumnWriter, CountedKeys, KeyCounter, OpenFiles, read_columns
from porism.store.embedded.terms.dictionary import find_sorted
from porism.store.records import spread
from porism.text.segment import Segment, Text
from porism.text.words import WORD

TYPES = {"key": "<u8", "post": "<u4"}
TEXTS = "texts.tsv"
MASK = (1 << 64) - 1

Keys = npt.NDArray[np.uint64]
Posts = npt.NDArray[np.uint32]
MIN_POSTS = 2  # posts in which a name, a formula, and both together must occur
MIN_STRENGTH = 10.83  # of the log-likelihood ratio: chance exceeds this once in a thousand cases
MOST_PARTNERS = 8  # formulas of a name, and names of a formula
MAX_SHARE = 0.05  # of all posts; a name or formula in more of them is too common to say anything
BATCH = 200_000  # occurrences that are read together
PAIRS_IN_MEMORY = 5_000_000  # pairs of a name and a formula in one post that are counted in one pass
Ints = npt.NDArray[np.int64]
CONCEPTS, WORDS = "concepts.tsv", "vocabulary.tsv"
MAX_POSTS = 200_000


class KeyOccurrences(NamedTuple):
    """Keys and the posts they occur in, in the order of posts, and the text of each distinct key where it is first."""

    keys: Keys
    posts: Posts
    texts: dict[int, str]


class ConceptBlock(NamedTuple):
    """The names and the forms of formulas in a block of posts, which are numbered from 0."""

    posts: int
    names: KeyOccurrences
    forms: KeyOccurrences


class ConceptCollector:
    """Collect names and formulas of posts. Names in a question's title and tags count for its answers, too."""

    def __init__(self) -> None:
        self._posts = 0
        self._names: list[tuple[int, int]] = []  # key, post
        self._keys: dict[str, int] = {}  # of each name
        self._texts: dict[int, str] = {}  # of each key of a name: stems, tab, words
        self._latex: dict[int, str] = {}  # of each expression
        self._formulas: list[tuple[int, int]] = []  # expression, post

    def add(self, thread: Thread, pieces: Pieces) -> None:
        """Collect from the posts of a thread."""
        shared = dict(names_of(pieces.title.words, pieces.title.stems))
        for tag in thread.question.tags:
            if "-" in tag:
                words = make_piece(tag_text((tag,)), [])
                shared[" ".join(words.stems)] = words.text
        self._add_post(shared, pieces.body, [*pieces.title.formulas, *pieces.body.formulas])
        for answer in pieces.answers:
            self._add_post(shared, answer, answer.formulas)

    def _add_post(self, shared: dict[str, str], body: PieceTerms, formulas: list[Segment]) -> None:
        for name, text in (shared | dict(names_of(body.words, body.stems))).items():
            key = self._keys.get(name)
            if key is None:
                key = self._keys[name] = hash64(name) & MASK
                self._texts.setdefault(key, f"{name}\t{text}")
            self._names.append((key, self._posts))
        for expression, latex in {formula.expression_id: formula.text for formula in formulas}.items():
            self._latex.setdefault(expression, latex)
            self._formulas.append((expression, self._posts))
        self._posts += 1

    def block(self, codes: KnownCodes) -> ConceptBlock:
        """Return what was collected."""
        keys = np.array([key for key, _ in self._names], np.uint64)
        posts = np.array([post for _, post in self._names], np.uint32)
        return ConceptBlock(self._posts, KeyOccurrences(keys, posts, self._texts), self._form_occurrences(codes))

    def _form_occurrences(self, codes: KnownCodes) -> KeyOccurrences:
        expressions, post = np.array(self._formulas, np.int64).reshape(-1, 2).T
        keys, posts = codes.forms(expressions), post.astype(np.uint32)
        large = keys > 0  # small formulas occur everywhere
        expressions, keys, posts = expressions[large], keys[large], posts[large]
        # Keep the first occurrence of a form in each post.
        order = np.lexsort((keys, posts))
        same = (keys[order][1:] == keys[order][:-1]) & (posts[order][1:] == posts[order][:-1])
        first = np.sort(order[np.concatenate(([True], ~same))]) if len(order) else order
        expressions, keys, posts = expressions[first], keys[first], posts[first]
        latex: dict[int, str] = {}
        for key, expression in zip(keys.tolist(), expressions.tolist(), strict=True):
            if key not in latex:
                latex[key] = " ".join(self._latex[expression].split())
        return KeyOccurrences(keys, posts, latex)


class KeyOccurrencesWriter(OpenFiles):
    """Append occurrences to a directory. Use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._columns = self._stack.enter_context(ColumnWriter(directory, TYPES))
        self._texts: IO[str] = self._stack.enter_context(
            (directory / TEXTS).open("w", encoding="utf-8", errors="surrogatepass", newline="")
        )

    def add(self, block: KeyOccurrences, first_post: int) -> None:
        """Append a block whose posts are numbered from `first_post`."""
        self._columns.append("key", block.keys)
        self._columns.append("post", block.posts + np.uint32(first_post))
        self._texts.writelines(f"{key}\t{text}\n" for key, text in block.texts.items())


class ConceptWriter(OpenFiles):
    """Write the names and forms of all posts, block by block. Use it in a `with` statement."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.posts = 0
        self._names = self._stack.enter_context(KeyOccurrencesWriter(directory / "names"))
        self._forms = self._stack.enter_context(KeyOccurrencesWriter(directory / "forms"))

    def add(self, block: ConceptBlock) -> None:
        """Append the next posts."""
        self._names.add(block.names, self.posts)
        self._forms.add(block.forms, self.posts)
        self.posts += block.posts


class _Association(NamedTuple):
    """A name and a form, by their keys, the strength of their association, and the number of posts with both."""

    strength: float
    name: int
    form: int
    posts: int


class _Side:
    """One side of the association: the occurrences of names, or of forms, mapped into memory. Selected are the keys in
    enough posts, but not too many; their positions are ids."""

    def __init__(self, directory: Path, max_posts: int) -> None:
        columns = read_columns(directory, TYPES)
        self._directory = directory
        self.keys: Keys = columns["key"]
        self.posts: Posts = columns["post"]
        counter = KeyCounter("<u8")
        for start in range(0, len(self.keys), BATCH):
            counter.count(self.keys[start : start + BATCH])
        keys, posts = counter.result()
        selected = (posts >= MIN_POSTS) & (posts <= max_posts)
        self.selected: Keys = keys[selected]
        self.frequencies: Ints = posts[selected]  # posts with each selected key

    def texts(self, keys: set[int]) -> dict[int, str]:
        """Return the first text of each of these keys."""
        found: dict[int, str] = {}
        with (self._directory / TEXTS).open(encoding="utf-8", errors="surrogatepass", newline="\n") as lines:
            for line in lines:
                key, _, text = line.rstrip("\n").partition("\t")
                if int(key) in keys:
                    found.setdefault(int(key), text)
        return found


def learn(directory: Path, posts: int) -> list[Concept]:
    """Return the concepts of a collection with so many posts, sorted by name, from the occurrences in a directory."""
    max_posts = max(MIN_POSTS + 1, int(posts * MAX_SHARE))
    names, forms = (_Side(directory / side, max_posts) for side in ("names", "forms"))
    found = list(_associations(names, forms, posts))
    texts = names.texts({one.name for one in found})
    kept = _strongest(found, texts)
    latex = forms.texts({one.form for one in kept})
    parts = ((texts[one.name].partition("\t"), one) for one in kept)
    return sorted(
        Concept(name, display_name, form_term(one.form), latex[one.form], one.posts, one.strength)
        for (name, _, display_name), one in parts
    )


def _associations(names: _Side, forms: _Side, posts: int) -> Iterator[_Association]:
    """Yield the names and forms whose association is strong enough."""
    for pairs in _frequent_pairs(names, forms):
        for pair, both in zip(pairs.keys.tolist(), pairs.counts.tolist(), strict=True):
            name, form = divmod(pair, len(forms.selected))
            left, right = int(names.frequencies[name]), int(forms.frequencies[form])
            strength = log_likelihood_ratio(both, left, right, posts)
            if strength >= MIN_STRENGTH:
                yield _Association(strength, int(names.selected[name]), int(forms.selected[form]), both)


def _frequent_pairs(names: _Side, forms: _Side) -> Iterator[CountedKeys]:
    """Yield the pairs that occur in enough posts: name id x number of forms + form id, with the number of posts.

    If memory does not suffice for all pairs, each pass counts those of one range of names."""
    width, size = len(forms.selected), len(names.selected)
    total = sum(len(pairs) for pairs in _co_occurrences(names, forms, 0, size))
    passes = 1 + total // PAIRS_IN_MEMORY
    bounds = np.linspace(0, size, passes + 1).astype(np.int64).tolist()
    for low, high in pairwise(bounds):
        counter = KeyCounter("<u8")
        for pairs in _co_occurrences(names, forms, low, high):
            counter.count(pairs)
        keys, posts = counter.result()
        frequent = posts >= MIN_POSTS
        if width:
            yield CountedKeys(keys[frequent], posts[frequent])


def _co_occurrences(names: _Side, forms: _Side, low: int, high: int) -> Iterator[Keys]:
    """Yield a pair for each post and each name (ids from `low` up to `high`) and form in it, post by post."""
    name_posts, form_posts = names.posts, forms.posts
    start = 0
    while start < len(name_posts):
        end = min(start + BATCH, len(name_posts))
        end = int(np.searchsorted(name_posts, name_posts[end - 1], side="right"))  # complete the last post
        name = find_sorted(names.selected, names.keys[start:end])
        kept = (name >= low) & (name < high)
        name, post = name[kept], name_posts[start:end][kept]
        first = np.searchsorted(form_posts, name_posts[start])
        last = np.searchsorted(form_posts, name_posts[end - 1], side="right")
        form = find_sorted(forms.selected, forms.keys[first:last])
        form, post_of_form = form[form >= 0], form_posts[first:last][form >= 0]
        begin, stop = np.searchsorted(post_of_form, post), np.searchsorted(post_of_form, post, side="right")
        partner = form[spread(begin, stop - begin)]
        yield (np.repeat(name, stop - begin) * len(forms.selected) + partner).astype(np.uint64)
        start = end


def _strongest(found: list[_Association], texts: dict[int, str]) -> list[_Association]:
    """Return the strongest associations, at most MOST_PARTNERS of each name and of each form."""
    order = sorted(found, key=lambda one: (-one.strength, texts[one.name].partition("\t")[0], form_term(one.form)))
    of_name: Counter[int] = Counter()
    of_form: Counter[int] = Counter()
    kept = []
    for association in order:
        if of_name[association.name] < MOST_PARTNERS and of_form[association.form] < MOST_PARTNERS:
            of_name[association.name] += 1
            of_form[association.form] += 1
            kept.append(association)
    return kept


def learn_concepts(occurrences: Path, posts: int, directory: Path) -> None:
    """Learn concepts and write them as a table into the directory of the posts."""
    with (directory / CONCEPTS).open("w", encoding="utf-8", newline="") as out:
        for name, display_name, term, latex, both, strength in learn(occurrences, posts):
            line = [name, display_name, term, str(both), f"{strength:.2f}", " ".join(latex.split())]
            out.write("\t".join(line) + "\n")


def read_concepts(directory: Path) -> list[Concept]:
    """Read the concepts of an index."""
    found = []
    for line in (directory / CONCEPTS).read_text("utf-8").splitlines():
        name, display_name, formula_term, posts, strength, latex = line.split("\t", 5)
        found.append(Concept(name, display_name, formula_term, latex, int(posts), float(strength)))
    return found


def count_words(content: Content) -> dict[str, int]:
    """Count the words of a collection as people write them; return them in alphabetical order."""
    counts: Counter[str] = Counter()
    titles: set[str] = set()
    step = max(1, content.count("posts") // MAX_POSTS)
    for number, post in enumerate(content.posts()):
        if number % step == 0:
            in_title = _words(post.title)
            counts.update([*_words(post.body), *in_title])
            titles.update(in_title)
    return {word: counts[word] for word in sorted(counts) if counts[word] > 1 or word in titles}


def _words(text: Text) -> list[str]:
    plain = " ".join(segment.text for segment in text.segments if segment.kind == "text")
    return [word for word in WORD.findall(plain.lower()) if word.isalpha() and 1 < len(word) <= LONGEST]


def write_vocabulary(content: Content, directory: Path) -> None:
    """Write the words of a collection, one a line."""
    lines = (f"{word}\t{count}\n" for word, count in count_words(content).items())
    (directory / WORDS).write_text("".join(lines), "utf-8")


def read_vocabulary(directory: Path) -> Vocabulary:
    """Return the vocabulary of an index; its file is read when a word is looked up."""

    def read() -> dict[str, int]:
        path = directory / WORDS
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return {word: int(count) for word, _, count in (line.partition("\t") for line in lines)}

    return Vocabulary(read)
