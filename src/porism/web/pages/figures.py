"""Pages of figures: statistics of the collection, and a leaderboard of an experiment among the published runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism.corpus.content import Content
from porism.corpus.stats import Count, Distribution, distributions
from porism.errors import PorismError
from porism.evaluate.measures.score import read_experiment
from porism.evaluate.reports.html_report import LeaderboardRow, draw_figures, hardest_first
from porism.evaluate.reports.html_report import leaderboard as leaderboard_rows
from porism.evaluate.reports.tables import published_tables
from porism.evaluate.table import as_html
from porism.search.engine import Engine
from porism.web.api.results import run_view
from porism.web.pages.page import render


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and distributions of a collection."""

    counts: tuple[Count, ...]
    distributions: tuple[Distribution, ...]


# What is counted, and its label on the page.
LABELS = {
    "posts": "posts",
    "comments": "comments",
    "formulas": "formulas",
    "expressions": "distinct expressions (LaTeX)",
    "visuals": "visually distinct formulas",
    "links": "links between questions",
    "users": "users",
    "tags": "tags",
}


def statistics(engine: Engine) -> Statistics:
    """Return the statistics of an engine's collection."""
    return _statistics_of(engine.content)  # type: ignore[arg-type] # contents compare by identity


# Computed once, since a collection never changes.
@lru_cache(maxsize=4)
def _statistics_of(content: Content) -> Statistics:
    # Some sources have no users and no links; a zero would say nothing.
    counts = tuple(Count(label, number) for name, label in LABELS.items() if (number := content.count(name)))
    return Statistics(counts, tuple(distributions(content)))


QRELS, SEED = "qrels.txt", 2022
# With fewer topics, an experiment is not the lab's: the topics of the sample have the same names.
LAB_TOPICS = 40


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with its caption."""

    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class Board:
    """What the page shows: a row per run, the systems of runs, pictures by topic, published tables."""

    measures: tuple[str, ...]
    rows: tuple[LeaderboardRow, ...]
    systems: Mapping[str, str]
    note: str
    topics: int
    pictures: tuple[Picture, ...]
    tables: tuple[Markup, ...]


def run_files(folder: Path) -> list[Path]:
    """Return the run files of an experiment: a folder with qrels.txt and runs/*.tsv."""
    runs = sorted(path for path in (folder / "runs").glob("*.*") if path.suffix in (".tsv", ".trec"))
    if not runs:
        fix = f"put {QRELS} and runs/*.tsv into {folder}"
        raise PorismError("the experiment has no runs", where=str(folder / "runs"), fix=fix)
    return runs


def system_names(runs: Sequence[Path]) -> dict[str, str]:
    """Return the system of each run by its name, from the record that `porism run` writes beside it (`RUN.json`)."""
    names = {}
    for path in runs:
        record = path.with_suffix(".json")
        try:
            if record.is_file():
                names[path.stem] = str(json.loads(record.read_text(encoding="utf-8"))["system"])
        except (ValueError, KeyError, TypeError):
            fix = "remove it, or make the run again"
            raise PorismError("not the record of a run", where=str(record), fix=fix) from None
    return names


def board(_: Engine, folder: Path) -> Board:
    """Score the experiment as it is now, so that a new run appears when the page is reloaded."""
    runs = run_files(folder)
    experiment = read_experiment(folder / QRELS, runs)
    systems = system_names(runs)
    rows = tuple(leaderboard_rows(experiment, SEED))
    figures = draw_figures(experiment)
    caption = f"{experiment.measures[0]} of each topic, the hardest topic first; a stronger colour means a higher value"
    pictures = [Picture(caption, Markup(figures.heat.svg))]
    pictures += [Picture(figure.caption, Markup(figure.svg)) for figure in figures.bars]
    tables = published_tables(experiment, anyway=True) if len(experiment.qrels) >= LAB_TOPICS else []
    return Board(
        tuple(map(str, experiment.measures)),
        rows,
        {row.run: name for row in rows if (name := systems.get(row.run))},
        experiment.note,
        len(hardest_first(experiment)),
        tuple(pictures),
        tuple(Markup(as_html(table)) for table in tables),
    )


async def show_statistics(request: Request) -> Response:
    """Show the statistics of the collection."""
    return render(request, "stats.html", stats=await run_view(request, statistics, {}))


async def leaderboard(request: Request) -> Response:
    """Show the leaderboard."""
    found = await run_view(request, board, {"folder": Path(request.app.state.site.pages.experiment)})
    return render(request, "leaderboard.html", board=found)


def routes(has_leaderboard: bool) -> list[Route]:
    """Return the routes of the statistics, and of the leaderboard of a site with an experiment."""
    return [Route("/stats", show_statistics), *([Route("/leaderboard", leaderboard)] if has_leaderboard else [])]
