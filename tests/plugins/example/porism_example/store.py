"""A store: `quiz:///folder/NAME.quiz` holds the questions of a file in memory."""

from __future__ import annotations

from pathlib import Path

from porism.store import store_of_texts
from porism.store.protocols import Store


def open_quiz(address: str) -> Store:
    """Open the store at an address."""
    return store_of_texts(Path(address.removeprefix("quiz://")).read_text("utf-8").splitlines())
