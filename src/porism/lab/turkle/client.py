"""A client for the REST API of Turkle 3.0 and later: upload an export, read its progress, download complete results.

Versions 3.0 to 3.2 announce the length of a download in characters instead of bytes, so any non-ASCII comment truncates
the file. The client compares every download with the server's own count. Where rows are missing, it uses the download
of the admin page, which is complete.
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
from pathlib import Path
from typing import Any, NamedTuple

from porism.errors import PorismError
from porism.files import atomic_file

LISTING = "turkle.json"
UPLOADED = "uploaded.json"
TIMEOUT = 60


class Server(NamedTuple):
    """The address of a Turkle server, its API token and, for the admin download, a user name and password."""

    url: str
    token: str
    user: str = ""
    password: str = ""


class BatchEntry(NamedTuple):
    """A batch in the listing of an export."""

    name: str
    screen: str
    assessor: str
    tasks: int


class BatchProgress(NamedTuple):
    """The server's own counts of a batch."""

    tasks: int
    finished_assignments: int


def call(server: Server, method: str, path: str, body: object = None) -> bytes:
    """Send a request to the API; a refusal raises an error with the server's own words."""
    data = None if body is None else json.dumps(body).encode()
    address = f"{server.url.rstrip('/')}/api/{path}"
    request = urllib.request.Request(address, data, method=method)
    request.add_header("Authorization", f"Token {server.token}")
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            content: bytes = response.read()
            return content
    except urllib.error.HTTPError as error:
        reply = error.read(2000).decode("utf-8", "replace")
        fact = f"the Turkle server replied {error.code}: {reply}"
        raise PorismError(fact, where=address, fix="check the token and the batch") from None
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        fact = f"the Turkle server does not answer: {error}"
        raise PorismError(fact, where=address, fix="check the address; is it running?") from None


def call_json(server: Server, method: str, path: str, body: object = None) -> Any:
    """Send a request and parse the JSON response."""
    return json.loads(call(server, method, path, body))


def paginated(server: Server, path: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a list from all its pages."""
    page = 1
    while True:
        response = call_json(server, "GET", f"{path}?page={page}")
        yield from response["results"]
        if not response.get("next"):
            return
        page += 1


def upload(server: Server, folder: Path) -> dict[str, int]:
    """Upload an export and return the id of each batch by name.

    Each screen becomes a project and each assignment a batch that only its assessor can open. `uploaded.json` is
    updated after every batch, so an interrupted upload continues where it stopped.
    """
    listing = json.loads((folder / LISTING).read_text(encoding="utf-8"))
    entries = [BatchEntry(**row) for row in listing["batches"]]
    record = folder / UPLOADED
    sent: dict[str, dict[str, int]] = {"projects": {}, "batches": {}}
    if record.exists():
        sent = json.loads(record.read_text())
    users = {user["username"]: user["id"] for user in paginated(server, "users/")}
    if missing := sorted({entry.assessor for entry in entries} - users.keys()):
        fact = f"the Turkle server has no user {', '.join(missing)}"
        raise PorismError(fact, where=server.url, fix="create these users there first")
    for entry in entries:
        if entry.screen not in sent["projects"]:
            html = (folder / f"{entry.screen}.html").read_text(encoding="utf-8")
            body = {"name": f"Porism {entry.screen}", "filename": f"{entry.screen}.html", "html_template": html}
            sent["projects"][entry.screen] = int(call_json(server, "POST", "projects/", body)["id"])
        if entry.name not in sent["batches"]:
            project, user = sent["projects"][entry.screen], users[entry.assessor]
            sent["batches"][entry.name] = _create_batch(server, project, entry, user, folder)
        with atomic_file(record) as out:
            out.write(json.dumps(sent, indent=1) + "\n")
    return sent["batches"]


def _create_batch(server: Server, project: int, entry: BatchEntry, user: int, folder: Path) -> int:
    text = (folder / f"{entry.name}.csv").read_bytes().decode("ascii")
    body = {"name": entry.name, "project": project, "filename": f"{entry.name}.csv", "csv_text": text}
    batch = int(call_json(server, "POST", "batches/", body)["id"])
    call_json(server, "PUT", f"batches/{batch}/permissions/", {"users": [user], "groups": []})
    tasks = progress(server, batch).tasks
    if tasks != entry.tasks:
        fact = f"batch {batch} has {tasks} tasks instead of {entry.tasks}"
        raise PorismError(fact, where=server.url, fix="delete it there and upload again")
    return batch


def progress(server: Server, batch: int) -> BatchProgress:
    """Return the server's counts of a batch."""
    counts = call_json(server, "GET", f"batches/{batch}/progress/")
    return BatchProgress(int(counts["total_tasks"]), int(counts["total_finished_task_assignments"]))


def is_complete(text: str, rows: int) -> bool:
    """Return whether a CSV has this many rows, each as long as the header, and ends with a line end."""
    csv.field_size_limit(sys.maxsize)
    try:
        found = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return False
    return len(found) == rows + 1 and all(len(row) == len(found[0]) for row in found) and text.endswith("\n")


def download(server: Server, batch: int) -> str:
    """Return the complete results of a batch, from the admin page where the API truncates them."""
    expected = progress(server, batch).finished_assignments
    text = call(server, "GET", f"batches/{batch}/results/").decode("utf-8", "replace")
    if is_complete(text, expected):
        return text
    if not server.user:
        fact = f"the results of batch {batch} are truncated (a known bug of Turkle's API with non-ASCII text)"
        fix = "give --user and TURKLE_PASSWORD, so that the admin page's download can be used"
        raise PorismError(fact, where=server.url, fix=fix)
    text = admin_download(server, batch)
    if not is_complete(text, expected):
        fact = f"the results of batch {batch} are not {expected} complete rows"
        raise PorismError(fact, where=server.url, fix="try again when nobody works on it")
    return text


def admin_download(server: Server, batch: int) -> str:
    """Log in to the admin page and download the results there."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    base = server.url.rstrip("/")
    target = f"/admin/turkle/batch/{batch}/download/"
    login = f"{base}/admin/login/?next={urllib.parse.quote(target)}"
    try:
        page = opener.open(login, timeout=TIMEOUT).read().decode("utf-8")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        fields = {"csrfmiddlewaretoken": token[1] if token else "", "next": target}
        fields |= {"username": server.user, "password": server.password}
        request = urllib.request.Request(login, urllib.parse.urlencode(fields).encode(), {"Referer": login})
        with opener.open(request, timeout=TIMEOUT) as response:
            text: str = response.read().decode("utf-8")
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        fact = f"the admin page does not answer: {error}"
        raise PorismError(fact, where=base, fix="check the address, name and password") from None
    if not text.startswith(("HITId", '"HITId"')):
        fact = "the admin page refused the login"
        raise PorismError(fact, where=base, fix="check the name and password; the user must be staff")
    return text


def download_all(server: Server, folder: Path) -> list[Path]:
    """Download the results of every batch that was uploaded from this folder; return the files."""
    record = folder / UPLOADED
    if not record.exists():
        fact = "nothing was uploaded from this folder"
        raise PorismError(fact, where=str(folder), fix=f"porism lab turkle upload {folder}")
    paths = []
    for name, batch in json.loads(record.read_text())["batches"].items():
        path = folder / f"{name}_results.csv"
        with atomic_file(path) as out:
            out.write(download(server, batch))
        paths.append(path)
    return paths
