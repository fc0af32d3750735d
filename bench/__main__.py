"""Run all benchmarks, or those named: python -m bench [NAME..]."""

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
    main(sys.argv[1:])
