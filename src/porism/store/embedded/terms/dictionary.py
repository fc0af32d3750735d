"""Dictionaries: each distinct term of a family gets an id, 0, 1, 2, ..., in the order of first appearance.

Terms are identified by 64-bit hashes of their text (XXH3, the same on every machine and Python). On disk a dictionary
is the sorted hashes with their ids; a family whose terms are shown to people also keeps their texts in the order of
ids.

The terms of paths and sub-expressions are numbers in hexadecimal digits, those of layouts texts of any width that
compiled code writes. They are hashed here after the specification of xxHash (github.com/Cyan4973/xxHash,
doc/xxhash_spec.md), so that they need not become Python strings first."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from porism.compiled import compiled
from porism.store.embedded.storage.columns import ArrayWriter, map_file, read_array
from porism.store.embedded.storage.rows import RowBlock

Hashes = npt.NDArray[np.uint64]
# The first 128 bytes of XXH3's default secret, as sixteen numbers.
_SECRET = np.frombuffer(
    bytes.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
        "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
        "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
        "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    ),
    "<u8",
).astype(np.uint64)
_PRIME = np.uint64(0x9E3779B185EBCA87)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_LONGEST = 128  # width up to which `hash_texts` needs no library
Ids = npt.NDArray[np.int64]
_FIRST_SLOTS = 1 << 16
FULL = 0.7  # share of the slots of a table that are used at most
SAVED_AT_ONCE = 1 << 20  # hashes that are sorted into a file together


def hash_hexadecimal(rows: npt.NDArray[np.uint8]) -> Hashes:
    """Return the hashes of rows of bytes, each written in hexadecimal digits. No hash is 0."""
    digits = np.empty((len(rows), 2 * rows.shape[1]), np.uint8)
    digits[:, 0::2] = _HEX[rows >> 4]
    digits[:, 1::2] = _HEX[rows & 15]
    return hash_texts(digits.reshape(-1), np.arange(1, len(rows) + 1) * digits.shape[1])


def hash_texts(data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> Hashes:
    """Return the hashes of texts of any width from 4 bytes on, given one after another and where each ends. 0 marks an
    empty slot of a table, so no hash is 0."""
    out = np.empty(len(ends), np.uint64)
    _hash_texts(data, ends, _SECRET, out)
    for at in np.flatnonzero(np.diff(ends, prepend=0) > _LONGEST).tolist():
        out[at] = xxh3_64_intdigest(data[ends[at - 1] if at else 0 : ends[at]].tobytes())
    out[out == 0] = 1
    return out


@compiled
def _folded_product(left: Any, right: Any) -> Any:
    """Return the low half of a product of 128 bits XOR its high half."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    left_low, left_high = left & mask, left >> half
    right_low, right_high = right & mask, right >> half
    low = left_low * right_low
    middle = left_high * right_low + (low >> half)
    other = left_low * right_high + (middle & mask)
    high = left_high * right_high + (middle >> half) + (other >> half)
    return ((other << half) | (low & mask)) ^ high


@compiled
def _avalanche(value: Any) -> Any:
    value = (value ^ (value >> np.uint64(37))) * np.uint64(0x165667919E3779F9)
    return value ^ (value >> np.uint64(32))


@compiled
def _read(data: Any, at: int, width: int) -> Any:
    """Read a little-endian number."""
    value = np.uint64(0)
    for byte in range(width):
        value |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
    return value


@compiled
def _mixed(data: Any, at: int, secret: Any, part: int) -> Any:
    """Mix sixteen bytes with two numbers of the secret."""
    return _folded_product(_read(data, at, 8) ^ secret[part], _read(data, at + 8, 8) ^ secret[part + 1])


@compiled
def _hash_tiny(data: Any, start: int, end: int, secret: Any) -> Any:
    """Hash a text of 4 to 8 bytes."""
    multiplier = np.uint64(0x9FB21C651E98DF25)
    value = (_read(data, start, 4) << np.uint64(32)) + _read(data, end - 4, 4) ^ (secret[1] ^ secret[2])
    value ^= (value << np.uint64(49) | value >> np.uint64(15)) ^ (value << np.uint64(24) | value >> np.uint64(40))
    value *= multiplier
    value ^= (value >> np.uint64(35)) + np.uint64(end - start)
    value *= multiplier
    return value ^ (value >> np.uint64(28))


@compiled
def _hash_texts(data: Any, ends: Any, secret: Any, out: Any) -> None:
    """Hash texts of 4 to 128 bytes; those of wider texts are not filled in."""
    flip_first, flip_last = secret[3] ^ secret[4], secret[5] ^ secret[6]
    start = 0
    for text in range(len(ends)):
        end = ends[text]
        width = end - start
        if width <= 8:
            out[text] = _hash_tiny(data, start, end, secret)
        elif width <= 16:
            low, high = _read(data, start, 8) ^ flip_first, _read(data, end - 8, 8) ^ flip_last
            swapped = np.uint64(0)
            for byte in range(8):
                swapped |= ((low >> np.uint64(8 * byte)) & np.uint64(255)) << np.uint64(56 - 8 * byte)
            out[text] = _avalanche(np.uint64(width) + swapped + high + _folded_product(low, high))
        elif width <= 128:
            value = np.uint64(width) * _PRIME
            for pair in range((width - 1) // 32, -1, -1):
                value += _mixed(data, start + 16 * pair, secret, 4 * pair)
                value += _mixed(data, end - 16 * (pair + 1), secret, 4 * pair + 2)
            out[text] = _avalanche(value)
        start = end


def hash_terms(terms: Iterable[str]) -> Hashes:
    """Return the 64-bit hashes of terms. 0 marks an empty slot of the table, so no term has it."""
    texts = list(terms)
    encoded = "\0".join(texts).encode("utf-8", "surrogatepass").split(b"\0") if texts else []
    if len(encoded) != len(texts):  # a term contains the separator
        encoded = [term.encode("utf-8", "surrogatepass") for term in texts]
    hashed = np.fromiter(map(xxh3_64_intdigest, encoded), np.uint64, len(encoded))
    hashed[hashed == 0] = 1
    return hashed


@compiled
def _intern(hashes: Any, slots: Any, known: Any, size: int, out: Any, fresh: Any) -> int:
    """Look up each hash in an open-addressing table, adding it with the next id if it is new; return the new number of
    ids.

    A slot holds an id + 1, 0 if it is empty. `known` has the hashes by id, and room for new ones."""
    mask = np.uint64(len(slots) - 1)
    for at in range(len(hashes)):
        wanted = hashes[at]
        slot = (wanted ^ (wanted >> np.uint64(32))) & mask
        while slots[slot] != 0 and known[slots[slot] - 1] != wanted:
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == 0:
            known[size] = wanted
            size += 1
            slots[slot] = size
            fresh[at] = True
        out[at] = slots[slot] - 1
    return size


@compiled
def _insert(known: Any, size: int, slots: Any) -> None:
    """Put the ids of distinct hashes into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for number in range(size):
        slot = (known[number] ^ (known[number] >> np.uint64(32))) & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number + 1


class LocalCodes(NamedTuple):
    """The local code of each hash, in the order of first appearance, and the distinct hashes in that order."""

    codes: npt.NDArray[np.uint32]
    hashes: Hashes


def local_codes(hashes: Hashes) -> LocalCodes:
    """Number the distinct hashes of a block."""
    slots = np.zeros(1 << max(4, (2 * len(hashes)).bit_length()), np.uint32)
    codes, fresh = np.empty(len(hashes), np.uint32), np.zeros(len(hashes), np.bool_)
    known = np.empty(len(hashes), np.uint64)
    size = _intern(hashes, slots, known, 0, codes, fresh)
    return LocalCodes(codes, known[:size].copy())


@compiled
def _parse_decimals(ends: Any, data: Any, ids: Any, out: Any) -> None:
    """Write the numbers whose decimal digits are the texts of ids."""
    for at in range(len(ids)):
        value = np.int64(0)
        for place in range(ends[ids[at] - 1] if ids[at] else 0, ends[ids[at]]):
            value = value * 10 + np.int64(data[place]) - 48
        out[at] = value


class DictionaryWriter:
    """Assign ids to hashes of terms. Memory: 14 to 19 bytes a term and its text; 8 bytes once it is saved."""

    def __init__(self) -> None:
        self._slots = np.zeros(_FIRST_SLOTS, np.uint32)
        self._known: Hashes = np.empty(_FIRST_SLOTS, np.uint64)  # by id; those from `size` on are not used yet
        self._text = bytearray()
        self._text_sizes = array("I")
        self.size = 0

    def intern(self, hashes: Hashes, texts: Sequence[str] = ()) -> npt.NDArray[np.uint32]:
        """Return the ids of hashes, new ids for new ones; `texts` names them where the dictionary keeps texts."""
        self._make_room(len(hashes))
        ids = np.empty(len(hashes), np.uint32)
        fresh = np.zeros(len(hashes), np.bool_)
        self.size = _intern(hashes, self._slots, self._known, self.size, ids, fresh)
        if texts:
            encoded = [texts[at].encode("utf-8", "surrogatepass") for at in np.flatnonzero(fresh).tolist()]
            self._text += b"".join(encoded)
            self._text_sizes.extend(map(len, encoded))
        return ids

    def _make_room(self, more: int) -> None:
        """Keep the table at most FULL, with room for more. Pages of an array never written take no memory."""
        wanted = self.size + more
        if wanted > len(self._known):
            known = np.empty(max(wanted, 2 * len(self._known)), np.uint64)
            known[: self.size] = self._known[: self.size]
            self._known = known
        slots = len(self._slots)
        while FULL * slots < wanted:
            slots *= 2
        if slots > len(self._slots):
            del self._slots  # before the larger one is made
            self._slots = np.zeros(slots, np.uint32)
            _insert(self._known, self.size, self._slots)

    def hashes(self) -> Hashes:
        """Return the hashes in the order of ids."""
        return self._known[: self.size]

    def save(self, path: Path) -> None:
        """Write the dictionary to files whose names start with `path`. It learns no more terms after that."""
        path.parent.mkdir(parents=True, exist_ok=True)
        del self._slots
        hashes = self.hashes()
        order = np.argsort(hashes).astype(np.uint32)  # no two are equal, so every way to sort gives this order
        np.save(f"{path}.id.npy", order)
        with ArrayWriter(Path(f"{path}.hash.npy"), "<u8") as out:
            for start in range(0, len(order), SAVED_AT_ONCE):
                out.append(hashes[order[start : start + SAVED_AT_ONCE]])
        if self._text_sizes:
            np.save(f"{path}.text_end.npy", np.cumsum(self._text_sizes, dtype=np.int64))
            Path(f"{path}.text").write_bytes(self._text)


class LocalRows(NamedTuple):
    """Rows whose codes are positions in `hashes`; `texts` are the terms where they are shown to people."""

    rows: RowBlock
    hashes: Hashes
    texts: Sequence[str] = ()

    def final(self, dictionary: DictionaryWriter) -> RowBlock:
        """Return the rows with ids of the dictionary, which learns new terms."""
        ids = dictionary.intern(self.hashes, self.texts)
        return self.rows._replace(codes=ids[self.rows.codes])


class BlockTerms:
    """The distinct terms of a block in the order of first appearance."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__  # a new term gets the next code

    def codes(self, terms: Iterable[str]) -> list[int]:
        """Return the local code of each term."""
        return list(map(self._numbers.__getitem__, terms))

    def hashes(self) -> Hashes:
        """Return the hashes of all terms in the order of codes."""
        return hash_terms(self._numbers)

    def texts(self) -> list[str]:
        """Return all terms in the order of codes."""
        return list(self._numbers)


def find_sorted(held: npt.NDArray[Any], wanted: npt.NDArray[Any], order: Ids | None = None) -> Ids:
    """Return the position of each wanted value in values that are sorted, or that `order` sorts; -1 for none."""
    if not len(held):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(held, wanted, sorter=order), len(held) - 1)
    at = at if order is None else order[at]
    return np.where(held[at] == wanted, at, -1)


class Dictionary:
    """A dictionary on disk, as mapped arrays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hashes: Hashes = read_array(Path(f"{path}.hash.npy"))
        self._ids: npt.NDArray[np.uint32] = read_array(Path(f"{path}.id.npy"))

    def __len__(self) -> int:
        return len(self._hashes)

    def find_hashes(self, hashes: Hashes) -> Ids:
        """Return the ids of terms by their hashes, -1 for those that the dictionary does not have."""
        found = find_sorted(self._hashes, hashes)
        known = found >= 0
        found[known] = self._ids[found[known]]
        return found

    def by_id(self) -> Hashes:
        """Return the hashes in the order of ids."""
        hashes = np.empty(len(self._hashes), np.uint64)
        hashes[self._ids] = self._hashes
        return hashes

    def texts(self, ids: Ids) -> list[str]:
        """Return the texts of ids; empty if the dictionary keeps none."""
        if self._stored_texts is None:
            return [""] * len(ids)
        ends, data = self._stored_texts
        starts = np.where(ids > 0, ends[ids - 1], 0)
        spans = zip(starts.tolist(), ends[ids].tolist(), strict=True)
        return [data[start:end].tobytes().decode("utf-8", "surrogatepass") for start, end in spans]

    def numbers(self, ids: Ids) -> Ids:
        """Return the texts of ids, which are decimal numbers, as integers."""
        values = np.zeros(len(ids), np.int64)
        if len(ids) and not 0 <= ids.min() <= ids.max() < len(self):  # the compiled loop checks nothing
            raise IndexError("an id that this dictionary does not have")
        if self._stored_texts is not None:
            _parse_decimals(*self._stored_texts, ids, values)
        return values

    @cached_property
    def _stored_texts(self) -> tuple[Ids, npt.NDArray[np.uint8]] | None:
        """Where each text ends, and all texts, one after another."""
        end_path = Path(f"{self._path}.text_end.npy")
        return (read_array(end_path), map_file(Path(f"{self._path}.text"), np.uint8)) if end_path.exists() else None
