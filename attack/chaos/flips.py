"""Bytes flipped while they are used: in a served index, in one that takes changes, in its change log, and in the
journal of an assessment."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import httpx
from bench.assess import PASSWORD, Load, hidden_fields, prepare

from attack.chaos.damage import is_noticed
from attack.chaos.processes import Server, get, hits, run_command, serving
from attack.chaos.servers import NOTICED_SECONDS, QUERIES, free_port
from attack.chaos.trials import Kind, Lost, Record, Stage, wait_until
from attack.living.load import Client
from attack.small import build_collection, small_index, write_dump
from porism.corpus.sources.raw import RawPost
from porism.errors import PorismError
from porism.lab.judging.journal import Journal
from porism.store.applying import LogApplier
from porism.store.change_log import open_log
from porism.store.embedded.segments.writer import IndexWriter
from porism.store.state import State

WELL_SECONDS = 20.0  # until all is well again after the bytes are
Hits = list[tuple[int, float]] | None


@contextmanager
def flipped(path: Path, rng: Random) -> Iterator[str]:
    """Flip a few bits of a file in place for the length of a block; yield what was done."""
    size = path.stat().st_size
    places = sorted({rng.randrange(size) for _ in range(rng.randint(1, 4))})
    with open(path, "r+b", buffering=0) as file:
        before = [os.pread(file.fileno(), 1, at)[0] for at in places]
        for at, byte in zip(places, before, strict=True):
            os.pwrite(file.fileno(), bytes([byte ^ (1 << rng.randrange(8))]), at)
        try:
            yield f"bits at {', '.join(map(str, places))} of {path.name}"
        finally:
            for at, byte in zip(places, before, strict=True):
                os.pwrite(file.fileno(), bytes([byte]), at)


def _files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def _site(stage: Stage) -> Path:
    """Return a copy of the small site, index and collection, to be damaged."""
    small_index(stage.folder)
    place = stage.folder / "site"
    shutil.rmtree(place, ignore_errors=True)
    for name in ("collection", "index"):
        shutil.copytree(stage.folder / f"small.{name}", place / f"small.{name}")
    return place


def _check_answers(address: str, allowed: Sequence[list[Hits]], done: str) -> None:
    """Check that all answers are right, or are refused as damage."""
    for number, query in enumerate(QUERIES):
        status, body = get(f"{address}/v1/search?{query}", 15)
        found = hits(address, query, 15) if status == 200 else None
        if found is not None and found not in [one[number] for one in allowed]:
            raise Lost(f"{done}: a wrong answer to {query}")
        if status not in (200, 503) or (status == 503 and b'"fix"' not in body):
            raise Lost(f"{done}: status {status}, no clear error")


def flip_served(stage: Stage, record: Record) -> None:
    """Flip bytes of a served index and its collection, then put them back."""
    place = _site(stage)
    with serving("serve", str(place / "small.index"), "--port", "0", "--workers", "2") as server:
        right = [hits(server.address, query) for query in QUERIES]
        time.sleep(NOTICED_SECONDS)
        for number in range(stage.tries):
            path = stage.rng.choice(_files(place / "small.index", place / "small.collection"))
            with record.attempt(f"flip {number + 1}"):
                with flipped(path, stage.rng) as done:
                    time.sleep(NOTICED_SECONDS)
                    for _ in range(3):
                        _check_answers(server.address, [right], done)
                began = time.monotonic()
                wait_until(partial(_answers, server, right), WELL_SECONDS, f"{done}: not well again")
                record.measure(time.monotonic() - began)


def _answers(server: Server, right: list[Hits]) -> bool:
    return [hits(server.address, query) for query in QUERIES] == right


class Twin:
    """The same site without damage, which gets the same changes: its answers are the right ones."""

    def __init__(self, index: Path) -> None:
        import porism

        self._index, self._engine = index, porism.open(index)

    def put(self, post: RawPost) -> None:
        """Make a change."""
        with IndexWriter(self._index, "api") as writer:
            writer.put([post])
            writer.commit()
        self._engine = self._engine.refresh()

    def hits(self) -> list[Hits]:
        """Return the answers to the queries, as the API rounds them."""
        questions = (("binomial theorem", "answers"), ("why is $a^2+b^2=c^2$ true", "answers"), ("limit", "questions"))
        return [
            [(hit.id, round(hit.score, 6)) for hit in self._engine.search(text, kind=kind).hits]  # type: ignore[arg-type]
            for text, kind in questions
        ]


def flip_writable(stage: Stage, record: Record) -> None:
    """Flip bytes under a server that takes changes, and change a post meanwhile: no damage gets into what is
    committed."""
    place = _site(stage)
    index, port = place / "small.index", free_port()
    twin = Twin(Path(shutil.copytree(place, stage.folder / "twin")) / "small.index")
    token = run_command(["site", "tokens", "create", str(index), "--name", "chaos"], stage.folder / "log").split()[0]
    client = Client(port, token)
    with serving("serve", str(index), "--port", str(port), "--workers", "1", "--writable") as server:
        time.sleep(NOTICED_SECONDS)
        for number in range(stage.tries):
            post = 1 + 3 * stage.rng.randrange(8)  # a question
            title, body = f"Edit {number} of the binomial theorem", f"<p>Is $x^{number}=1$ a limit?</p>"
            files = [path for path in _files(index, place / "small.collection") if path.name != "manifest.json"]
            with record.attempt(f"flip {number + 1}"):
                before = twin.hits()
                if [hits(server.address, query) for query in QUERIES] != before:
                    raise Lost("another answer than the site without damage")
                with flipped(stage.rng.choice(files), stage.rng) as done:
                    change = json.dumps({"id": post, "title": title, "body": body, "tags": ["algebra"]}).encode()
                    accepted = client.call("PUT", f"/v1/posts/{post}", change).status in (200, 202)
                    if accepted:
                        twin.put(RawPost(post, "question", None, title, body, "html", "algebra"))
                    time.sleep(NOTICED_SECONDS)
                    for _ in range(3):
                        _check_answers(server.address, [before, twin.hits()], done)
                        time.sleep(0.3)
                began = time.monotonic()
                wait_until(partial(_answers, server, twin.hits()), 3 * WELL_SECONDS, f"{done}: not well again")
                record.measure(time.monotonic() - began)
    with record.attempt("porism store verify"):
        if is_noticed(index):
            raise Lost("damage is left in the index")


def flip_log(stage: Stage, record: Record) -> None:
    """Damage the change log while one process appends and another applies: no acknowledged change is lost silently."""
    place = _site(stage)
    base = Path(shutil.move(place, stage.folder / "base"))
    for number in range(stage.tries):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(base, place)
        with record.attempt(f"damage {number + 1}"):
            _damage_log(place / "small.index", stage.rng)


def _damage_log(index: Path, rng: Random) -> None:
    server, applier = open_log(State(index)), LogApplier(State(index))
    acknowledged: list[tuple[int, int]] = []  # numbers of records, and of what they say
    for at in range(rng.randint(2, 6)):
        acknowledged.append((server.append([_change(at)]), at))
        if rng.random() < 0.2:
            applier.step()
    done = _damage(State(index).log, rng)
    refused = False
    try:
        if rng.random() < 0.7:
            acknowledged.append((server.append([_change(50)]), 50))
        server.state()  # as a request for /v1/log does
        for _ in range(10):
            if not applier.has_changes():
                break
            applier.step()
        acknowledged.append((open_log(State(index)).append([_change(60)]), 60))  # as the next start of the server does
        for _ in range(10):
            if not applier.has_changes():
                break
            applier.step()
    except PorismError as error:  # the file is kept
        refused = bool(error.fix)
    if refused:
        return
    from porism.store import open_content

    rejected = State(index).rejected.read_text("utf-8") if State(index).rejected.exists() else ""
    numbers = {json.loads(line)["sequence"] for line in rejected.splitlines()}
    there = open_content(index).known_posts([9_000 + at for _, at in acknowledged])
    for sequence, at in acknowledged:
        if 9_000 + at not in there and sequence not in numbers and f"mark{at}x" not in rejected:
            raise Lost(f"{done}: change {sequence} is lost, nothing says so")


def _change(at: int) -> dict[str, object]:
    return {"id": 9_000 + at, "title": f"mark{at}x", "body": f"<p>Is $x={at}$?</p>"}


def _damage(path: Path, rng: Random) -> str:
    """Damage a log in place: anywhere, at a line end, by a new line end, or by cutting its end."""
    content = bytearray(path.read_bytes())
    kind = rng.choice(("bit", "bit", "lost line end", "new line end", "cut"))
    ends = [at for at, byte in enumerate(content) if byte == 10]
    at = rng.choice(ends) if kind == "lost line end" else rng.randrange(len(content))
    if kind == "cut":
        os.truncate(path, at)
    else:
        byte = 10 if kind == "new line end" else content[at] ^ (1 << rng.randrange(8))
        with open(path, "r+b", buffering=0) as file:
            os.pwrite(file.fileno(), bytes([byte]), at)
    return f"{kind} at {at} of {len(content)}"


def flip_journal(stage: Stage, record: Record) -> None:
    """Flip a byte of the journal while the assessment server runs: what was confirmed is there, or the damage is
    noticed."""
    collection = build_collection(write_dump(stage.folder / "dump", threads=8), stage.folder / "collection")
    (stage.folder / "made").mkdir()
    load = prepare(stage.folder / "made", collection, assessors=1, judgments=8)
    folder = stage.folder / "journal"
    for number in range(stage.tries):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(stage.folder / "made", folder)
        with record.attempt(f"flip {number + 1}"):
            own = Load(folder / load.journal.name, collection, free_port(), 1, 8)
            server = own.start()
            try:
                began = time.monotonic()
                saved = _judge_damaged(own, stage.rng)
                record.measure(time.monotonic() - began)
            finally:
                server.terminate()
                server.wait()
            if not is_noticed(own.journal) and not saved.items() <= _grades(own.journal).items():
                raise Lost("a confirmed judgment is lost or changed, and nothing notices it")


def _judge_damaged(load: Load, rng: Random) -> dict[int, str]:
    """Judge items, flip a bit of the journal or of its log after some; return the grades that were confirmed."""
    saved = {}
    moment = rng.randint(1, 6)
    with httpx.Client(base_url=load.url, timeout=20) as http:
        fields = hidden_fields(http.get("/login").text)
        http.post("/login", data={**fields, "name": "a0", "password": PASSWORD})
        for item in range(1, load.judgments + 1):
            page = http.get(f"/judge/1/{item}")
            if page.status_code != 200:
                _check_error(page)
                continue
            grade = str(rng.randrange(4))
            answer = http.post(f"/judge/1/{item}", data={**hidden_fields(page.text), "grade_1": grade, "go": "next"})
            if answer.status_code == 303:
                saved[item] = grade
            else:
                _check_error(answer)
            if item == moment:
                files = [
                    path for path in load.journal.parent.glob(f"{load.journal.name}*") if not path.name.endswith("-shm")
                ]
                path = rng.choice([path for path in files if path.stat().st_size])
                with contextlib.ExitStack() as stack:
                    stack.enter_context(flipped(path, rng))
                    stack.pop_all()  # the bits stay as they are
    return saved


def _check_error(answer: httpx.Response) -> None:
    if answer.status_code not in (500, 503) or "Traceback" in answer.text:
        raise Lost(f"status {answer.status_code}: {answer.text[:200]}")


def _grades(journal: Path) -> dict[int, str]:
    """Return the grades in a journal, by the position of their items."""
    with contextlib.closing(Journal.open(journal)) as opened:
        rows = opened.read("SELECT item, position FROM assigned")
        places = {row["item"]: row["position"] for row in rows}
        return {places[event.item]: event.value for event in opened.events() if event.field == "grade"}


KINDS = (
    Kind("flip served files", "no answer is wrong one second later; well again with the bytes", flip_served),
    Kind(
        "flip files under changes",
        "no answer is wrong one second later, no damage is committed, no accepted change is lost",
        flip_writable,
        0.5,
    ),
    Kind("damage change log", "every accepted change is applied, or reported as damaged", flip_log, 2.0),
    Kind("flip journal", "confirmed judgments are there, or porism store verify notices the damage", flip_journal, 0.5),
)
