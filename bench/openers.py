"""Search the opening brackets of the LaTeX converter, which cost it exponential time when they are nested.

Every command and every character that math-core knows is repeated forty times, alone and with others, in a process with
a limit on processor time. What exceeds the limit is an opener. `python -m bench openers` writes the table that the
formula package reads.
"""

from __future__ import annotations

import os
import re
import signal
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from porism.formula.latex import brackets
from porism.formula.latex.convert import math_core
from porism.formula.latex.repair import commands

TABLE = Path(brackets.__file__).with_name("openers.tsv")
TIMES = 40
CPU_SECONDS = 0.12
LONGEST_NAME = 21
# A token T is repeated in each of these patterns, then a tail follows, then what closes the groups.
PATTERNS = ("T", "Tx", "T{", "T{x}{", "^{T")
TAILS = ("x", r"\displaystyle x", r"a\over b", r"\color{red}x", r"\right.", "&x")
CODES = range(0x21, 0x10000)


class Case(NamedTuple):
    """A text to convert, and the token that it repeats."""

    token: str
    text: str


def known_commands() -> list[str]:
    """Return every command that the converter knows: all strings of letters in its binary that it accepts as one."""
    import math_core as library

    names = set(commands())
    convert = math_core()
    for run in {
        run
        for path in Path(library.__file__).parent.glob("*.so")
        for run in re.findall(rb"[A-Za-z]+", path.read_bytes())
    }:
        text = run.decode()
        starts = range(len(text))
        names |= {text[at : at + size] for at in starts for size in range(1, min(LONGEST_NAME, len(text) - at) + 1)}
    return sorted(name for name in names if _is_known(convert, name))


def _is_known(convert: Any, name: str) -> bool:
    try:
        convert("\\" + name, displaystyle=False)
    except Exception as error:
        return "Unknown command" not in str(error)
    return True


def tokens() -> list[str]:
    """Return all commands, and all characters that are punctuation, symbols or marks."""
    special = ["\\" + character for character in "{}[]()|,;:!>'\"&#$%_^~-/`@=<*+."]
    characters = [chr(code) for code in CODES if unicodedata.category(chr(code))[0] in "PSM" and chr(code) != "\\"]
    return [*(f"\\{name} " for name in known_commands()), *special, *characters]


def cases(found: Iterable[str]) -> Iterator[Case]:
    """Yield the texts that repeat each token; characters take no argument, so fewer patterns concern them."""
    for token in found:
        is_command = token.startswith("\\") and token.strip()[1:].isalpha()
        for pattern in PATTERNS if is_command else PATTERNS[:2]:
            for tail in TAILS if is_command else TAILS[:1]:
                open_groups = TIMES * (pattern.count("{") - pattern.count("}"))
                yield Case(token, pattern.replace("T", token) * TIMES + tail + "}" * open_groups)


def expensive(found: Sequence[Case]) -> list[Case]:
    """Return the cases that exceed the limit of processor time; each costs a process."""
    slow: list[Case] = []
    at = 0
    while at < len(found):
        stopped = _run_from(found, at)
        if stopped is None:
            break
        slow.append(found[stopped])
        at = stopped + 1
    return slow


def _run_from(found: Sequence[Case], start: int) -> int | None:
    """Convert cases in a child process; return the case that was killed, or None if all were converted."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _convert_all(found, start, writing)
    os.close(writing)
    reported = b""
    while part := os.read(reading, 65536):
        reported = (reported + part)[-8 - (len(reported) + len(part)) % 8 :]
    os.close(reading)
    _, status = os.waitpid(child, 0)
    whole = len(reported) - len(reported) % 8
    return int.from_bytes(reported[whole - 8 : whole], "little") if os.WIFSIGNALED(status) else None


def _convert_all(found: Sequence[Case], start: int, writing: int) -> None:
    """Report each case before it is converted. Never returns."""
    convert = math_core()
    for at in range(start, len(found)):
        os.write(writing, at.to_bytes(8, "little"))
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            convert(found[at].text, displaystyle=False)
        except Exception:
            continue
    os._exit(0)


def main() -> None:
    """Write the table of openers."""
    slow = expensive(list(cases(tokens())))
    openers = sorted({case.token.strip() for case in slow}, key=lambda token: (not token.startswith("\\"), token))
    comment = (
        f"# Opening brackets of math-core {version('math-core')}, and commands that contain one: nested some twenty deep, they cost it "
        "exponential time.\n# Found by `python -m bench openers`, which tries every command and character that the converter knows.\n"
    )
    TABLE.write_text(comment + "\n".join(openers) + "\n", "utf-8")
    print(f"{len(openers)} openers written to {TABLE.name}")
