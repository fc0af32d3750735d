"""The one door to the data: an address opens a store, which gives snapshots to read and a writer to change it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from porism.errors import PorismError
from porism.plugins import STORES, plugins

if TYPE_CHECKING:
    from porism.corpus.content import Content
    from porism.integrity import Verify
    from porism.store.protocols import Store

MEMORY = "memory:"


def open_store(address: str | Path, verify: Verify = "quick", encoder: str | Path | None = None) -> Store:
    """Open a store: a folder, `memory:`, or an address such as `opensearch://host:9200/name` of a store that a plug-in
    adds.

    `verify` and `encoder` concern a folder: what is compared with checksums before it is read, and where the model of
    its vectors is now ("none" leaves them out)."""
    scheme, colon, _ = str(address).partition("://")
    if str(address) == MEMORY:
        from porism.store.memory.store import MemoryStore

        return MemoryStore()
    if not colon:
        from porism.store.embedded.store import open_folder

        return open_folder(address, verify, encoder)
    known = plugins(STORES)
    if scheme not in known:
        schemes = ", ".join(known) or "none"
        fix = f"install the package that opens such addresses (schemes that are installed: {schemes}), or name a folder"
        raise PorismError(f"no store has addresses that begin with {scheme}://", where=str(address), fix=fix)
    store: Store = known[scheme].load()(str(address))
    return store


def store_of_texts(texts: Iterable[str]) -> Store:
    """Return a store in memory in which each text is a question with the id 1, 2, 3, ..."""
    from porism.store.memory.store import MemoryStore, text_posts

    return MemoryStore.of(text_posts(texts))


def open_content(address: str | Path, verify: Verify = "quick") -> Content:
    """Open what people read of a collection, by its folder or by the address of an index of it."""
    if not is_folder(address):
        return open_store(address).snapshot().content
    from porism.store.embedded.store import open_folder_content

    return open_folder_content(address, verify)


def is_folder(address: str | Path) -> bool:
    """Return whether an address names a folder, which need not exist."""
    return "://" not in str(address) and str(address) != MEMORY


def explained(store: Store | None) -> AbstractContextManager[None]:
    """Return a context that reports errors of damaged files as such, where the store can tell."""
    found: AbstractContextManager[None] = getattr(store, "explained", nullcontext)()
    return found
