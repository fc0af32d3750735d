"""Write a later segment of an index: the threads and formulas of one part of its collection, on the basis that the first segment learned."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from porism.corpus.store.collection import Collection
from porism.progress import Silent
from porism.store.embedded.formulas.build import FormulaPart, build_formula_index
from porism.store.embedded.formulas.codes import FORMS
from porism.store.embedded.posts.build import write_posts
from porism.store.embedded.posts.store import EmbeddedPosts
from porism.store.embedded.terms.dictionary import Dictionary
from porism.store.embedded.vectors import project_vectors

Ints = npt.NDArray[np.int64]


def write_later_segment(
    directory: Path,
    collection: Collection,
    questions: Sequence[int],
    part: FormulaPart,
    links: bool,
    first: EmbeddedPosts,
) -> None:
    """Write the segment of these threads and formulas of a collection. Their vectors are projected on the basis of the first segment."""
    temporary = directory / "passing"
    build_formula_index(collection, directory / "formulas", codes=temporary / "codes", part=part)
    posts = directory / "posts"
    write_posts(
        collection,
        posts,
        links=links,
        progress=Silent(),
        codes=temporary / "codes",
        forms=directory / "formulas" / FORMS,
        rows=temporary / "rows",
        occurrences=None,
        questions=np.array(sorted(questions), np.int64),
    )
    for family, vectors in first.vectors.items():
        codes = first.terms.dictionary(family).find_hashes(Dictionary(posts / family).by_id())
        project_vectors(posts, family, temporary / "rows", vectors, codes)
    shutil.rmtree(temporary)
