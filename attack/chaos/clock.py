"""A clock that jumps by hours and years while a private site is served, changed and logged into.

A few lines of C put themselves before the clock of the C library: libfaketime 0.9.10, which Debian has, breaks
`time.sleep` of Python 3.11 when it leaves the monotonic clock alone, and its waits when it does not.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import time
from functools import partial
from pathlib import Path
from random import Random

import httpx
from bench.assess import hidden_fields

from attack.chaos.damage import is_noticed
from attack.chaos.processes import Server, run_command, serving
from attack.chaos.servers import free_port
from attack.chaos.trials import Kind, Lost, Record, Stage, wait_until
from attack.living.load import Client
from attack.small import small_index
from porism.accounts import SESSION_SECONDS, UserFile
from porism.store.embedded.manifest import SEARCH, read_manifest

CODE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long shift(void) {
  static volatile long *offset;
  if (!offset) {
    int file = open(getenv("CLOCK_OFFSET"), O_RDONLY);
    offset = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    close(file);
  }
  return *offset;
}
int clock_gettime(clockid_t clock, struct timespec *t) {
  int failed = syscall(SYS_clock_gettime, clock, t);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) t->tv_sec += shift();
  return failed;
}
int gettimeofday(struct timeval *v, void *zone) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  v->tv_sec = t.tv_sec;
  v->tv_usec = t.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *where) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (where) *where = t.tv_sec;
  return t.tv_sec;
}
"""
HOUR, DAY, YEAR = 3600, 86_400, 31_536_000
JUMPS = tuple(sign * size for size in (HOUR, 13 * HOUR, 10 * DAY, YEAR, 10 * YEAR) for sign in (1, -1))
MOST_OFFSET = 30 * YEAR
PASSWORD = "a long chaos password"
APPLIED_SECONDS = 30.0


class Clock:
    """The wall clock of a server: that of the machine, and an offset in a file. Monotonic clocks and times of files
    stay."""

    def __init__(self, folder: Path) -> None:
        library, source, self._file = folder / "clock.so", folder / "clock.c", folder / "offset"
        source.write_text(CODE)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True, capture_output=True)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._file)}
        self.offset = 0
        self._file.write_bytes(struct.pack("l", 0))

    def jump(self, seconds: int) -> None:
        """Set the clock forwards or backwards."""
        self.offset += seconds
        with open(self._file, "r+b", buffering=0) as file:
            file.write(struct.pack("l", self.offset))


class Site:
    """A private site that takes changes, and someone who is logged in."""

    def __init__(self, server: Server, port: int, token: str, index: Path) -> None:
        self.address, self.index = server.address, index
        self.program = Client(port, token)
        self.program_put = 0
        self.expected = self._hits()

    def _hits(self) -> object:
        answer = httpx.get(f"{self.address}/v1/search?q=binomial+theorem", auth=("ada", PASSWORD), timeout=20)
        return [hit["id"] for hit in answer.json()["data"]["hits"]] if answer.status_code == 200 else answer.status_code

    def log_in(self) -> httpx.Client:
        """Log in with the form; return the browser."""
        browser = httpx.Client(base_url=self.address, timeout=20)
        fields = hidden_fields(browser.get("/login").text)
        answer = browser.post("/login", data={**fields, "name": "ada", "password": PASSWORD})
        if answer.status_code != 303 or not self.is_in(browser):
            raise Lost(f"the login is answered with {answer.status_code}")
        return browser

    def is_in(self, browser: httpx.Client) -> bool:
        """Return whether a session is accepted."""
        return browser.get("/search?q=limit", headers={"accept": "text/html"}).status_code == 200

    def check_search(self) -> None:
        """Search as a program does."""
        found = self._hits()
        if found != self.expected:
            raise Lost(f"search answers {found}")

    def change(self) -> None:
        """Put a post, and wait until it is searchable."""
        self.program_put += 1
        post = 20_000 + self.program_put
        body = {"id": post, "title": f"zeppelin {post}", "body": "<p>It flies.</p>"}
        if self.program.call("PUT", f"/v1/posts/{post}", json.dumps(body).encode()).status not in (200, 202):
            raise Lost("a change is not accepted")
        wait_until(partial(self._is_applied, post), APPLIED_SECONDS, f"post {post} is not searchable")

    def _is_applied(self, post: int) -> bool:
        found = httpx.get(f"{self.address}/v1/posts/{post}", auth=("ada", PASSWORD), timeout=20)
        return found.status_code == 200


def jump_clock(stage: Stage, record: Record) -> None:
    """Let the clock of a server jump again and again."""
    if not shutil.which("cc"):
        record.skip("no C compiler (apt-get install gcc)")
        return
    index = (
        Path(
            shutil.copytree(
                small_index(stage.folder).parent, stage.folder / "site", ignore=shutil.ignore_patterns("site")
            )
        )
        / "small.index"
    )
    users, analytics, log = stage.folder / "site.users", stage.folder / "analytics.sqlite", stage.folder / "log"
    UserFile(users).add("ada", PASSWORD)
    token = run_command(
        ["site", "tokens", "create", str(index), "--name", "chaos", "--scope", "write", "--scope", "merge"], log
    ).split()[0]
    clock, port = Clock(stage.folder), free_port()
    arguments = [
        "serve",
        str(index),
        "--port",
        str(port),
        "--workers",
        "1",
        "--writable",
        "--analytics",
        str(analytics),
    ]
    with serving(*arguments, "--set", f"access.users={users}", environment=clock.environment) as server:
        site = Site(server, port, token, index)
        for number in range(stage.tries):
            with record.attempt(f"jump {number + 1}"):
                began = time.monotonic()
                _jump(site, clock, stage.rng)
                record.measure(time.monotonic() - began)
                if server.process.poll() is not None:
                    raise Lost("the server ended")
    with record.attempt("porism store verify"):
        if is_noticed(index):
            raise Lost("the index is damaged")


def _jump(site: Site, clock: Clock, rng: Random) -> None:
    """Change a post, let the clock jump, and check what depends on time."""
    browser = site.log_in()
    site.change()
    size = rng.choice([one for one in JUMPS if abs(clock.offset + one) < MOST_OFFSET])
    replaced = _retired(site.index)
    clock.jump(size)
    site.check_search()
    if site.is_in(browser) and not 0 <= size < SESSION_SECONDS:
        raise Lost(f"a session is accepted after a jump of {size / HOUR:.0f} hours")
    site.change()  # a writer removes what was replaced long ago
    if missing := [name for name in replaced if not (site.index / name).exists()]:
        raise Lost(f"{missing[0]} is removed a moment after it was replaced, by a jump of {size / HOUR:.0f} hours")
    site.log_in()
    site.check_search()


def _retired(index: Path) -> list[str]:
    """Return what the last commits have replaced and not removed yet, youngest last; only the younger half is certainly
    young."""
    names = [one.name for one in read_manifest(index, SEARCH).retired if (index / one.name).exists()]
    return names[len(names) // 2 :]


KINDS = (
    Kind(
        "clock jumps",
        "searches, changes and logins go on; no session lives longer than 12 hours; replaced files stay ten minutes",
        jump_clock,
        0.5,
    ),
)
