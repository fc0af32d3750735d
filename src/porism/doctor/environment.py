"""Findings, and the checks of the installation and the machine."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

import porism
from porism import __version__
from porism.errors import PorismError
from porism.parallel import cores

State = Literal["ok", "note", "action"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, the fact, whether it needs action, and the remedy. A `note` can be left as it is."""

    subject: str
    fact: str
    state: State = "ok"
    fix: str = ""


Check = Callable[[], Iterable[Finding]]


def run_checks(checks: Iterable[tuple[str, Check]]) -> Iterator[Finding]:
    """Run checks, each with its subject. An error of a check is a finding, too."""
    for subject, check in checks:
        try:
            yield from check()
        except PorismError as error:
            fact = f"{error.where}: {error.message}" if error.where else error.message
            yield Finding(subject, fact, "action", error.fix)
        except Exception as error:
            fact = f"could not be checked ({type(error).__name__}: {error})"
            yield Finding(subject, fact, "action", "check that the files are readable; if they are, report this line")


# Modules that installing compiles where there is a C compiler; if these are compiled, all are.
COMPILED = ("porism.hashing", "porism.formula.parsed", "porism.analysis.features")
LEAST_MEMORY = 1_000_000_000  # bytes that should be free for a server of a small site
LEAST_DISK = 1_000_000_000
LEAST_FILES = 1024


class Vulnerability(NamedTuple):
    """A published weakness: in what, its name, what happens, and the first version of each branch without it."""

    part: str
    name: str
    effect: str
    fixed: tuple[tuple[int, int, int], ...]


# Branches after the last of a row never had the weakness.
VULNERABILITIES = (
    Vulnerability("Python", "CVE-2024-7592", "a quoted cookie takes quadratic time", ((3, 11, 10), (3, 12, 6))),
    Vulnerability("Python", "CVE-2024-6232", "headers of a tar file take quadratic time", ((3, 11, 10), (3, 12, 6))),
    Vulnerability("Python", "CVE-2025-8194", "reading a tar file may not end", ((3, 11, 14), (3, 12, 12), (3, 13, 6))),
    Vulnerability("Expat", "CVE-2023-52425", "a long text in XML takes quadratic time", ((2, 6, 0),)),
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra == [\"']([^\"']+)[\"']")
_DEVELOPMENT = ("test",)  # an extra that nobody misses


def versions() -> Iterator[Finding]:
    """Report the versions of Porism, Python and the system."""
    yield Finding("version", f"Porism {__version__}, Python {platform.python_version()}, {platform.platform()}")


def interpreter() -> Iterator[Finding]:
    """Report published weaknesses of this interpreter, from which only Porism's own code is guarded."""
    from pyexpat import version_info

    for part, version in {"Python": sys.version_info[:3], "Expat": version_info}.items():
        found = {one: first for one in VULNERABILITIES if one.part == part and (first := _first_fixed(one, version))}
        shown = ".".join(map(str, version))
        if not found:
            yield Finding(part, f"{shown}, no vulnerabilities known to Porism")
            continue
        needed = ".".join(map(str, max(found.values())))
        fact = f"{shown} has known vulnerabilities: " + "; ".join(f"{one.name} ({one.effect})" for one in found)
        fix = f"use {part} {needed} or newer; a package of your distribution may have the fixes under an older number"
        yield Finding(part, fact, "note", fix)


def _first_fixed(one: Vulnerability, version: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """Return the version that this one should be replaced by; None if it has no such weakness."""
    first = next((first for first in one.fixed if first[:2] >= version[:2]), version)
    return first if version < first else None


def packages() -> Iterator[Finding]:
    """Report packages that are missing, and which extras are installed."""
    try:
        required = metadata.requires("porism") or []
    except metadata.PackageNotFoundError:
        fact = "Porism is run from its sources, not installed"
        yield Finding("packages", fact, "note", "pip install . in the sources")
        return
    missing: dict[str, list[str]] = {}
    for line in required:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        absent = missing.setdefault(extra[1] if extra else "", [])
        if name and not list(metadata.distributions(name=name[0])):
            absent.append(name[0])
    if absent := missing.pop("", []):
        yield Finding("packages", f"missing: {', '.join(absent)}", "action", f"pip install {' '.join(absent)}")
    else:
        yield Finding("packages", "all required packages are installed")
    for title, absent in sorted(missing.items()):
        if title in _DEVELOPMENT:
            continue
        fact = f"without {', '.join(absent)}" if absent else "installed"
        fix = f'if you need it: pip install "porism[{title}]"' if absent else ""
        yield Finding(f"extra {title}", fact, "note" if absent else "ok", fix)


def compiled() -> Iterator[Finding]:
    """Report whether the modules of formulas are compiled, and whether numba's machine code is cached."""
    specs = [importlib.util.find_spec(name) for name in COMPILED]
    pure = [spec.name for spec in specs if spec and spec.origin and spec.origin.endswith(".py")]
    if pure:
        fix = "install a C compiler, then install Porism again: building takes about half the time"
        yield Finding("compiled modules", "the formula modules are not compiled", "note", fix)
    else:
        yield Finding("compiled modules", "the formula modules are compiled")
    package = Path(porism.__file__ or "").parent
    cache = Path(os.environ.get("NUMBA_CACHE_DIR") or package)
    cached = sum(1 for _ in cache.rglob("*.nbi"))
    if cached:
        yield Finding("numba cache", f"{cached} compiled functions in {cache}")
    elif os.access(cache, os.W_OK):
        fix = "run a search once; later ones load the machine code"
        yield Finding("numba cache", "empty: the first search compiles for some seconds", "note", fix)
    else:
        fact = f"{cache} cannot be written: the code is compiled again at every start"
        yield Finding("numba cache", fact, "action", "set NUMBA_CACHE_DIR to a folder that the server may write")


def machine() -> Iterator[Finding]:
    """Report cores, memory and the limit of open files."""
    number = cores()
    yield Finding("cores", f"{number} core{'s' * (number != 1)} for this process")
    free, total = memory()
    if total:
        fact = f"{free / 1e9:.1f} GB free of {total / 1e9:.1f} GB"
        fix = "use fewer --workers (each needs about 200 MB), or more memory"
        yield Finding("memory", fact, "action", fix) if free < LEAST_MEMORY else Finding("memory", fact)
    try:
        import resource
    except ImportError:  # a system without limits of processes, such as Windows
        return
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    fact, fix = f"at most {files:,}", "raise it before serving: ulimit -n 4096, or LimitNOFILE= in a systemd unit"
    is_low = 0 <= files < LEAST_FILES
    yield Finding("open files", fact, "action", fix) if is_low else Finding("open files", fact)


def memory() -> tuple[int, int]:
    """Return the free and the total bytes of memory, within the limit of a container; zeros where unknown."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return 0, 0
    found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if len(line.split()) > 1}
    free, total = found.get("MemAvailable", 0), found.get("MemTotal", 0)
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text("ascii"))
        used = int(Path("/sys/fs/cgroup/memory.current").read_text("ascii"))
    except (OSError, ValueError):  # there is none, or it is "max"
        return free, total
    return min(free, max(0, limit - used)), min(total, limit)


def disk(place: Path, needed: int = 0) -> Finding:
    """Report the free space where `place` is. A merge writes the whole index again, which `needed` bytes take."""
    usage = shutil.disk_usage(place)
    fact = f"{usage.free / 1e9:.1f} GB free of {usage.total / 1e9:.1f} GB"
    least = max(LEAST_DISK, needed)
    fix = f"free space: a merge needs about {least / 1e9:.1f} GB"
    return Finding("disk", fact, "action", fix) if usage.free < least else Finding("disk", fact)
