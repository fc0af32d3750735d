"""The build of a collection from sources: stage by stage, resumable, complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from porism import __version__
from porism.corpus.build import staging
from porism.corpus.build.expressions import ExpressionIds, copy_store, seed
from porism.corpus.build.fields import segment_titles
from porism.corpus.build.finish import add_indexes, counts, digest, finish_rows
from porism.corpus.build.given import mark_unplaced, take_given, top_id
from porism.corpus.build.ledger import Ledger
from porism.corpus.build.parsing import Parsing, load_parser, parse_expressions
from porism.corpus.build.select import Options, select
from porism.corpus.build.threads import Segmenter, SourceIds
from porism.corpus.build.work import connect, note, number, progress, top
from porism.corpus.content import formulas_fingerprint
from porism.corpus.sources.raw import OWN_IDS, Source
from porism.corpus.store.collection import Collection
from porism.corpus.store.schema import DATABASE, FORMAT, MANIFEST, TABLES
from porism.errors import PorismError
from porism.files import already_exists, atomic_file, disk_error
from porism.integrity import describe_file, seal
from porism.locks import only_writer
from porism.parallel import Jobs, Pool, workers
from porism.progress import Progress, Silent

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WORK = "work.sqlite"
PLAN = "plan.json"
FIRST_OWN_ID = "first own id"
LARGEST_ID = 2**63 - 1


def build(
    sources: Sequence[Source],
    target: str | Path,
    options: Options | None = None,
    *,
    base: Collection | str | Path | None = None,
    apart: bool = False,
    jobs: Jobs = 0,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Build a collection, or continue a build that was stopped.

    With `base`, the new collection is that one with the sources added. Equal ids mean equal posts; with `apart`, and
    always for folders, the posts of the sources get ids above those of the base."""
    place = Path(target)
    added_to = Collection.open(base) if isinstance(base, str | Path) else base
    if place.exists():
        raise already_exists(place)
    if added_to is not None:
        added_to.check_formulas()
    work = place.parent / f".{place.name}.partial"
    # Sources with official ids first; the other formulas are numbered after them.
    inputs = sorted(sources, key=lambda source: not source.official)
    with _disk_errors(place), only_writer(place), _sorting_in(place.parent):
        if place.exists():  # another process finished it a moment ago
            raise already_exists(place)
        _prepare(work, _plan(inputs, options or Options(), added_to, apart), say)
        _Build(work, inputs, options or Options(), added_to, apart, jobs, progress or Silent()).run()
        # The plan first: without it, a build that dies here is not continued.
        (work / PLAN).unlink()
        (work / WORK).unlink()
        os.replace(work, place)
    return place


@contextlib.contextmanager
def _sorting_in(folder: Path) -> Iterator[None]:
    """Let SQLite sort on the disk of the target; the system's temporary disk may be small."""
    before = os.environ.get("SQLITE_TMPDIR")
    os.environ["SQLITE_TMPDIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SQLITE_TMPDIR"]
        else:
            os.environ["SQLITE_TMPDIR"] = before


@contextlib.contextmanager
def _disk_errors(place: Path) -> Iterator[None]:
    """Report disk errors as PorismError. What is done so far stays, so that the build can be continued."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "disk" in str(error) or "full" in str(error):
            raise disk_error(OSError(None, str(error)), place) from error
        raise
    except OSError as error:
        # The system names the file; an error without a name, or with one beside the target, concerns the disk of the
        # target.
        name = str(error.filename or "")
        if error.errno in DISK_FULL or not name or name.startswith(str(place.parent / f".{place.name}.")):
            raise disk_error(error, place) from error
        fix = "name a file or folder that you may read and write"
        raise PorismError(f"cannot be used: {error.strerror}", where=name, fix=fix) from error


def _plan(sources: Sequence[Source], options: Options, base: Collection | None, apart: bool) -> dict[str, Any]:
    """Return what identifies a build: a stopped build with another plan cannot be continued."""
    inputs = [
        {
            "path": str(s.path.resolve()),
            "kind": s.kind,
            "parts": [[part.name, part.size, part.age] for part in s.parts()],
        }
        for s in sources
    ]
    added_to = {"digest": base.digest, "apart": apart} if base else None
    return {"format": FORMAT, "version": __version__, "options": options.as_dict(), "sources": inputs, "base": added_to}


def _prepare(work: Path, plan: dict[str, Any], say: Callable[[str], None]) -> None:
    text = json.dumps(plan, indent=1, sort_keys=True)
    if work.is_dir():
        if (work / PLAN).is_file() and (work / PLAN).read_text("utf-8") == text:
            say("continuing a stopped build")
            return
        say("dropping a stopped build of other sources or options")
        shutil.rmtree(work)
    work.mkdir()
    (work / PLAN).write_text(text, "utf-8")


class _Build:
    def __init__(
        self,
        work: Path,
        sources: Sequence[Source],
        options: Options,
        base: Collection | None,
        apart: bool,
        jobs: Jobs,
        progress: Progress,
    ) -> None:
        self.folder = work
        self.sources = sources
        self.options = options
        self.base = base
        self.apart = apart
        self.jobs = jobs
        self.progress = progress
        self.names = [source.path.resolve().name for source in sources]

    def run(self) -> None:
        """Run all stages."""
        with (
            workers(self.jobs) as pool,
            contextlib.closing(connect(self.folder / WORK)) as self.work,
            contextlib.closing(self._store()) as self.store,
        ):
            if pool is not None:
                pool.start(load_parser)
            self.ledger = Ledger(self.work)
            if self.base:
                self._once("seed", lambda: seed(self.work, self.store))
            self._read()
            self._once("shift", self._shift)
            self._select()
            self._find(pool)
            if pool is not None:
                pool.end()
            self._finish()

    def _store(self) -> sqlite3.Connection:
        if self.base:
            copy_store(self.base.path, self.folder)
        store = sqlite3.connect(self.folder / DATABASE)
        store.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;")
        store.executescript(TABLES)
        return store

    def _once(self, stage: str, action: Callable[[], None]) -> None:
        """Run a stage that is one transaction of the work database."""
        if not progress(self.work, stage):
            action()
            note(self.work, stage, 1)
            self.ledger.save()
            self.work.commit()

    def _read(self) -> None:
        for at, source in enumerate(self.sources):
            for part in source.parts():
                with self.progress.stage(f"read {part.name}", part.size if part.meter else None) as advance:
                    staging.stage_part(self.work, at, part, self.ledger, advance)
        with self.progress.stage("sort"):
            staging.prepare(self.work)

    def _select(self) -> None:
        official = [at for at, source in enumerate(self.sources) if source.official]
        self._once("select", lambda: select(self.work, self.options, self.names, official, self.ledger))
        tables = ("posts", "comments", "formulas")
        if not self.base and not any(number(self.work, f"SELECT EXISTS(SELECT 1 FROM {table})") for table in tables):
            where = ", ".join(str(source.path) for source in self.sources)
            fix = "check the sources, --source-kind, --years and --without"
            raise PorismError("there is nothing to build: no post and no formula is left", where=where, fix=fix)

    def _find(self, pool: Pool | None) -> None:
        expressions = ExpressionIds(self.work, self.store, top(self.work, "expressions"))
        first_given_id = OWN_IDS if self._has_official_ids() else 1
        parsing = Parsing(self.work, pool, self.options.trees)
        for at in range(len(self.sources)):
            options = (first_given_id, self.options.compat, parsing.begin)
            take_given(self.work, self.store, at, expressions, self.ledger, *options)
        self._once("own ids", lambda: note(self.work, FIRST_OWN_ID, self._first_own_id()))
        first_own_id = progress(self.work, FIRST_OWN_ID)
        for at, (name, shift) in enumerate(zip(self.names, self._shifts(), strict=True)):
            total = number(self.work, "SELECT count(*) FROM posts WHERE source = ?", at)
            with self.progress.stage(f"segment posts of {name}", total) as advance:
                ids = SourceIds(at, name, shift, first_own_id)
                segmenter = Segmenter(self.work, self.store, expressions, self.ledger, ids)
                segmenter.run(pool, self.options.compat, advance)
        self._once("titles", lambda: segment_titles(self.work, self.store, expressions, self.base is not None))
        self._once("mark", lambda: mark_unplaced(self.work, self.ledger))
        with self.progress.stage("parse formulas", number(self.work, "SELECT count(*) FROM latex")) as advance:
            parse_expressions(self.work, self.store, self.ledger, parsing, advance)

    def _has_official_ids(self) -> bool:
        base = self.base is not None and self.base.first_own_formula is not None
        return base or any(source.official for source in self.sources)

    def _first_own_id(self) -> int:
        """Return where the ids of formulas start that no source lists."""
        if self.base is not None and self.base.first_own_formula is not None:
            return self.base.first_own_formula
        return max(top_id(self.work) + 1, OWN_IDS if self._has_official_ids() else 1)

    def _shift(self) -> None:
        """Note what is added to the ids of each source, so that no two clash: nothing for official ids and for the
        first source.

        A source that is added to a collection means the same posts by the same ids, unless it is a folder or
        `apart`."""
        highest = top(self.work, "ids")
        for at, source in enumerate(self.sources):
            queries = (
                f"SELECT coalesce(max(id), 0) FROM {table} WHERE source = ?" for table in ("posts", "comments", "users")
            )
            size = max(number(self.work, query, at) for query in queries)
            same = source.official or (at == 0 and self.base and not self.apart and source.kind != "folder")
            shift = 0 if same or not highest else 10 ** len(str(highest))
            if size + shift > LARGEST_ID:
                fix = "build fewer sources together, or sources with smaller ids"
                raise PorismError("ids are too large to be kept apart", where=str(source.path), fix=fix)
            self.work.execute("INSERT INTO shifts VALUES(?, ?)", (at, shift))
            highest = max(highest, size + shift)

    def _shifts(self) -> list[int]:
        return [row[0] for row in self.work.execute("SELECT shift FROM shifts ORDER BY source")]

    def _finish(self) -> None:
        self.work.commit()
        self.store.execute("ATTACH ? AS work", (str(self.folder / WORK),))
        with self.progress.stage("write formulas"):
            self._once("finish", lambda: finish_rows(self.store, self._shifts(), self.ledger))
        self.store.commit()
        self.store.execute("DETACH work")
        with self.progress.stage("index"):
            add_indexes(self.store)
        with self.progress.stage("digest"):
            manifest = self._manifest(digest(self.store))
        self.store.execute("PRAGMA journal_mode = DELETE")
        files = {DATABASE: asdict(describe_file(self.folder / DATABASE))}
        with atomic_file(self.folder / MANIFEST) as out:
            out.write(seal({**manifest, "files": files}))

    def _manifest(self, content: str) -> dict[str, Any]:
        shifts = self._shifts()
        return {
            "kind": "collection",
            "format": FORMAT,
            "porism": __version__,
            "digest": content,
            "formulas": formulas_fingerprint(),
            "options": self.options.as_dict(),
            "sources": [
                *(self.base.manifest["sources"] if self.base else ()),
                *(
                    {"name": name, "kind": source.kind, "shift": shift}
                    for name, source, shift in zip(self.names, self.sources, shifts, strict=True)
                ),
            ],
            "first_own_formula": progress(self.work, FIRST_OWN_ID) if self._has_official_ids() else None,
            "counts": counts(self.store),
            "ledger": [entry._asdict() for entry in self.ledger.entries()],
        }
