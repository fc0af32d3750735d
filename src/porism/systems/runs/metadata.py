"""`ir_metadata` of a run (Breuer, Keller and Schaer, SIGIR 2022): platform, hardware, method, research goal, as data and as a header.

The header is YAML in comment lines before the first line of the run: tools for run files skip it, and so does Porism.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from porism import __version__
from porism.evaluate.runs.lines import METADATA_END, METADATA_START
from porism.systems.declared.declaration import Declaration
from porism.systems.neural.chosen_models import ModelUse

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
    system: str,
    task: int,
    collection: str,
    options: Mapping[str, Any],
    models: Sequence[ModelUse] = (),
) -> Metadata:
    """Return the metadata of a run. `declaration` is that of a named system; `models` are the pretrained models that it used."""
    return {
        "tag": tag,
        "platform": {
            "hardware": {"cpu": _processor(), "ram": _memory()},
            "operating system": {"kernel": platform.release(), "distribution": platform.system()},
            "software": {"python": platform.python_version(), "libraries": {one: version(one) for one in LIBRARIES}},
        },
        "research goal": {
            "task": GOALS.get(task, ""),
            "venue": _venue(declaration),
            "evaluation": {"measures": _measures(declaration)},
        },
        "implementation": {
            "executable": {"cmd": f"porism run --system {system}"},
            "source": {"lang": "python", "version": __version__},
        },
        "data": {"test collection": {"name": "ARQMath", "digest": collection}},
        "method": _method(declaration, system, options, models),
    }


def _method(
    declaration: Declaration | None, system: str, options: Mapping[str, Any], models: Sequence[ModelUse]
) -> Metadata:
    if declaration is None:
        return {"automatic": True, "retrieval": [{"name": system, "options": dict(options)}]}
    parts = [{"name": part.use, "options": {**part.options, **options.get(part.use, {})}} for part in declaration.parts]
    return {
        "automatic": not declaration.manual,
        "reimplements": declaration.name,
        "status": declaration.status,
        "retrieval": parts,
        **({"models": [asdict(one) for one in models]} if models else {}),
    }


def _venue(declaration: Declaration | None) -> Metadata:
    return {"name": "ARQMath at CLEF", "year": declaration.year} if declaration else {}


def _measures(declaration: Declaration | None) -> list[str]:
    return list(next(iter(declaration.published.values()), {})) if declaration else []


def _processor() -> Metadata:
    model = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
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
