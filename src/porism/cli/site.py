"""porism site doctor, editor, analytics, backup, restore: look after a site."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from porism.cli.command import argument, command
from porism.cli.options import JSON, QUIET, chosen_progress, positive

if TYPE_CHECKING:
    pass
import sys
from pathlib import Path

if TYPE_CHECKING:
    from porism.search.analytics import Report

MARKS = {"ok": "ok    ", "note": "note  ", "action": "ACTION"}


@command(
    "porism site doctor demo/index",
    argument("index", nargs="?", metavar="INDEX", help="an index (default: only the installation)"),
    argument("--verify", action="store_true", help="read every file of the index and its collection, too"),
    JSON,
)
def doctor(args: argparse.Namespace) -> int:
    """Print the findings. Return 1 if one needs action."""
    from dataclasses import asdict

    from porism.cli import COMMANDS
    from porism.doctor.checkup import checkup

    found = list(checkup(args.index, args.verify, COMMANDS))
    needs_action = any(finding.state == "action" for finding in found)
    if args.json:
        import json

        print(json.dumps({"ok": not needs_action, "findings": [asdict(one) for one in found]}, indent=1))
    else:
        for finding in found:
            print(f"{MARKS[finding.state]}  {finding.subject}: {finding.fact}")
            if finding.fix:
                print(f"          fix: {finding.fix}")
    return 1 if needs_action else 0


@command("porism site editor install")
def install_editor(args: argparse.Namespace) -> None:
    """Fetch and install the editor."""
    from porism.web.server.editor import PACKAGE, editor_folder, fetch_package, install

    print(f"fetching {PACKAGE}", file=sys.stderr)
    install(fetch_package(), editor_folder())
    print(f"installed in {editor_folder()}; restart the server to see it", file=sys.stderr)


@command("porism site editor remove")
def remove_editor(args: argparse.Namespace) -> None:
    """Remove the editor."""
    import shutil

    from porism.web.server.editor import editor_folder

    shutil.rmtree(editor_folder(), ignore_errors=True)
    print("removed the formula editor", file=sys.stderr)


@command(
    "porism site analytics searches.analytics --json",
    argument("file", metavar="FILE", help="a file that porism serve --analytics wrote"),
    JSON,
    argument(
        "--minimum",
        type=positive,
        metavar="N",
        help="show only queries with this many searches; never fewer than the file stores",
    ),
    argument("--rows", type=positive, default=50, metavar="N", help="rows of each table (default: %(default)s)"),
)
def analytics(args: argparse.Namespace) -> None:
    """Print the report."""
    from dataclasses import asdict

    from porism.search.analytics import read_report

    report = read_report(Path(args.file), args.minimum, args.rows)
    if args.json:
        import json

        print(json.dumps(asdict(report), ensure_ascii=False, indent=1))
    else:
        _print_report(report)


def _print_report(report: Report) -> None:
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


@command(
    "porism site backup demo/index -o backup.tar",
    argument("index", metavar="INDEX", type=Path, help="a folder made by porism index"),
    argument(
        "-o", "--output", required=True, metavar="DIR|FILE.tar", type=Path, help="the new folder or tar file to write"
    ),
    argument(
        "--journal", action="append", default=[], metavar="FILE", type=Path, help="a journal of judgments (repeat)"
    ),
    argument(
        "--site",
        metavar="FILE.toml",
        type=Path,
        help="the settings file, with the logo and the user file that it names",
    ),
    argument(
        "--file", action="append", default=[], metavar="FILE", type=Path, help="another file of the site (repeat)"
    ),
    QUIET,
)
def backup(args: argparse.Namespace) -> None:
    """Write the backup, and say what it holds."""
    from porism.web.site.backup import back_up

    progress = chosen_progress(args)
    made = back_up(args.index, args.output, args.journal, [*_site_files(args.site), *args.file], progress)
    print(f"{args.output}: {len(made.files):,} files, {made.size / 1e6:,.1f} MB, verified", file=sys.stderr)


def _site_files(settings: Path | None) -> list[Path]:
    """Return a settings file and the files that it names."""
    if settings is None:
        return []
    from porism.web.site.reading import read_settings

    site = read_settings(settings).checked()
    return [settings, *(Path(name) for name in (site.site.logo, site.access.users) if name)]


@command(
    "porism site restore backup.tar -o restored",
    argument("backup", metavar="BACKUP", type=Path, help="a folder or tar file made by porism site backup"),
    argument("-o", "--output", required=True, metavar="DIR", type=Path, help="the new folder to write"),
    QUIET,
)
def restore(args: argparse.Namespace) -> None:
    """Restore the backup, and say where its index is."""
    from porism.web.site.restore import restore

    index = restore(args.backup, args.output, chosen_progress(args))
    print(f"{args.output}: restored and verified; porism serve {index}", file=sys.stderr)
