"""Small pages for frames: has this been asked before, and the visual formula editor. Each has a content policy of its
own.

`static/widget.js` puts the first into a page of another site, which the server must allow with the option that opens
the API to it. It runs no script. MathLive, in the second, sets inline styles, which the other pages forbid.

MathLive (MIT licence) is fetched from the npm registry when the operator asks for it; no code of it is part of this
project. The version is pinned, and the package is checked by its SHA-512 digest before anything is unpacked. Without it
the pages work as before.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from porism.errors import PorismError
from porism.safe_path import program, safe_environment
from porism.web.api import views
from porism.web.api.results import run_view
from porism.web.http.middleware import CONTENT_POLICY
from porism.web.http.requests import Parameter, parse_parameters
from porism.web.pages.page import render
from porism.web.site.look import VARIABLES

ASKED = tuple(parameter for parameter in views.ASKED if parameter.name != "k")
SHOWN = 5
THEME_PARAMETERS = tuple(Parameter(name, f"colour: {name}", default="", high=40) for name in VARIABLES)
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}|[a-zA-Z]{3,30}|(?:rgb|hsl)a?\([0-9., %/deg]{3,40}\)")


async def found_questions(request: Request, values: Mapping[str, Any]) -> Any:
    """Return the nearest questions, or None while nothing is written."""
    if not (values["title"] + values["body"]).strip():
        return None
    return await run_view(request, views.asked, {"title": values["title"], "body": values["body"], "k": SHOWN})


async def ask_box(request: Request) -> Response:
    """Show the form; with scripts the questions appear while one types, without them after a click."""
    values = parse_parameters(ASKED, request.query_params)
    return render(request, "ask_box.html", values=values, found=await found_questions(request, values))


async def frame(request: Request) -> Response:
    """Return the nearest questions as a small page for a frame on another site."""
    values = parse_parameters((*ASKED, *THEME_PARAMETERS), request.query_params)
    theme = {name: values[name] for name in VARIABLES if values[name]}
    response = render(
        request, "ask_frame.html", values=values, theme=theme, found=await found_questions(request, values)
    )
    allowed = " ".join(["'self'", *request.app.state.site.server.cors])
    policy = CONTENT_POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {allowed}")
    response.headers["content-security-policy"] = policy.replace("script-src 'self'; ", "")
    return response


async def theme(request: Request) -> Response:
    """Return the colours of a theme as a stylesheet; anything that is no colour is left out."""
    values = parse_parameters(THEME_PARAMETERS, request.query_params)
    rules = "".join(f"{VARIABLES[name]}: {value};" for name, value in values.items() if COLOUR.fullmatch(value))
    return Response(f":root {{ {rules} }}\n", media_type="text/css")


PACKAGE = "mathlive@0.111.1"
DIGEST = "RVaC7NO02Lmx3ZNUxOHR2xCRpcvTfBb2BtdgV60cTanAMufaUkWcPPB2VxChcsNeL+0rTQKqOPDYxXLPOXJI+A=="
MAIN = "mathlive.min.mjs"
# What is unpacked: the program, its fonts, and its licence.
WANTED = (f"package/{MAIN}", "package/LICENSE.txt", "package/fonts/")
SECONDS = 300


def editor_folder() -> Path:
    """Return the folder of the static files in which the editor is installed."""
    return Path(str(files("porism.web") / "static" / "editor"))


def has_editor() -> bool:
    """Return whether the editor is installed."""
    return (editor_folder() / MAIN).is_file()


def fetch_package(seconds: float = SECONDS) -> bytes:
    """Return the npm package. Give up after this many seconds."""
    npm = program("npm")
    if npm is None:
        raise PorismError("npm is not installed", fix="install Node.js with npm, then run the command again")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", "--silent", PACKAGE]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=seconds, env=safe_environment()
            )
        except subprocess.TimeoutExpired:
            fact = f"npm did not answer within {seconds:.0f} s"
            raise PorismError(fact, fix="check the connection to the registry") from None
        packed = list(Path(folder).glob("*.tgz"))
        if done.returncode or not packed:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise PorismError(f"npm could not fetch {PACKAGE}: {reason}", fix="check the connection to the registry")
        return packed[0].read_bytes()


def install(package: bytes, target: Path) -> None:
    """Check the package by its digest and unpack what the editor needs; an existing editor is replaced."""
    found = base64.b64encode(hashlib.sha512(package).digest()).decode()
    if found != DIGEST:
        fact = f"{PACKAGE} has another digest than the pinned one"
        raise PorismError(fact, where=f"sha512-{found}", fix="do not use it; fetch it again")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        fresh = Path(folder) / "editor"
        with tarfile.open(fileobj=io.BytesIO(package)) as archive:
            for member in archive:
                if member.isfile() and member.name.startswith(WANTED) and ".." not in member.name:
                    place = fresh / member.name.removeprefix("package/")
                    place.parent.mkdir(parents=True, exist_ok=True)
                    content = archive.extractfile(member)
                    place.write_bytes(content.read() if content else b"")
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)


EDITOR_POLICY = CONTENT_POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
    "frame-ancestors 'none'", "frame-ancestors 'self'"
)


async def editor(request: Request) -> Response:
    """Return the page inside the frame."""
    response = render(request, "editor.html")
    response.headers["content-security-policy"] = EDITOR_POLICY
    response.headers["x-frame-options"] = "SAMEORIGIN"
    return response


def routes() -> list[Route]:
    """Return the routes of the box, and of the editor where it is installed."""
    box = [Route("/ask-box", ask_box), Route("/ask-box/frame", frame), Route("/ask-box/theme.css", theme)]
    return [*box, Route("/editor", editor)] if has_editor() else box
