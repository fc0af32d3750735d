"""Two writers at once: one waits or fails with a clear message, and the result is that of one after the other."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from attack.chaos.kills import answers, collection_digest, digests
from attack.chaos.processes import Command, run_command, serving
from attack.chaos.servers import free_port
from attack.chaos.trials import Kind, Lost, Record, Stage, wait_until
from attack.living.load import Client
from attack.small import build_collection, build_index, write_dump

# What a writer may say when another one is at work, or was.
CLEAR = ("is writing it now", "already exists")


class Writer(NamedTuple):
    """A command that writes, with the file that it reads from standard input, or what it calls instead of the command
    line."""

    arguments: list[str]
    lines: Path | None = None
    main: Callable[[list[str]], int] | None = None

    def start(self, log: Path) -> Command:
        """Start it."""
        return Command(self.arguments, log, self._read_lines, self.main)

    def _read_lines(self) -> None:
        if self.lines is not None:
            os.dup2(os.open(self.lines, os.O_RDONLY), 0)


def race(stage: Stage, record: Record, base: Path, writers: Sequence[Writer], state: Callable[[Path], object]) -> None:
    """Run two writers at once in a copy of a folder, and compare its state with those after one or both, in either
    order."""
    place = stage.folder / "place"
    logs = [stage.folder / f"writer-{number}.log" for number in range(2)]

    def restore() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(base, place)

    def in_turn(order: Sequence[int]) -> object:
        restore()
        for one in order:
            writers[one].start(logs[one]).wait()
        return state(place)

    expected = {order: in_turn(order) for order in ((0,), (1,), (0, 1), (1, 0))}
    began = time.monotonic()
    in_turn((0,))
    seconds = time.monotonic() - began
    for number in range(stage.tries):
        restore()
        with record.attempt(f"race {number + 1}"):
            order = (0, 1) if number % 2 else (1, 0)
            began = time.monotonic()
            first = writers[order[0]].start(logs[order[0]])
            time.sleep(stage.rng.uniform(0, seconds) if number % 3 else 0)
            commands = {order[0]: first, order[1]: writers[order[1]].start(logs[order[1]])}
            codes = {one: command.wait() for one, command in commands.items()}
            record.measure(time.monotonic() - began)
            for one, code in codes.items():
                output = commands[one].output()
                if code and ("Traceback" in output or not any(words in output for words in CLEAR)):
                    raise Lost(f"no clear error (exit code {code}): {output[-200:]}")
            done = [one for one, code in codes.items() if not code]
            if not done:
                raise Lost("both writers failed")
            if state(place) not in [expected[turn] for turn in itertools.permutations(done)]:
                raise Lost(f"the result is not that of {len(done)} writers one after the other")
            if left := _left(place):
                raise Lost(f"left behind: {', '.join(left)}")


def _left(place: Path) -> list[str]:
    """Return hidden files of a folder, which writers make and remove."""
    return sorted(path.name for path in place.rglob(".*"))


def _lines(stage: Stage, name: str, first: int) -> Path:
    """Write posts as JSON Lines: new questions, and an edit of one that is there."""
    posts = [
        {"id": first + at, "title": f"The {name} binomial {at}", "body": f"<p>Why is $x_{at}^2={name}$ true?</p>"}
        for at in range(4)
    ]
    path = stage.folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(post) + "\n" for post in posts), "utf-8")
    return path


def _site(stage: Stage, threads: int = 20) -> Path:
    base = stage.folder / "base"
    build_index(build_collection(write_dump(stage.folder / "dump", threads), base / "collection"), base / "index")
    return base


def _write_with_library(arguments: list[str], lines: Path) -> int:
    """Change an index as a program does, by the library."""
    from porism.corpus.update.changes import read_json_lines
    from porism.errors import PorismError
    from porism.store.embedded.segments.writer import IndexWriter

    try:
        with IndexWriter(arguments[0], wait=30.0) as writer, open(lines, encoding="utf-8") as stream:
            writer.changes = read_json_lines(stream, str(lines))
            writer.commit()
    except PorismError as error:
        print(error)
        return 1
    return 0


def race_updates(stage: Stage, record: Record, other: str) -> None:
    """Race `porism update` against itself, the library, or a merge of all segments."""
    base, index = _site(stage), str(stage.folder / "place" / "index")
    update = Writer(["update", index, "-"], _lines(stage, "a", 1001))
    lines = _lines(stage, "b", 2001)
    seconds = {
        "update": Writer(["update", index, "-"], lines),
        "library": Writer([index], None, partial(_write_with_library, lines=lines)),
        "merge": Writer(["store", "merge", index, "--quiet"]),
    }
    if other == "merge":  # there must be segments to merge
        run_command(["update", str(base / "index"), "-"], stage.folder / "log", Writer([], lines)._read_lines)
    race(stage, record, base, (update, seconds[other]), lambda place: answers(place / "index"))


def race_outputs(stage: Stage, record: Record, command: str) -> None:
    """Race two commands that write the same new folder or file."""
    base, place = _site(stage), stage.folder / "place"
    commands: dict[str, tuple[list[str], Callable[[Path], object]]] = {
        "build": (["build", str(stage.folder / "dump"), "-o", str(place / "new"), "--quiet"], lambda place: collection_digest(place / "new")),
        "index": (["index", str(place / "collection"), "-o", str(place / "new"), "--quiet"], lambda place: digests(place / "new")),
        "backup": (["site", "backup", str(place / "index"), "-o", str(place / "new"), "--quiet"], lambda place: sorted(digests(place / "new"))),
        "tar": (["site", "backup", str(place / "index"), "-o", str(place / "new.tar"), "--quiet"], lambda place: (place / "new.tar").stat().st_size),
    }  # fmt: skip
    arguments, state = commands[command]
    race(stage, record, base, (Writer(arguments), Writer(arguments)), state)


def race_applier(stage: Stage, record: Record) -> None:
    """Update an index by the command while a server that takes changes commits others: all of both are there."""
    base, port = _site(stage), free_port()
    index, log = base / "index", stage.folder / "log"
    token = run_command(["site", "tokens", "create", str(index), "--name", "chaos"], log).split()[0]
    client = Client(port, token)
    with serving("serve", str(index), "--port", str(port), "--workers", "1", "--writable"):
        for number in range(stage.tries):
            with record.attempt(f"race {number + 1}"):
                first = 10_000 * (number + 1)
                began = time.monotonic()
                update = Writer(["update", str(index), "-"], _lines(stage, f"u{number}", first)).start(log)
                posts = [first + 100 + at for at in range(3)]
                for post in posts:
                    body = {"id": post, "title": f"By the server {post}", "body": "<p>Is $x=y$?</p>"}
                    if client.call("PUT", f"/v1/posts/{post}", json.dumps(body).encode()).status not in (200, 202):
                        raise Lost(f"post {post} was not accepted")
                    time.sleep(stage.rng.uniform(0, 0.3))
                if code := update.wait():
                    raise Lost(f"the update ended with {code}: {update.output()[-200:]}")
                wait_until(partial(_all_there, client, [*posts, *range(first, first + 4)]), 60, "posts are not there")
                record.measure(time.monotonic() - began)


def _all_there(client: Client, posts: Sequence[int]) -> bool:
    return all(client.call("GET", f"/v1/posts/{post}").status == 200 for post in posts)


ONE_BY_ONE = "one waits or fails with a clear message; the result is that of one after the other"
ONE_WINS = "one writes it, the other fails with a clear message; nothing is left behind"
KINDS = (
    Kind("update beside update", ONE_BY_ONE, partial(race_updates, other="update"), 0.4),
    Kind("update beside IndexWriter", ONE_BY_ONE, partial(race_updates, other="library"), 0.4),
    Kind("update beside merge", ONE_BY_ONE, partial(race_updates, other="merge"), 0.4),
    Kind("update beside a server", "all changes of both are there", race_applier, 0.4),
    Kind("two builds", ONE_WINS, partial(race_outputs, command="build"), 0.4),
    Kind("two porism index", ONE_WINS, partial(race_outputs, command="index"), 0.4),
    Kind("two backups", ONE_WINS, partial(race_outputs, command="backup"), 0.4),
    Kind("two backups as tar", ONE_WINS, partial(race_outputs, command="tar"), 0.4),
)
