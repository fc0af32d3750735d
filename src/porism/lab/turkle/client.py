"""A Turkle server, through its REST API (3.0 and later): upload an export, see its progress, fetch results that are whole.

Versions 3.0 to 3.2 announce the length of a download in characters instead of bytes, so that any non-ASCII comment cuts the
file. Every download is therefore compared with the server's own count, and where it is short the admin page's download is
used, which is complete.
"""

from __future__ import annotations

import csv
import http.cookiejar
import io
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from porism.errors import PorismError
from porism.files import atomic_file

LISTING = "turkle.json"
UPLOADED = "uploaded.json"
TIMEOUT = 60


@dataclass(frozen=True, slots=True)
class Server:
    """Where the server is, the token of its API, and (for the admin download) a name and password."""

    url: str
    token: str
    user: str = ""
    password: str = ""


def call(server: Server, method: str, path: str, body: object = None) -> bytes:
    """One request to the API; the server's own words if it refuses."""
    data = None if body is None else json.dumps(body).encode()
    address = f"{server.url.rstrip('/')}/api/{path}"
    request = urllib.request.Request(address, data, method=method)
    request.add_header("Authorization", f"Token {server.token}")
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            found: bytes = answer.read()
            return found
    except urllib.error.HTTPError as error:
        said = error.read(2000).decode("utf-8", "replace")
        raise PorismError(
            f"the Turkle server said {error.code}: {said}", where=address, fix="check the token and the batch"
        ) from None
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise PorismError(
            f"the Turkle server does not answer: {error}", where=address, fix="check the address; is it running?"
        ) from None


def ask(server: Server, method: str, path: str, body: object = None) -> Any:
    """One request whose answer is JSON."""
    return json.loads(call(server, method, path, body))


def listed(server: Server, path: str) -> Iterator[dict[str, Any]]:
    """All entries of a paginated list."""
    page = 1
    while True:
        found = ask(server, "GET", f"{path}?page={page}")
        yield from found["results"]
        if not found.get("next"):
            return
        page += 1


def upload(server: Server, folder: Path) -> dict[str, int]:
    """Send an export: a project per screen, a batch per assignment, open to its assessor alone. Returns batch name -> number.

    What was sent is written to uploaded.json after every batch, so an interrupted upload goes on where it stopped.
    """
    listing = json.loads((folder / LISTING).read_text(encoding="utf-8"))
    record = folder / UPLOADED
    sent: dict[str, dict[str, int]] = (
        json.loads(record.read_text()) if record.exists() else {"projects": {}, "batches": {}}
    )
    users = {user["username"]: user["id"] for user in listed(server, "users/")}
    if missing := sorted({one["assessor"] for one in listing["batches"]} - users.keys()):
        raise PorismError(
            f"the Turkle server has no user {', '.join(missing)}", where=server.url, fix="make these users there first"
        )
    for one in listing["batches"]:
        screen, name = one["screen"], one["name"]
        if screen not in sent["projects"]:
            html = (folder / f"{screen}.html").read_text(encoding="utf-8")
            made = ask(
                server,
                "POST",
                "projects/",
                {"name": f"Porism {screen}", "filename": f"{screen}.html", "html_template": html},
            )
            sent["projects"][screen] = made["id"]
        if name not in sent["batches"]:
            sent["batches"][name] = _send_batch(server, sent["projects"][screen], one, users[one["assessor"]], folder)
        with atomic_file(record) as out:
            out.write(json.dumps(sent, indent=1) + "\n")
    return sent["batches"]


def _send_batch(server: Server, project: int, one: dict[str, Any], user: int, folder: Path) -> int:
    text = (folder / f"{one['name']}.csv").read_bytes().decode("ascii")
    body = {"name": one["name"], "project": project, "filename": f"{one['name']}.csv", "csv_text": text}
    number = int(ask(server, "POST", "batches/", body)["id"])
    ask(server, "PUT", f"batches/{number}/permissions/", {"users": [user], "groups": []})
    held = progress(server, number)["total_tasks"]
    if held != one["tasks"]:
        raise PorismError(
            f"batch {number} holds {held} tasks, not {one['tasks']}",
            where=server.url,
            fix="remove it there and upload again",
        )
    return number


def progress(server: Server, batch: int) -> dict[str, int]:
    """The server's own counts of a batch."""
    return {name: int(value) for name, value in ask(server, "GET", f"batches/{batch}/progress/").items()}


def is_whole(text: str, rows: int) -> bool:
    """Has the CSV this many rows, each as long as its header, and does its last row end?"""
    csv.field_size_limit(sys.maxsize)
    try:
        found = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return False
    return len(found) == rows + 1 and all(len(row) == len(found[0]) for row in found) and text.endswith("\n")


def download(server: Server, batch: int) -> str:
    """The results of a batch, whole; by the admin page where the API cuts them."""
    expected = progress(server, batch)["total_finished_task_assignments"]
    text = call(server, "GET", f"batches/{batch}/results/").decode("utf-8", "replace")
    if is_whole(text, expected):
        return text
    if not server.user:
        raise PorismError(
            f"the results of batch {batch} came cut short (a known fault of Turkle's API with non-ASCII text)",
            where=server.url,
            fix="give --user and --password, so that the admin page's download can be used",
        )
    text = admin_download(server, batch)
    if not is_whole(text, expected):
        raise PorismError(
            f"the results of batch {batch} are not {expected} whole rows",
            where=server.url,
            fix="try again when nobody works on it",
        )
    return text


def admin_download(server: Server, batch: int) -> str:
    """The download of the admin page: log in with the form, fetch the file."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    base = server.url.rstrip("/")
    target = f"/admin/turkle/batch/{batch}/download/"
    login = f"{base}/admin/login/?next={urllib.parse.quote(target)}"
    try:
        page = opener.open(login, timeout=TIMEOUT).read().decode("utf-8")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        fields = {
            "csrfmiddlewaretoken": token[1] if token else "",
            "username": server.user,
            "password": server.password,
            "next": target,
        }
        request = urllib.request.Request(login, urllib.parse.urlencode(fields).encode(), {"Referer": login})
        with opener.open(request, timeout=TIMEOUT) as answer:
            text: str = answer.read().decode("utf-8")
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise PorismError(
            f"the admin page does not answer: {error}", where=base, fix="check the address, name and password"
        ) from None
    if not text.startswith(("HITId", '"HITId"')):
        raise PorismError(
            "the admin page did not let us in", where=base, fix="check the name and password; the user must be staff"
        )
    return text


def download_all(server: Server, folder: Path) -> list[Path]:
    """Fetch the results of every batch that was uploaded from this folder; returns the files written beside it."""
    record = folder / UPLOADED
    if not record.exists():
        raise PorismError(
            "nothing was uploaded from this folder", where=str(folder), fix=f"porism turkle upload {folder}"
        )
    paths = []
    for name, number in json.loads(record.read_text())["batches"].items():
        path = folder / f"{name}_results.csv"
        with atomic_file(path) as out:
            out.write(download(server, number))
        paths.append(path)
    return paths
