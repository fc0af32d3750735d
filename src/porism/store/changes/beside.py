"""The files beside an index that is changed while it is served: INDEX.log, INDEX.log.rejected, INDEX.log.applying and INDEX.merge."""

from __future__ import annotations

from pathlib import Path

from porism.store import open_store
from porism.store.changes.change_log import ChangeLog


def log_path(index: Path) -> Path:
    """Return the change log of an index."""
    return index.with_name(f"{index.name}.log")


def rejected_path(index: Path) -> Path:
    """Return the file of the changes that could not be applied, as JSON Lines."""
    return index.with_name(f"{index.name}.log.rejected")


def attempts_path(index: Path) -> Path:
    """Return the file that notes which changes are being applied."""
    return index.with_name(f"{index.name}.log.applying")


def merge_request(index: Path) -> Path:
    """Return the file that requests a merge of all segments. It stays until the merge is done, whatever happens meanwhile."""
    return index.with_name(f"{index.name}.merge")


def open_log(index: Path) -> ChangeLog:
    """Open the change log of an index, or create it."""
    return ChangeLog(log_path(index), open_store(index).status().log_position)
