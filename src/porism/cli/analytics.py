"""porism site analytics: print what a file of search analytics says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.values import positive

if TYPE_CHECKING:
    from porism.search.analytics.report import Report

HELP = (
    "print what people search for and click: popular queries and formulas, queries without results (no personal data)"
)
EXAMPLE = "porism site analytics searches.analytics --json"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("file", metavar="FILE", help="a file that porism serve --analytics wrote")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--minimum",
        type=positive,
        metavar="N",
        help="show only queries with this many searches; never fewer than the file stores",
    )
    parser.add_argument(
        "--rows", type=positive, default=50, metavar="N", help="rows of each table (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the report."""
    from dataclasses import asdict

    from porism.search.analytics.report import read_report

    report = read_report(Path(args.file), args.minimum, args.rows)
    if args.json:
        import json

        print(json.dumps(asdict(report), ensure_ascii=False, indent=1))
    else:
        _print(report)
    return 0


def _print(report: Report) -> None:
    from porism.evaluate.table import spreadsheet_cell

    print(f"searches\t{report.searches}\nwithout results\t{report.without_results}\nclicks\t{report.clicks}")
    print(f"queries not shown (fewer than {report.minimum_count} searches)\t{report.hidden_queries}")
    for query in report.queries:
        print(f"query\t{query.searches}\t{query.tab}\t{spreadsheet_cell(query.query)}")
    for query in report.queries_without_results:
        print(f"query without results\t{query.without_results}\t{query.tab}\t{spreadsheet_cell(query.query)}")
    for formula in report.formulas:
        print(f"formula\t{formula.searches}\t{spreadsheet_cell(formula.latex)}")
    for one in report.positions:
        print(f"position\t{one.position}\tshown {one.impressions}\tclicked {one.clicks}")
