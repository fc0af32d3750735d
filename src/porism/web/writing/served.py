"""Which changes the processes of a server have: each one writes its position into memory that all of them share."""

from __future__ import annotations

import mmap
import os
import struct

SLOTS = 1024
SLOT = struct.Struct("<qq")  # process, sequence


class ServedPositions:
    """The number of the last change that each serving process searches. Created before the processes are forked."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SLOTS * SLOT.size)

    def set(self, sequence: int) -> None:
        """Report that this process searches all changes up to this one."""
        own = os.getpid()
        for step in range(SLOTS):
            at = (own + step) % SLOTS
            process, _ = self._slot(at)
            if process in (0, own) or not _is_alive(process):
                self._memory[at * SLOT.size : (at + 1) * SLOT.size] = SLOT.pack(own, sequence)
                return

    def least(self) -> int:
        """Return the number of the last change that every process searches."""
        slots = [self._slot(at) for at in range(SLOTS)] if any(self._memory) else []
        return min((sequence for process, sequence in slots if process and _is_alive(process)), default=0)

    def _slot(self, at: int) -> tuple[int, int]:
        process, sequence = SLOT.unpack_from(self._memory, at * SLOT.size)
        return process, sequence


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
