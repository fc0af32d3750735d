"""Draw how costs grow with a collection: one small plot for each column of a table, against its first column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

PLOTS_PER_ROW = 3


def draw(rows: Sequence[Sequence[float]], columns: Mapping[int, str], path: Path, what: str = "formulas") -> None:
    """Draw the named columns (number of the column: its title) against column 0, which counts `what`. Without
    matplotlib print how to install it."""
    try:
        import matplotlib
    except ImportError:
        print("no plot: pip install 'porism[plots]'")
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "porism"  # the same table gives the same file
    from matplotlib import pyplot

    table = np.array(rows, np.float64)
    across, down = min(PLOTS_PER_ROW, len(columns)), -(-len(columns) // PLOTS_PER_ROW)
    figure, axes = pyplot.subplots(down, across, figsize=(3.4 * across, 3 * down), squeeze=False)
    for axis in axes.flat[len(columns) :]:
        axis.set_axis_off()
    for axis, (column, title) in zip(axes.flat, columns.items(), strict=False):
        axis.plot(table[:, 0], table[:, column], "o-")
        axis.set(xscale="log", xlabel=what, title=title, ylim=(0, 1.1 * table[:, column].max()))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    print(f"drawn in {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
