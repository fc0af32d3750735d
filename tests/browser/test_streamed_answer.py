"""The Ask tab with a language model in a real browser: the answer appears while it is written; without scripts it is
there as a whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from chromium import Chromium, free_port, wait_for
from endpoints import endpoint_server

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("search-browser")]
ASK = "/search?tab=ask&q=" + quote("why is $\\sqrt{2}$ irrational?")


@pytest.fixture(scope="module")
def site(demo: Path) -> Iterator[str]:
    port = free_port()
    with endpoint_server() as model:
        command = [
            sys.executable,
            "-m",
            "porism.cli",
            "serve",
            str(demo / "index"),
            "--port",
            str(port),
            "--workers",
            "1",
        ]
        command += ["--endpoint", f"{model}/slow-words/v1/chat/completions", "--endpoint-model", "test"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        url = f"http://127.0.0.1:{port}"
        wait_for(url + "/v1/health", process)
        yield url
        process.terminate()
        process.wait(10)


def test_the_answer_appears_while_it_is_written(browser: Chromium, site: str) -> None:
    context = browser.context()
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(site + ASK)
    expect(page.locator(".writing .sentence").first).to_contain_text("It is irrational", timeout=30_000)
    expect(page.locator(".answer").nth(1)).to_be_visible()  # the best passage stays meanwhile
    expect(page.locator("#source-5")).to_be_visible(timeout=30_000)
    expect(page.locator(".generated .sentence")).to_have_count(3)
    expect(page.locator(".generated math")).to_have_count(1)
    expect(page.locator(".no-source")).to_have_count(1)
    page.locator(".citation").first.click()
    expect(page.locator("#source-1:target")).to_be_visible()
    assert not problems
    context.close()


def test_without_scripts_the_page_has_the_whole_answer(browser: Chromium, site: str) -> None:
    context = browser.context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + ASK)
    expect(page.locator("#source-5")).to_be_visible(timeout=30_000)
    expect(page.locator(".generated .sentence")).to_have_count(3)
    assert "whole=true" in page.url
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_problem(browser: Chromium, site: str, scheme: str) -> None:
    context = browser.context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{site}{ASK}&whole=true")
    found = Axe().run(page).response["violations"]
    assert not [one["id"] for one in found if one["impact"] in ("serious", "critical")]
    context.close()
