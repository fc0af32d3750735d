"""The inputs of a reader: seeds, texts of its grammar, mutations of both. The same seed gives the same inputs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cache
from pathlib import Path
from random import Random

from attack.fuzz.grammar import expand
from attack.fuzz.mutate import mutate_bytes, mutate_text
from attack.fuzz.reader import Reader, to_bytes, to_text

GROWN = Path(".fuzz")  # inputs that showed new behaviour in earlier runs; not in git
CORPUS = Path(__file__).resolve().parents[1] / "corpus"
MOST_KEPT = 400
LARGEST_KEPT = 4000


def corpus_files(reader: str, folder: Path = CORPUS) -> list[Path]:
    """Return the files of a reader's corpus, in order."""
    return sorted(path for path in (folder / reader).glob("*") if path.is_file())


def corpus_of(reader: Reader, folder: Path = CORPUS) -> list[bytes]:
    """Return the inputs of a reader's corpus. Each line of a file `*.lines` is an input; any other file is one."""
    found = list(reader.seeds())
    for path in corpus_files(reader.name, folder):
        data = path.read_bytes()
        found += [line for line in data.split(b"\n") if line] if path.suffix == ".lines" else [data]
    return found


@cache
def grown_of(reader: str) -> list[bytes]:
    """Return the inputs that earlier runs in this folder kept because they showed new behaviour."""
    return [path.read_bytes() for path in corpus_files(reader, GROWN)]


class Inputs:
    """The inputs of one block. Inputs that showed new behaviour (`report`) are changed further."""

    def __init__(self, reader: Reader, seeds: list[bytes], seed: str) -> None:
        self._reader = reader
        self._rng = Random(seed)
        self._kept = list(seeds) or [b""]
        self._seen: set[Hashable] = set()

    def take(self, count: int) -> Iterator[bytes]:
        """Yield this many inputs."""
        for _ in range(count):
            yield self._next()[: self._reader.longest * 4]

    def report(self, data: bytes, behaviour: Hashable) -> bool:
        """Record what an input did, and return whether that is new."""
        if behaviour in self._seen:
            return False
        self._seen.add(behaviour)
        if len(data) <= LARGEST_KEPT:
            if len(self._kept) < MOST_KEPT:
                self._kept.append(data)
            else:
                self._kept[self._rng.randrange(MOST_KEPT)] = data
        return True

    def _next(self) -> bytes:
        reader, rng = self._reader, self._rng
        if reader.grammar and rng.random() < 0.45:
            text = expand(
                reader.grammar,
                rng,
                depth=rng.choice((3, 4, 5, 6, 8, 12)),
                longest=rng.choice((300, 300, 1000, 3000, reader.longest)),
            )
            if rng.random() < 0.5:
                return to_bytes(text[: reader.longest])
            data = to_bytes(text)
        else:
            data = rng.choice(self._kept)
        if reader.binary and (not reader.tokens or rng.random() < 0.7):
            return mutate_bytes(data, rng, self._kept, reader.longest)
        other = to_text(rng.choice(self._kept))
        return to_bytes(mutate_text(to_text(data), rng, reader.tokens or ("x",), (other,), reader.longest))
