"""Write figures for papers, as SVG or PNG files (needs the extra `plots`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from porism.errors import PorismError
from porism.evaluate.measures.measure import Measure
from porism.evaluate.measures.score import Experiment
from porism.evaluate.reliability import precision_by_depth, recall_by_depth
from porism.evaluate.reports.svg import shorten
from porism.evaluate.significance import differences

ImageFormat = Literal["svg", "png"]


def _pyplot() -> Any:
    """Import matplotlib without a display, with settings that give the same bytes each time."""
    try:
        import matplotlib
    except ImportError:
        raise PorismError("plots need matplotlib", fix="pip install 'porism[plots]'") from None
    matplotlib.rcdefaults()  # not those of a file `matplotlibrc` in the current folder
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "porism", "font.size": 9, "figure.constrained_layout.use": True})
    matplotlib.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
    from matplotlib import pyplot

    return pyplot


def topic_bars(experiment: Experiment, measure: Measure, plt: Any) -> Any:
    """Draw a row of bars per run, with the topics aligned."""
    rows, topics = len(experiment.scores), experiment.scores[-1].topics
    figure, axes = plt.subplots(rows, 1, figsize=(9, 1.5 * rows + 0.6), sharex=True, squeeze=False)
    for axis, one in zip(axes[:, 0], experiment.scores, strict=True):
        axis.bar(range(len(one.topics)), one.row(measure))
        axis.set(ylim=(0, 1), ylabel=str(measure), title=one.run)
    axes[-1, 0].set_xticks(range(len(topics)), topics, rotation=90, fontsize=5)
    return figure


def boxes(experiment: Experiment, measure: Measure, plt: Any) -> Any:
    """Draw box plots over topics."""
    figure, axis = plt.subplots(figsize=(6, 0.5 * len(experiment.scores) + 1))
    rows, names = zip(*((one.row(measure), shorten(one.run, 30)) for one in experiment.scores), strict=True)
    axis.boxplot(rows, orientation="horizontal", tick_labels=names, showmeans=True)
    axis.set(xlim=(-0.02, 1.02), xlabel=str(measure))
    return figure


def curves(experiment: Experiment, measure: Measure, plt: Any) -> Any:
    """Draw precision (of judged items) and recall by depth."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    for run in experiment.runs:
        for axis, by_depth in zip(axes, (precision_by_depth, recall_by_depth), strict=True):
            depths, values = zip(*by_depth(run, experiment.qrels), strict=True)
            axis.plot(depths, values, marker=".", label=shorten(run.name, 30))
    axes[0].set(xscale="log", xlabel="depth", ylabel="P'")
    axes[1].set(xscale="log", xlabel="depth", ylabel="recall")
    axes[1].legend(fontsize=7)
    return figure


def heat(experiment: Experiment, measure: Measure, plt: Any) -> Any:
    """Draw a heat map of runs by topics."""
    topics = experiment.scores[0].topics
    figure, axis = plt.subplots(figsize=(9, 0.35 * len(experiment.scores) + 1.2))
    rows = [[one.values[measure].get(topic, 0.0) for topic in topics] for one in experiment.scores]
    picture = axis.imshow(rows, aspect="auto", vmin=0, vmax=1, cmap="Blues")
    axis.set_yticks(range(len(rows)), [shorten(one.run, 30) for one in experiment.scores])
    axis.set_xticks(range(len(topics)), topics, rotation=90, fontsize=5)
    figure.colorbar(picture, label=str(measure))
    return figure


def difference(experiment: Experiment, measure: Measure, plt: Any) -> Any:
    """Draw each run minus the first one, topic by topic, sorted."""
    others = experiment.scores[1:]
    figure, axes = plt.subplots(len(others), 1, figsize=(7, 1.7 * len(others) + 0.4), squeeze=False)
    for axis, one in zip(axes[:, 0], others, strict=True):
        values = sorted(differences(one, experiment.scores[0], measure).values(), reverse=True)
        axis.bar(range(len(values)), values)
        axis.set(ylabel=f"difference in {measure}", title=f"{one.run} minus {experiment.scores[0].run}", ylim=(-1, 1))
    return figure


FIGURES = {"topics": topic_bars, "boxes": boxes, "curves": curves, "heat": heat, "differences": difference}


def write_figures(experiment: Experiment, directory: str | Path, form: ImageFormat = "svg") -> list[Path]:
    """Write all figures of the first measure; differences only if there are two runs."""
    plt = _pyplot()
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in FIGURES.items():
        if name == "differences" and len(experiment.scores) < 2:
            continue
        figure = draw(experiment, experiment.measures[0], plt)
        path = folder / f"{name}.{form}"
        # Without date and program version, the same scores give the same file.
        figure.savefig(path, metadata={"Date": None, "Creator": None} if form == "svg" else {"Software": None}, dpi=160)
        plt.close(figure)
        written.append(path)
    return written
