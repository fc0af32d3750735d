"""Learning which names go with which formulas from the pairs that were noted, a stretch of posts at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.index.analysis.terms import form_term
from porism.index.concepts.concept import Concept, likelihood, write_concepts
from porism.index.concepts.pairs import Keys, PairsReader
from porism.index.storage.tally import Tally

SUPPORT = 2  # posts that must have both
LIKELY = 10.83  # of the ratio: chance does this once in a thousand
MOST = 8  # formulas of a name, and names of a formula
COMMON = 0.05  # share of posts beyond which a name or formula tells nothing
STRETCH = 200_000  # pairs that are looked at together
AT_ONCE = 20_000_000  # meetings of a name and a formula that are counted in one go

Numbers = npt.NDArray[np.int64]


class _Kept:
    """The keys that stand in enough posts and not in too many, and in how many."""

    def __init__(self, pairs: PairsReader, most: int) -> None:
        tally = Tally("<u8")
        for start in range(0, len(pairs.keys), STRETCH):
            tally.add_all(pairs.keys[start : start + STRETCH])
        keys, posts = tally.result()
        kept = (posts >= SUPPORT) & (posts <= most)
        self.keys: Keys = keys[kept]
        self.posts: Numbers = posts[kept]

    def find(self, keys: Keys) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """The numbers of keys, and which of them are kept."""
        if not len(self.keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return at, self.keys[at] == keys


def learn(directory: Path, posts: int) -> list[Concept]:
    """The concepts of the pairs in a folder, which tell of so many posts, in the order of names."""
    names, forms = PairsReader(directory / "names"), PairsReader(directory / "forms")
    most = max(SUPPORT + 1, int(posts * COMMON))
    kept_names, kept_forms = _Kept(names, most), _Kept(forms, most)
    found: list[tuple[float, int, int, int]] = []
    for keys, both in _meetings(names, forms, kept_names, kept_forms):
        for key, times in zip(keys.tolist(), both.tolist(), strict=True):
            name, form = divmod(key, len(kept_forms.keys))
            strength = likelihood(times, int(kept_names.posts[name]), int(kept_forms.posts[form]), posts)
            if strength >= LIKELY:
                found.append((strength, int(kept_names.keys[name]), int(kept_forms.keys[form]), times))
    shown = names.shown({name for _, name, _, _ in found})
    kept = _strongest(found, shown)
    latex = forms.shown({form for _, _, form, _ in kept})
    concepts = []
    for strength, key, form, times in kept:
        name, _, written = shown[key].partition("\t")
        concepts.append(Concept(name, written, form_term(form), latex[form], times, strength))
    return sorted(concepts)


def _meetings(
    names: PairsReader, forms: PairsReader, kept_names: _Kept, kept_forms: _Kept
) -> Iterator[tuple[Keys, Numbers]]:
    """How often each name (of those kept) met each formula, where that is often enough; the names in as many goes as memory wants."""
    width = len(kept_forms.keys)
    total = sum(len(met) for met in _met(names, forms, kept_names, kept_forms, 0, len(kept_names.keys)))
    goes = 1 + total // AT_ONCE
    bounds = np.linspace(0, len(kept_names.keys), goes + 1).astype(np.int64).tolist()
    for low, high in pairwise(bounds):
        tally = Tally("<u8")
        for met in _met(names, forms, kept_names, kept_forms, low, high):
            tally.add_all(met)
        keys, both = tally.result()
        often = both >= SUPPORT
        if width:
            yield keys[often], both[often]


def _met(
    names: PairsReader, forms: PairsReader, kept_names: _Kept, kept_forms: _Kept, low: int, high: int
) -> Iterator[Keys]:
    """One number for each post and each name (of those numbered low to high) and formula in it, a stretch of posts at a time."""
    start = 0
    while start < len(names.keys):
        end = min(start + STRETCH, len(names.keys))
        # To the end of the last post.
        end = int(np.searchsorted(names.posts, names.posts[end - 1], side="right"))
        name, kept = kept_names.find(names.keys[start:end])
        kept &= (name >= low) & (name < high)
        name, post = name[kept], names.posts[start:end][kept]
        first, last = (
            np.searchsorted(forms.posts, names.posts[start]),
            np.searchsorted(forms.posts, names.posts[end - 1], side="right"),
        )
        form, known = kept_forms.find(forms.keys[first:last])
        form, where = form[known], forms.posts[first:last][known]
        begin, stop = np.searchsorted(where, post), np.searchsorted(where, post, side="right")
        sizes = stop - begin
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        met = form[np.repeat(begin, sizes) + within]
        yield (np.repeat(name, sizes) * len(kept_forms.keys) + met).astype(np.uint64)
        start = end


def _strongest(found: list[tuple[float, int, int, int]], shown: dict[int, str]) -> list[tuple[float, int, int, int]]:
    """The best few of every name that are also among the best few of their formula."""
    order = sorted(found, key=lambda one: (-one[0], shown[one[1]].partition("\t")[0], form_term(one[2])))
    of_name: Counter[int] = Counter()
    of_form: Counter[int] = Counter()
    kept = []
    for one in order:
        _, name, form, _ = one
        if of_name[name] < MOST and of_form[form] < MOST:
            of_name[name] += 1
            of_form[form] += 1
            kept.append(one)
    return kept


def learn_concepts(pairs: Path, posts: int, directory: Path) -> None:
    """Learn concepts and write them into the folder of posts."""
    write_concepts(learn(pairs, posts), directory)
