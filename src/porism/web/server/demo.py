"""The demo: build and index the sample where that is missing, then serve it."""

from __future__ import annotations

import importlib.resources
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from porism.corpus.build.pipeline import build
from porism.corpus.sources.detect import open_source
from porism.errors import PorismError
from porism.progress import Bars
from porism.search.engine import Engine
from porism.store import open_content
from porism.store.maintenance import build_index, is_index
from porism.web.pages.frames import editor_folder, fetch_package, has_editor, install
from porism.web.server.run import Settings, serve
from porism.web.site.settings import ServerOptions, SiteSettings

EDITOR_SECONDS = 20  # the build of the sample takes about as long
LATER = "porism site editor install adds the visual formula editor"


def demo(
    directory: str | Path,
    sample: str | Path | None,
    host: str,
    port: int,
    *,
    serve_it: bool = True,
    editor: bool = False,
) -> None:
    """Make `collection` and `index` in the directory where they are missing, then serve the index. Without `sample`, it
    is looked for. With `editor`, the formula editor is installed at the same time, if npm is available. The demo works
    without it."""
    if not sample:  # that of the project's folder, or the one that an installed wheel holds
        here = Path("sample")
        sample = here if (here / "dump").is_dir() else Path(str(importlib.resources.files("porism"))) / "sample"
    target, dump = Path(directory), Path(sample) / "dump"
    if not dump.is_dir():
        fix = "run the command in the project's folder, or name the sample with --sample"
        raise PorismError("the sample is missing", where=str(dump), fix=fix)
    collection, index = target / "collection", target / "index"
    # Only the first demo tries: without a registry, every later one would wait for npm again.
    fetching = EditorDownload(daemon=True) if editor and not has_editor() and not index.exists() else None
    if fetching:
        fetching.start()
    make_if_missing(
        collection,
        lambda: build([open_source(dump, "")], collection, progress=Bars()),
        lambda: open_content(collection).check_formulas(),
    )
    make_if_missing(
        index, lambda: build_index(open_content(collection), index, progress=Bars()), lambda: Engine.open(index)
    )
    if serve_it or editor:
        print(f"editor: {fetching.result() if fetching else editor_state()}", file=sys.stderr)
    if serve_it:
        serve(Settings(index, SiteSettings(server=ServerOptions(host, port))))


class EditorDownload(threading.Thread):
    """The formula editor, fetched and installed beside the build of the sample."""

    problem = ""

    def run(self) -> None:
        """Fetch and install it, or note why that failed."""
        try:
            install(fetch_package(EDITOR_SECONDS), editor_folder())
        except PorismError as error:
            self.problem = error.message
        except OSError as error:
            self.problem = error.strerror or str(error)

    def result(self) -> str:
        """Wait until the editor is installed or cannot be; return what to print."""
        self.join()
        return f"not installed: {self.problem} ({LATER})" if self.problem else editor_state()


def editor_state() -> str:
    """Return whether the formula editor is installed, in words."""
    return "installed: open it beside the search box" if has_editor() else f"not installed ({LATER})"


def make_if_missing(target: Path, make: Callable[[], object], open_it: Callable[[], object]) -> None:
    """Make a collection or an index unless it exists. One made by another version of Porism is made again."""
    name = target.name
    if target.exists():
        try:
            open_it()
            print(f"{name}: {target} exists", file=sys.stderr)
            return
        except PorismError as error:
            if not is_index(target):  # not ours: leave it alone
                raise
            print(f"{name}: {target}: {error.message}; making it again", file=sys.stderr)
            shutil.rmtree(target)
    started = time.perf_counter()
    make()
    print(f"{name}: made {target} in {time.perf_counter() - started:.1f} s", file=sys.stderr)
