"""porism site: look after a site (doctor, editor, analytics, backup, restore), the people who read a private one, and
the programs that change an index."""

from __future__ import annotations

import argparse
import getpass
import json
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path

from porism.accounts import SCOPES, TokenFile, UserFile
from porism.cli.command import (
    JSON,
    QUIET,
    argument,
    chosen_progress,
    command,
    flag,
    options,
    positive,
    state_option,
    with_default,
)
from porism.errors import PorismError

MARKS = {"ok": "ok    ", "note": "note  ", "action": "ACTION"}


@command(
    "porism site doctor demo/index",
    argument("index", nargs="?", metavar="INDEX", help="an index (default: only the installation)"),
    flag("--verify", "read every file of the index and its collection, too"),
    JSON,
)
def doctor(args: argparse.Namespace) -> int:
    """Print the findings. Return 1 if one needs action."""
    from porism.cli import COMMANDS
    from porism.doctor.checkup import checkup

    found = list(checkup(args.index, args.verify, COMMANDS))
    needs_action = any(finding.state == "action" for finding in found)
    if args.json:
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
    from porism.web.pages.frames import PACKAGE, editor_folder, fetch_package, install

    print(f"fetching {PACKAGE}", file=sys.stderr)
    install(fetch_package(), editor_folder())
    print(f"installed in {editor_folder()}; restart the server to see it", file=sys.stderr)


@command("porism site editor remove")
def remove_editor(args: argparse.Namespace) -> None:
    """Remove the editor."""
    from porism.web.pages.frames import editor_folder

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
    with_default("--rows", 50, "rows of each table", type=positive, metavar="N"),
)
def analytics(args: argparse.Namespace) -> None:
    """Print the report."""
    from porism.evaluate.table import spreadsheet_cell
    from porism.search.analytics import read_report

    report = read_report(Path(args.file), args.minimum, args.rows)
    if args.json:
        print(json.dumps(asdict(report), ensure_ascii=False, indent=1))
        return
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
    from porism.web.site.reading import read_settings

    files = list(args.file)
    if args.site is not None:  # with the files that it names
        site = read_settings(args.site).checked()
        files = [args.site, *(Path(name) for name in (site.site.logo, site.access.users) if name), *files]
    made = back_up(args.index, args.output, args.journal, files, chosen_progress(args))
    print(f"{args.output}: {len(made.files):,} files, {made.size / 1e6:,.1f} MB, verified", file=sys.stderr)


@command(
    "porism site restore backup.tar -o restored",
    argument("backup", metavar="BACKUP", type=Path, help="a folder or tar file made by porism site backup"),
    argument("-o", "--output", required=True, metavar="DIR", type=Path, help="the new folder to write"),
    QUIET,
)
def restore(args: argparse.Namespace) -> None:
    """Restore the backup, and say where its index is."""
    from porism.web.site.backup import restore

    index = restore(args.backup, args.output, chosen_progress(args))
    print(f"{args.output}: restored and verified; porism serve {index}", file=sys.stderr)


USER_FILE = argument("file", metavar="FILE", type=Path, help="the user file, as the setting access.users names it")
USER = argument("name", metavar="NAME", help="the name to log in with")


@command("porism site users add site.users ada", USER_FILE, USER)
def add_user(args: argparse.Namespace) -> None:
    """Add a user with a password from the terminal or standard input."""
    password = getpass.getpass("password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if sys.stdin.isatty() and getpass.getpass("again: ") != password:
        raise PorismError("the passwords differ", fix="type the same password twice")
    is_new = UserFile(args.file).add(args.name, password)
    print(f"{'added' if is_new else 'changed the password of'} {args.name}", file=sys.stderr)


@command("porism site users list site.users", USER_FILE)
def list_users(args: argparse.Namespace) -> None:
    """Print the names of all users."""
    print("\n".join(sorted(UserFile(args.file).current().hashes)))


@command("porism site users remove site.users ada", USER_FILE, USER)
def remove_user(args: argparse.Namespace) -> None:
    """Remove a user."""
    UserFile(args.file).remove(args.name)
    print(f"removed {args.name}", file=sys.stderr)


TOKENS = options(
    argument("index", metavar="INDEX", help="an index"),
    argument("--file", default="", metavar="FILE", help="the file of the tokens (default: INDEX.tokens)"),
    state_option("tokens"),
)


def _tokens(args: argparse.Namespace) -> TokenFile:
    from porism.store import open_store
    from porism.store.state import State

    open_store(args.index).status()
    return TokenFile(Path(args.file) if args.file else State.of(args.index, args.state).tokens)


@command(
    "porism site tokens create demo/index --name sync --scope write --scope delete",
    argument("--name", required=True, help="what the token is for; tokens are listed and revoked by this name"),
    argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what it may do (repeat for several; default: write): write posts, delete posts, merge all segments",
    ),
    TOKENS,
    description="Make a token and print it. It is stored as a hash and never shown again.",
)
def create_token(args: argparse.Namespace) -> None:
    """Make a token and print it."""
    tokens = _tokens(args)
    print(tokens.create(args.name, args.scope or ("write",)).text)
    print(f"Copy the token now: only its hash is stored, in {tokens.path}.", file=sys.stderr)


@command("porism site tokens list demo/index", TOKENS, description="List the tokens: id, name, scopes, date.")
def list_tokens(args: argparse.Namespace) -> None:
    """Print a line for each token."""
    for token in _tokens(args).tokens():
        date = time.strftime("%Y-%m-%d", time.gmtime(token.created))
        print(f"{token.id}\t{token.name}\t{','.join(token.scopes)}\t{date}")


@command(
    "porism site tokens revoke demo/index sync",
    TOKENS,
    argument("token", metavar="TOKEN", help="the name or id of the token"),
    description="Revoke the tokens with a name or id, also while the index is served.",
)
def revoke_token(args: argparse.Namespace) -> None:
    """Revoke tokens and name them."""
    for token in _tokens(args).revoke(args.token):
        print(f"revoked {token.id} {token.name}", file=sys.stderr)
