"""A real headless Chromium, started as a process of its own so that a test may kill it."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Playwright

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-allow-origins=*",
)
MISSING = "no chromium: install Debian's package (apt-get install chromium) to run the tests in a browser"


def chromium_path() -> str:
    """Where Chromium is; without it the test is skipped, and says why."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip(MISSING)
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(address: str, process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Wait until a server answers; fail if its process ends."""
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).read()
            return
        except OSError:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.1)


class Chromium:
    """One browser process with its own profile; `kill` ends it without a chance to tidy up."""

    def __init__(self, playwright: Playwright, profile: Path) -> None:
        port = free_port()
        command = [
            chromium_path(),
            *FLAGS,
            f"--user-data-dir={profile}",
            f"--remote-debugging-port={port}",
            "about:blank",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait(port)
        self.browser = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")

    def _wait(self, port: int) -> None:
        for _ in range(300):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/json/version", timeout=5).read()
                return
            time.sleep(0.1)
        raise RuntimeError("Chromium did not start")

    def context(self, width: int = 1280, height: int = 800, **more: object) -> BrowserContext:
        """A fresh window with its own cookies."""
        return self.browser.new_context(viewport={"width": width, "height": height}, **more)  # type: ignore[arg-type]

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it by its own process id."""
        with contextlib.suppress(Exception):
            self.browser.close()
        self.process.terminate()
        self.process.wait(10)


@contextlib.contextmanager
def chromium(playwright: Playwright, profile: Path) -> Iterator[Chromium]:
    """A browser for the length of a block."""
    made = Chromium(playwright, profile)
    try:
        yield made
    finally:
        made.close()


def log_in(context: BrowserContext, url: str, name: str, password: str) -> Page:
    """Fill in the login form."""
    page = context.new_page()
    page.goto(url + "/login")
    page.fill("[name=name]", name)
    page.fill("[name=password]", password)
    page.press("[name=password]", "Enter")
    page.wait_for_selector("text=Log out")
    return page
