"""The build of a collection from sources: stage by stage, resumable, complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from porism import __version__
from porism.corpus.build.expressions import ExpressionIds, Workspace, copy_store, seed
from porism.corpus.build.finish import add_indexes, counts, digest, finish_rows
from porism.corpus.build.ledger import Ledger
from porism.corpus.build.official import official_ids
from porism.corpus.build.parsing import Parsing, load_parser, parse_expressions
from porism.corpus.build.select import Options, select
from porism.corpus.build.threads import Segmenter, SourceIds
from porism.corpus.build.work import INDEXES, connect, note, number, progress, stage_part, top
from porism.corpus.content import formulas_fingerprint
from porism.corpus.sources.raw import Source
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
LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Base:
    """The collection that sources are added to. Equal ids mean equal posts; with `apart`, and always for folders, the
    posts of the sources get ids above those of the collection."""

    collection: Collection
    apart: bool = False

    @classmethod
    def open(cls, path: str | Path, apart: bool = False) -> Base:
        """Open the collection in a folder."""
        return cls(Collection.open(path), apart)


def build(
    sources: Sequence[Source],
    target: str | Path,
    options: Options | None = None,
    *,
    base: Base | None = None,
    jobs: Jobs = 0,
    progress: Progress | None = None,
) -> Path:
    """Build a collection, or continue a stopped build. With `base`, sources are added to that collection."""
    place = Path(target)
    if place.exists():
        raise already_exists(place)
    if base is not None:
        base.collection.check_formulas()
    work = place.parent / f".{place.name}.partial"
    # Sources with official ids first; the other formulas are numbered after them.
    sources = sorted(sources, key=lambda source: not source.official)
    progress = progress or Silent()
    made = _Build(work, sources, options or Options(), base, jobs, progress)
    with _disk_errors(place), only_writer(place), _sorting_in(place.parent):
        if place.exists():  # another process finished it a moment ago
            raise already_exists(place)
        text = made.plan()
        if work.is_dir():
            if (work / PLAN).is_file() and (work / PLAN).read_text("utf-8") == text:
                progress.say("continuing a stopped build")
            else:
                progress.say("dropping a stopped build of other sources or options")
                shutil.rmtree(work)
        if not work.is_dir():
            work.mkdir()
            (work / PLAN).write_text(text, "utf-8")
        made.run()
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


class _Build:
    def __init__(
        self,
        folder: Path,
        sources: Sequence[Source],
        options: Options,
        base: Base | None,
        jobs: Jobs,
        progress: Progress,
    ) -> None:
        self.folder = folder
        self.sources = sources
        self.options = options
        self.base = base.collection if base else None
        self.apart = base is not None and base.apart
        self.jobs = jobs
        self.progress = progress
        self.names = [source.path.resolve().name for source in sources]

    def plan(self) -> str:
        """Return what is made of what, as JSON. A stopped build of another plan cannot be continued."""
        inputs = []
        for one in self.sources:
            parts = [[part.name, part.size, part.age] for part in one.parts()]
            inputs.append({"path": str(one.path.resolve()), "kind": one.kind, "parts": parts})
        base = {"digest": self.base.digest, "apart": self.apart} if self.base else None
        known = {"format": FORMAT, "version": __version__, "options": self.options.as_dict()}
        return json.dumps(known | {"sources": inputs, "base": base}, indent=1, sort_keys=True)

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
                    stage_part(self.work, at, part, self.ledger, advance)
        with self.progress.stage("sort"):
            self.work.executescript(INDEXES)
            self.work.commit()

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
        databases = (self.work, self.store)
        space = Workspace(*databases, expressions, self.ledger, self.base is not None, self.options.compat)
        self.official = official_ids(space, self.sources, self.base.first_own_formula if self.base else None)
        parsing = Parsing(self.work, pool, self.options.trees)
        self.official.import_lists(parsing.begin)
        for at, (name, shift) in enumerate(zip(self.names, self._shifts(), strict=True)):
            total = number(self.work, "SELECT count(*) FROM posts WHERE source = ?", at)
            with self.progress.stage(f"segment posts of {name}", total) as advance:
                Segmenter(space, self.official, SourceIds(at, name, shift)).run(pool, advance)
        self._once("titles", self.official.segment_titles)
        self._once("mark", self.official.flag_unplaced)
        with self.progress.stage("parse formulas", number(self.work, "SELECT count(*) FROM latex")) as advance:
            parse_expressions(space, parsing, advance)

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
        shifts = self._shifts()
        self.work.commit()
        self.store.execute("ATTACH ? AS work", (str(self.folder / WORK),))
        with self.progress.stage("write formulas"):
            self._once("finish", lambda: finish_rows(self.store, shifts, self.ledger))
        self.store.commit()
        self.store.execute("DETACH work")
        with self.progress.stage("index"):
            add_indexes(self.store)
        with self.progress.stage("digest"):
            content = digest(self.store)
        named = zip(self.names, self.sources, shifts, strict=True)
        sources = [{"name": name, "kind": source.kind, "shift": shift} for name, source, shift in named]
        manifest = {
            "kind": "collection",
            "format": FORMAT,
            "porism": __version__,
            "digest": content,
            "formulas": formulas_fingerprint(),
            "options": self.options.as_dict(),
            "sources": [*(self.base.manifest["sources"] if self.base else ()), *sources],
            "first_own_formula": self.official.first_own_id,
            "counts": counts(self.store),
            "ledger": [entry._asdict() for entry in self.ledger.entries()],
        }
        self.store.execute("PRAGMA journal_mode = DELETE")
        manifest["files"] = {DATABASE: asdict(describe_file(self.folder / DATABASE))}
        with atomic_file(self.folder / MANIFEST) as out:
            out.write(seal(manifest))
