"""Commands that one converter did not know: another may."""

from __future__ import annotations

import functools

from porism.formula.convert import symbol_of
from porism.formula.labels import token_labels


@functools.lru_cache(maxsize=4096)
def known_symbol(command: str) -> str:
    """The label of a command that stands for one symbol (`\\gt`), else the command itself as a name."""
    found = symbol_of(command)
    labels = token_labels(*found) if found else ()
    return labels[0] if len(labels) == 1 else "V!" + command
