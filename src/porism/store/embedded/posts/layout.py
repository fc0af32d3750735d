"""The columns of posts, and how posts make threads. Readers and the builder share this; a reader need not import the builder."""

from __future__ import annotations

import numpy as np

# Attributes of posts, one column each.
POST_TYPES = {"id": "<i8", "year": "<i2", "votes": "<i4", "accepted": "u1"}


def thread_of_posts(first: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the row of the thread of every post from where the posts of each thread start."""
    return np.repeat(np.arange(len(first) - 1, dtype=np.int32), np.diff(first))
