"""XXH3 (64 bits) of many texts at once, after the specification of xxHash (github.com/Cyan4973/xxHash,
doc/xxhash_spec.md).

The terms of paths and sub-expressions are numbers in hexadecimal digits, those of layouts texts of any width that
compiled code writes. Hashed here they need not become Python strings first. The hashes are those of
`porism.store.embedded.terms.dictionary.hash_terms`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from porism.compiled import compiled

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
