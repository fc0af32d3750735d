"""porism site users, tokens: the people who read a private site, and the programs that change an index."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from porism.cli.command import argument, command, options
from porism.cli.options import state_option

if TYPE_CHECKING:
    from porism.accounts import TokenFile


USER_FILE = argument("file", metavar="FILE", type=Path, help="the user file, as the setting access.users names it")
USER = argument("name", metavar="NAME", help="the name to log in with")


@command("porism site users add site.users ada", USER_FILE, USER)
def add_user(args: argparse.Namespace) -> None:
    """Add a user with a password from the terminal or standard input."""
    from porism.accounts import UserFile

    is_new = UserFile(args.file).add(args.name, _password())
    print(f"{'added' if is_new else 'changed the password of'} {args.name}", file=sys.stderr)


@command("porism site users list site.users", USER_FILE)
def list_users(args: argparse.Namespace) -> None:
    """Print the names of all users."""
    from porism.accounts import UserFile

    print("\n".join(sorted(UserFile(args.file).current().hashes)))


@command("porism site users remove site.users ada", USER_FILE, USER)
def remove_user(args: argparse.Namespace) -> None:
    """Remove a user."""
    from porism.accounts import UserFile

    UserFile(args.file).remove(args.name)
    print(f"removed {args.name}", file=sys.stderr)


def _password() -> str:
    """Read a password from the terminal, twice, or one line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    import getpass

    from porism.errors import PorismError

    first = getpass.getpass("password: ")
    if getpass.getpass("again: ") != first:
        raise PorismError("the passwords differ", fix="type the same password twice")
    return first


SCOPES = ("write", "delete", "merge")
TOKENS = options(
    argument("index", metavar="INDEX", help="an index"),
    argument("--file", default="", metavar="FILE", help="the file of the tokens (default: INDEX.tokens)"),
    state_option("tokens"),
)


def _tokens(args: argparse.Namespace) -> TokenFile:
    from porism.accounts import TokenFile
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
