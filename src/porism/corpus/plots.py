"""Draw the distributions of a collection."""

from __future__ import annotations

from pathlib import Path

from porism.corpus.stats import Distribution
from porism.errors import PorismError

LONGEST = 30


def plot(distributions: list[Distribution], folder: Path) -> list[Path]:
    """Write one SVG file of bars for each distribution."""
    try:
        import matplotlib
    except ImportError:
        raise PorismError("plots need matplotlib", fix="pip install 'porism[plots]'") from None
    matplotlib.rcdefaults()  # not those of a file `matplotlibrc` in the current folder
    matplotlib.use("svg")
    # Without these, the file holds the date and random names.
    matplotlib.rcParams.update({"svg.hashsalt": "porism", "text.parse_math": False})
    folder.mkdir(parents=True, exist_ok=True)
    return [_bars(distribution, folder) for distribution in distributions if distribution.rows]


def _bars(distribution: Distribution, folder: Path) -> Path:
    from matplotlib.figure import Figure

    labels = [label if len(label) <= LONGEST else label[: LONGEST - 1] + "…" for label, _ in distribution.rows]
    figure = Figure(figsize=(7, 1 + 0.25 * len(labels)), layout="constrained")
    axes = figure.subplots()
    axes.barh(range(len(labels)), [number for _, number in distribution.rows], color="#3b6ea5")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_title(distribution.title)
    path = folder / f"{distribution.title.replace(' ', '-')}.svg"
    figure.savefig(path, metadata={"Date": None})
    return path
