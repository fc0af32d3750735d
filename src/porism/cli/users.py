"""porism site users: the people who may read a private site."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "manage the user file of a private site: names and hashed passwords"
EXAMPLE = "porism site users add site.users ada"
EXAMPLES = {
    "add": "porism site users add site.users ada",
    "list": "porism site users list site.users",
    "remove": "porism site users remove site.users ada",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of the command."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    texts = {
        "add": "add a user, or change a password; it is read from the terminal, or from standard input",
        "remove": "remove a user; their sessions end at once",
        "list": "print the names of all users",
    }
    for name, text in texts.items():
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        action.add_argument(
            "file", metavar="FILE", type=Path, help="the user file, as the setting access.users names it"
        )
        if name != "list":
            action.add_argument("name", metavar="NAME", help="the name to log in with")


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    from porism.accounts import UserFile

    users = UserFile(args.file)
    if args.action == "add":
        is_new = users.add(args.name, _password())
        print(f"{'added' if is_new else 'changed the password of'} {args.name}", file=sys.stderr)
    elif args.action == "remove":
        users.remove(args.name)
        print(f"removed {args.name}", file=sys.stderr)
    else:
        print("\n".join(sorted(users.current().hashes)))
    return 0


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
