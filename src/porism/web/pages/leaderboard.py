"""The leaderboard: the runs of an experiment side by side, among the published ones where these answer the same topics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from porism.errors import PorismError
from porism.evaluate.experiment import Experiment, read_experiment
from porism.evaluate.reports.html_report import LeaderboardRow, draw_figures, hardest_first
from porism.evaluate.reports.html_report import leaderboard as leaderboard_rows
from porism.evaluate.reports.table import as_html
from porism.evaluate.reports.tables import published_tables
from porism.search.engine import Engine
from porism.web.api.endpoints import call
from porism.web.pages.routes import render

QRELS = "qrels.txt"
SEED = 2022


@dataclass(frozen=True, slots=True)
class Board:
    """What the page shows: a row per run, pictures by topic, published tables."""

    measures: tuple[str, ...]
    rows: list[LeaderboardRow]
    note: str
    topics: int
    pictures: tuple[tuple[str, Markup], ...]
    tables: tuple[Markup, ...]


def load_experiment(folder: Path) -> Experiment:
    """An experiment is a folder with qrels.txt and runs/*.tsv."""
    runs = sorted(path for path in (folder / "runs").glob("*.*") if path.suffix in (".tsv", ".trec"))
    if not runs:
        raise PorismError(
            "no runs of an experiment", where=str(folder / "runs"), fix=f"put {QRELS} and runs/*.tsv into {folder}"
        )
    return read_experiment(folder / QRELS, runs)


def board(_: Engine, folder: Path) -> Board:
    """Score the experiment as it is now, so that a new run is there after a reload."""
    made = load_experiment(folder)
    drawn = draw_figures(made)
    heat = f"{made.measures[0]} of each topic, the hardest first; the stronger the colour, the higher"
    shown = [(heat, drawn.heat.svg), *drawn.bars]
    tables = published_tables(made) if is_of_the_lab(made) else []
    return Board(
        tuple(map(str, made.measures)),
        leaderboard_rows(made, SEED),
        made.note,
        len(hardest_first(made)),
        tuple((caption, Markup(picture)) for caption, picture in shown),
        tuple(Markup(as_html(table)) for table in tables),
    )


def is_of_the_lab(made: Experiment) -> bool:
    """Whether the topics are so many that they are the lab's own; a few sample topics may bear the same names."""
    return len(made.qrels) >= 40


async def leaderboard(request: Request) -> Response:
    """The page."""
    found = await call(request, board, {"folder": request.app.state.experiment})
    return render(request, "leaderboard.html", board=found)
