"""Draws what grows with a collection: one small plot for each column of a table, against its first column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np


def draw(rows: Sequence[Sequence[float]], columns: Mapping[int, str], path: Path, what: str = "formulas") -> None:
    """Draw the named columns (number of the column: its title) against column 0, which counts `what`; without matplotlib say so."""
    try:
        import matplotlib
    except ImportError:
        print("no plot: pip install 'porism[plots]'")
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "porism"  # the same table gives the same file
    from matplotlib import pyplot

    table = np.array(rows, np.float64)
    figure, axes = pyplot.subplots(1, len(columns), figsize=(3.4 * len(columns), 3), squeeze=False)
    for axis, (column, title) in zip(axes[0], columns.items(), strict=True):
        axis.plot(table[:, 0], table[:, column], "o-")
        axis.set(xscale="log", xlabel=what, title=title, ylim=(0, None))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    print(f"drawn in {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
