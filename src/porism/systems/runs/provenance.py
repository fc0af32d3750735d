"""Where a run came from: its ir_metadata, and a version of the code that made its rankings."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from porism import __version__
from porism.evaluate.runs.lines import METADATA_END, METADATA_START
from porism.files import digest_file
from porism.hashing import fingerprint
from porism.systems.declared.declaration import Declaration, find_declaration
from porism.systems.declared.parts import PARTS
from porism.systems.declared.pipeline import used_parts
from porism.systems.loading import is_declared
from porism.systems.named_models import AppliedModel

if TYPE_CHECKING:
    from porism.systems.runs.run import RunOptions

LIBRARIES = ("numpy", "scipy", "numba", "PyStemmer", "math-core")
GOALS = {
    1: "find answers to questions of Math Stack Exchange",
    2: "find formulas that are similar to a formula in context",
    3: "answer questions of Math Stack Exchange in at most 1,200 characters",
}
Metadata = Mapping[str, Any]


def run_metadata(
    tag: str,
    declaration: Declaration | None,
    options: RunOptions,
    task: int,
    collection: str,
    models: Sequence[AppliedModel] = (),
) -> Metadata:
    """Return the metadata of a run. `declaration` is that of a named system; `models` are those that it used."""
    return {
        "tag": tag,
        "platform": {
            "hardware": {"cpu": _processor(), "ram": _memory()},
            "operating system": {"kernel": platform.release(), "distribution": platform.system()},
            "software": {"python": platform.python_version(), "libraries": {one: version(one) for one in LIBRARIES}},
        },
        "research goal": {
            "task": GOALS.get(task, ""),
            "venue": {"name": "ARQMath at CLEF", "year": declaration.year} if declaration else {},
            "evaluation": {"measures": list(next(iter(declaration.published.values()), {})) if declaration else []},
        },
        "implementation": {
            "executable": {"cmd": f"porism run --system {options.system}"},
            "source": {"lang": "python", "version": __version__},
        },
        "data": {"test collection": {"name": "ARQMath", "digest": collection}},
        "method": _method(declaration, options, models),
    }


def _method(declaration: Declaration | None, options: RunOptions, models: Sequence[AppliedModel]) -> Metadata:
    if declaration is None:
        return {"automatic": True, "retrieval": [{"name": options.system, "options": dict(options.overrides)}]}
    return {
        "automatic": not declaration.manual,
        "reimplements": declaration.name,
        "status": declaration.status,
        "retrieval": [
            {"name": part.use, "options": {**part.options, **options.overrides.get(part.use, {})}}
            for part in declaration.parts
        ],
        **({"models": [asdict(one) for one in models]} if models else {}),
    }


def _processor() -> Metadata:
    model = platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {"model": model, "architecture": platform.machine(), "cores": os.cpu_count() or 1}


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, ValueError, OSError):
        return ""


def header_lines(metadata: Metadata) -> Iterator[str]:
    """Yield the lines of a header for a run file."""
    yield METADATA_START
    yield from (f"# {line}" for line in _yaml(metadata, 0))
    yield METADATA_END


def _yaml(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield YAML of nested mappings; texts and lists are written as JSON, which is YAML, too."""
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield f"{'  ' * depth}{key}:"
            yield from _yaml(inner, depth + 1)
        else:
            yield f"{'  ' * depth}{key}: {json.dumps(inner, ensure_ascii=False, default=str)}"


ALWAYS = ("porism.systems.runs.topics", "porism.search.fusion")
# They find parts and check options, but shape no ranking; the parts themselves and their options are in the key of a
# run.
WITHOUT_EFFECT = {"porism.systems.declared.parts", "porism.systems.declared.declaration"}
# A module in the package of one system. Each module of other packages counts by itself.
OF_ONE_SYSTEM = r"^(porism\.systems\.(?!declared\.|runs\.)\w+)\..*"
# The default engine, with its tables.
ENGINE = ("porism.formula", "porism.text", "porism.analysis", "porism.store", "porism.search")


def code_version(system: str, task: int) -> str:
    """Return a digest of the code of a system: for a class of the user's own, of its file and of the engine."""
    if not is_declared(system):
        return fingerprint(ENGINE) + _file_digest(system.partition(":")[0])
    modules = set(ALWAYS)
    others = ""
    for part in used_parts(find_declaration(system, task)):
        module = PARTS.get(part.use, part.use).partition(":")[0]
        if module.startswith("porism.search."):
            modules.update(ENGINE)
        if module.startswith("porism."):
            modules.add(module)
        else:
            others += _file_digest(module)
    return fingerprint(tuple(sorted(used_modules(modules)))) + others


def _file_digest(module: str) -> str:
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # a module that a program made has no file
        return ""
    return digest_file(found.origin) if found and found.origin and Path(found.origin).is_file() else ""


def used_modules(modules: Iterable[str]) -> set[str]:
    """Return modules and everything of Porism that they import. A package of a system counts whole, with its tables."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting.extend(_imports(module))
    return {re.sub(OF_ONE_SYSTEM, r"\1", module) for module in found - WITHOUT_EFFECT}


@lru_cache(1000)
def _imports(module: str) -> tuple[str, ...]:
    """Return the modules of Porism that a module imports, anywhere in it."""
    spec = importlib.util.find_spec(module)
    source = Path(spec.origin).with_suffix("") if spec and spec.origin else Path()
    path = source.with_name(source.name.partition(".")[0] + ".py")  # the source, also where the compiled form is found
    return tuple(_names(ast.parse(path.read_text("utf-8")))) if path.is_file() else ()


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("porism."):
            yield node.module
            for alias in node.names:  # a name may be a module of a package
                if _is_module(f"{node.module}.{alias.name}"):
                    yield f"{node.module}.{alias.name}"


@lru_cache(5000)
def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
