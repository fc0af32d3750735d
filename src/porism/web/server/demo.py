"""The demo: the sample built, indexed and served, with what is there already left alone."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from porism.corpus.store.collection import Collection
from porism.errors import PorismError
from porism.search.engine import Engine
from porism.web.server.run import Settings, serve


def demo(directory: str | Path, sample: str | Path, host: str, port: int, *, serve_it: bool = True) -> None:
    """Make demo/collection and demo/index where they are missing, then serve the index."""
    place, source = Path(directory), Path(sample) / "dump"
    if not source.is_dir():
        raise PorismError(
            "the sample is not there",
            where=str(source),
            fix="run it in the project's folder, or name the sample with --sample",
        )
    made, index = place / "collection", place / "index"
    step(made, "collection", lambda: build_collection(source, made), lambda: Collection.open(made).close())
    step(index, "index", lambda: build_the_index(made, index), lambda: Engine.open(index))
    if serve_it:
        serve(Settings(index, (host,)), host, port)


def step(target: Path, name: str, make: Callable[[], object], open_it: Callable[[], object]) -> None:
    """Make one thing, or say that it is there; what another version of Porism left there is made again."""
    if target.exists():
        try:
            open_it()
            print(f"{name}: {target} is there", file=sys.stderr)
            return
        except PorismError as error:
            if not (target / "manifest.json").is_file():  # whatever it is, it is not ours
                raise
            print(f"{name}: {target} {error.message}; it is made again", file=sys.stderr)
            shutil.rmtree(target)
    started = time.perf_counter()
    make()
    print(f"{name}: {target} made in {time.perf_counter() - started:.1f} s", file=sys.stderr)


def build_collection(source: Path, target: Path) -> None:
    """The sample's collection."""
    from porism.corpus.build.pipeline import build
    from porism.corpus.sources.detect import open_source
    from porism.progress import Bars

    build([open_source(source, "")], target, progress=Bars())


def build_the_index(collection: Path, target: Path) -> None:
    """The index of the sample's collection."""
    from porism.index.build import build_index
    from porism.progress import Bars

    with Collection.open(collection) as opened:
        build_index(opened, target, progress=Bars())
