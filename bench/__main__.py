"""Run all benchmarks, or those named: python -m bench [NAME..]. A name followed by options runs as a command: python -m
bench known_items --help."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench

ALL = sorted(m.name for m in pkgutil.iter_modules(bench.__path__) if not m.name.startswith("_"))


def main(names: list[str]) -> None:
    """Call `main()` of each benchmark, in the order of their names. A module without one only serves others."""
    for name in names or ALL:
        module = importlib.import_module(f"bench.{name}")
        if hasattr(module, "main"):
            print(
                f"\n== {name}: {(module.__doc__ or '').strip().splitlines()[0] if module.__doc__ else ''}", flush=True
            )
            module.main()


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2].startswith("-"):
        importlib.import_module(f"bench.{sys.argv[1]}").command(sys.argv[2:])
    else:
        main(sys.argv[1:])
