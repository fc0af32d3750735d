"""The organiser's page on stability: does the order of the submitted runs still change with more judgments?"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from starlette.responses import Response

from porism.evaluate.measures.measure import parse
from porism.evaluate.reliability import STABLE, Stability, stability
from porism.evaluate.reports.svg import lines
from porism.evaluate.runs.lines import parse_name
from porism.evaluate.runs.run import read_run
from porism.lab.judging.order import journal_judgments
from porism.records import Judgment
from porism.web.assess.requests import RequestContext

MEASURE = "nDCG'"
DRAWS = 200
SEED = 2022


def stability_page(context: RequestContext) -> Response:
    """Show the curve over the judgments of Task 1 so far, and the hint."""
    submissions = context.app.submissions
    paths = [path for path in submissions.runs() if _is_task1(path)] if submissions else []
    judgments = tuple(journal_judgments(context.app.journal, 1))
    found = (
        _curve(judgments, tuple((path, path.stat().st_mtime_ns) for path in paths))
        if len(paths) > 1 and judgments
        else None
    )
    return context.page(
        "stability.html",
        runs=len(paths),
        judgments=len(judgments),
        found=found,
        chart=_chart(found) if found else "",
        measure=MEASURE,
        threshold=STABLE,
    )


def _is_task1(path: Path) -> bool:
    name = parse_name(path.name)
    return name is not None and name.task == "task1"


@lru_cache(4)
def _curve(judgments: tuple[Judgment, ...], runs: tuple[tuple[Path, int], ...]) -> Stability:
    """Compute the curve once for these judgments and these versions of the runs."""
    return stability(judgments, [read_run(path) for path, _ in runs], parse(MEASURE), draws=DRAWS, seed=SEED)


def _chart(found: Stability) -> str:
    """Draw the mean and the lower bound over the number of judgments."""
    series = {
        "mean": [(point.judgments, max(0.0, point.tau)) for point in found.points if point.tau is not None],
        "95 % of the draws are above": [
            (point.judgments, max(0.0, point.low)) for point in found.points if point.low is not None
        ],
    }
    if not series["mean"]:
        return ""
    ticks = [(point.judgments, f"{point.judgments:,}") for point in found.points[4::5]]
    return lines(series, "Kendall's tau over the number of judgments", ticks, 680, 260)
