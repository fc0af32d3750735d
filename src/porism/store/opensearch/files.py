"""The files of a build on this machine: the term tables, read from the cluster once and then mapped."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from porism.errors import PorismError
from porism.files import disk_error
from porism.store.opensearch.manifest import StoreManifest
from porism.store.opensearch.places import Place
from porism.store.opensearch.schema import file_key

FOLDER = "PORISM_CACHE"
KEPT = 2  # builds of a collection whose files are kept
TOGETHER = 8  # blocks of 2 MB in a request


def cache_folder() -> Path:
    """Return the folder of caches: PORISM_CACHE, or that of the user."""
    home = os.environ.get(FOLDER) or os.environ.get("XDG_CACHE_HOME")
    return Path(home) if home else Path.home() / ".cache"


def table_folder(place: Place, manifest: StoreManifest) -> Path:
    """Return the folder with the files of a build, read from the cluster if they are not here yet."""
    files = {name: one.digest for name, one in sorted(manifest.files.items())}
    key = hashlib.sha256(repr(files).encode()).hexdigest()[:16]
    root = cache_folder() / "porism" / "stores"
    folder = root / f"{place.name}-{key}"
    try:
        if not folder.is_dir():
            root.mkdir(parents=True, exist_ok=True)
            _remove_old(root, place.name)
            work = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=root))
            try:
                read_files(place, manifest, work)
                work.rename(folder)
            except OSError:
                if not folder.is_dir():  # another process has read them at the same time
                    raise
            finally:
                shutil.rmtree(work, ignore_errors=True)
        os.utime(folder)
    except OSError as error:
        raise disk_error(error, folder) from error
    return folder


def read_files(place: Place, manifest: StoreManifest, work: Path) -> None:
    """Read the files of a build into a folder, and compare them with their checksums."""
    index = place.index("rows", manifest.build)
    for name, file in manifest.files.items():
        keys = [file_key(name, block) for block in range(file.blocks)]
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with path.open("wb") as out:
            for at in range(0, len(keys), TOGETHER):
                for found in place.cluster.mget(index, keys[at : at + TOGETHER], ["data"]):
                    data = found["fields"]["data"][0] if found.get("found") else b""
                    digest.update(data)
                    out.write(data)
        if digest.hexdigest() != file.digest:
            fix = f"copy the collection again: porism store copy FOLDER {place.cluster.address}"
            raise PorismError(f"the file {name} is damaged in the cluster", where=str(place.cluster.address), fix=fix)


def _remove_old(root: Path, name: str) -> None:
    """Remove the files of older builds. Who has mapped them goes on reading them."""
    folders = sorted(root.glob(f"{name}-{'[0-9a-f]' * 16}"), key=lambda path: path.stat().st_mtime)
    for folder in folders[: max(0, len(folders) - KEPT + 1)]:
        shutil.rmtree(folder, ignore_errors=True)
