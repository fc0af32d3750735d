"""The version of the code that makes a ranking: a fingerprint of the modules that a system uses, directly or not.

A change of one system leaves the runs of the others valid.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from porism.files import digest_file
from porism.hashing import fingerprint
from porism.systems.declared.declaration import find_declaration
from porism.systems.declared.parts import PARTS
from porism.systems.declared.pipeline import used_parts
from porism.systems.loading import is_declared

ALWAYS = ("porism.systems.runs.rankings", "porism.search.fusion")
# They find parts and check options, but shape no ranking; the parts themselves and their options are in the key of a run.
WITHOUT_EFFECT = {"porism.systems.declared.parts", "porism.systems.declared.declaration"}
SHARED = {"declared", "runs", "queries", "lexical"}  # packages that are not of one system: each module counts by itself
ENGINE = (
    "porism.formula",
    "porism.text",
    "porism.analysis",
    "porism.store",
    "porism.search",
)  # the default engine, with its tables


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
    return {_whole_system(module) for module in found - WITHOUT_EFFECT}


def _whole_system(module: str) -> str:
    parts = module.split(".")
    is_of_one = parts[1] == "systems" and len(parts) > 3 and parts[2] not in SHARED
    return ".".join(parts[:3]) if is_of_one else module


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
