"""The visual formula editor: MathLive (MIT licence), fetched from the npm registry when the operator asks for it.

No code of it is part of this project. The version is pinned, and the package is checked by its SHA-512 digest before
anything is unpacked. Without it the pages work as before. The editor runs in a frame of its own, so that the strict
content policy of the pages stays.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
from importlib.resources import files
from pathlib import Path

from porism.errors import PorismError
from porism.safe_path import program, safe_environment

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
            raise PorismError(
                f"npm did not answer within {seconds:.0f} s", fix="check the connection to the registry"
            ) from None
        packed = list(Path(folder).glob("*.tgz"))
        if done.returncode or not packed:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise PorismError(f"npm could not fetch {PACKAGE}: {reason}", fix="check the connection to the registry")
        return packed[0].read_bytes()


def install(package: bytes, target: Path) -> Path:
    """Check the package by its digest and unpack what the editor needs; an existing editor is replaced."""
    found = base64.b64encode(hashlib.sha512(package).digest()).decode()
    if found != DIGEST:
        raise PorismError(
            f"{PACKAGE} has another digest than the pinned one",
            where=f"sha512-{found}",
            fix="do not use it; fetch it again",
        )
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
    return target
