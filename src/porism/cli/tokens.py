"""porism site tokens: tokens of programs that may change an index while it is served."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from porism.cli.values import add_state_option

HELP = "create, list and revoke the tokens of programs that change an index over HTTP (porism serve --writable)"
EXAMPLE = "porism site tokens create demo/index --name sync --scope write --scope delete"
EXAMPLES = {
    "create": EXAMPLE,
    "list": "porism site tokens list demo/index",
    "revoke": "porism site tokens revoke demo/index sync",
}
SCOPES = ("write", "delete", "merge")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser(
        "create",
        help="make a token",
        description="Make a token and print it. It is stored as a hash and never shown again.",
    )
    create.add_argument(
        "--name", required=True, help="what the token is for; tokens are listed and revoked by this name"
    )
    create.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="what it may do (repeat for several; default: write): write posts, delete posts, merge all segments",
    )
    show = actions.add_parser("list", help="list the tokens", description="List the tokens: id, name, scopes, date.")
    revoke = actions.add_parser(
        "revoke",
        help="revoke a token",
        description="Revoke the tokens with a name or id, also while the index is served.",
    )
    for action in (create, show, revoke):
        action.add_argument("index", metavar="INDEX", help="an index")
        action.add_argument("--file", default="", metavar="FILE", help="the file of the tokens (default: INDEX.tokens)")
        add_state_option(action, "tokens")
    revoke.add_argument("token", metavar="TOKEN", help="the name or id of the token")


def run(args: argparse.Namespace) -> int:
    """Do the action."""
    from porism.accounts import TokenFile
    from porism.store import open_store
    from porism.store.state import State

    open_store(args.index).status()
    tokens = TokenFile(Path(args.file) if args.file else State.of(args.index, args.state).tokens)
    if args.action == "create":
        print(tokens.create(args.name, args.scope or ("write",)).text)
        print(f"Copy the token now: only its hash is stored, in {tokens.path}.", file=sys.stderr)
    elif args.action == "revoke":
        for token in tokens.revoke(args.token):
            print(f"revoked {token.id} {token.name}", file=sys.stderr)
    else:
        for token in tokens.tokens():
            date = time.strftime("%Y-%m-%d", time.gmtime(token.created))
            print(f"{token.id}\t{token.name}\t{','.join(token.scopes)}\t{date}")
    return 0
