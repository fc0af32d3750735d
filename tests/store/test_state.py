"""What a server keeps besides the store: beside a folder, or in a state folder for any other address."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple

import pytest

import porism.store
from porism.errors import PorismError
from porism.store.applying import LogApplier
from porism.store.change_log import open_log
from porism.store.memory.store import MemoryStore
from porism.store.state import State

ADDRESS = "lent://shelf"


class Scheme(NamedTuple):
    """A plug-in whose addresses name one store in memory."""

    store: MemoryStore

    def load(self) -> object:
        return lambda address: self.store


def test_beside_a_folder_are_files_with_its_name(tmp_path: Path) -> None:
    state = State.of(tmp_path / "index")
    assert (state.log, state.tokens) == (tmp_path / "index.log", tmp_path / "index.tokens")
    assert state.systems == tmp_path / "index" / "systems"


def test_an_address_that_is_no_folder_needs_a_state_folder() -> None:
    with pytest.raises(PorismError) as caught:
        _ = State.of(ADDRESS).log
    assert str(caught.value) == (
        "lent://shelf: not a folder, so that nothing can be kept beside it\n"
        "  fix: name a folder for change log, tokens, caches and models: --state DIR"
    )
    assert State.of(ADDRESS).systems is None


def test_changes_of_any_store_are_logged_in_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setattr(porism.store, "plugins", lambda group: {"lent": Scheme(store)})
    state = State.of(ADDRESS, tmp_path / "state")
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    open_log(state).append([{"id": 9, "title": "Primes", "body": "<p>$p^2$</p>"}])
    LogApplier(state).step()
    assert [post.id for post in porism.open(ADDRESS).content.posts()] == [9]
    assert store.status().log_position.sequence == 1
    assert (tmp_path / "state" / "log").is_file()
