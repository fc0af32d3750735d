"""The visual formula editor in a real browser. It is fetched from the npm registry; without that the test is
skipped."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from chromium import chromium, free_port, wait_for
from porism.errors import PorismError
from porism.web.pages.frames import MAIN, editor_folder, fetch_package, install

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("editor-browser")]


@pytest.fixture(scope="module")
def site(demo: Path) -> Iterator[str]:
    """Serve the demo with the editor; remove the editor afterwards unless it was there before."""
    was_there = (editor_folder() / MAIN).is_file()
    if not was_there:
        try:
            install(fetch_package(), editor_folder())
        except PorismError as error:
            pytest.skip(f"the formula editor cannot be fetched: {error.message}")
    port = free_port()
    command = [sys.executable, "-m", "porism.cli", "serve", str(demo / "index"), "--port", str(port), "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url + "/v1/health", process)
        yield url
    finally:
        process.terminate()
        process.wait(10)
        if not was_there:
            shutil.rmtree(editor_folder())


def test_box_and_editor_show_the_same_formula(site: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    with sync_playwright() as playwright, chromium(playwright, tmp_path_factory.mktemp("profile")) as browser:
        for width in (1280, 390):
            page = browser.context(width, 800, has_touch=width == 390).new_page()
            loaded: list[str] = []
            problems: list[str] = []
            page.on("request", lambda request, loaded=loaded: loaded.append(request.url))
            page.on("console", lambda message, problems=problems: problems.append(message.text))
            page.goto(site)
            page.fill("#q", "why is $\\sqrt{2}$ irrational")
            page.evaluate("document.querySelector('#q').setSelectionRange(10, 10)")
            assert not any("mathlive" in one for one in loaded)
            page.click("[data-editor]")
            field = page.frame_locator("#editor iframe").locator("math-field")
            field.wait_for()
            expect(field).to_have_js_property("value", "\\sqrt{2}")
            field.press("End")
            field.press("+")
            field.press("x")
            expect(page.locator("#q")).to_have_value(re.compile(r"why is \$\\sqrt(2|\{2\})\+x\$ irrational"))
            field.press("Enter")
            page.wait_for_selector(".hit")
            assert not [one for one in problems if "Content Security Policy" in one], problems
            assert all("127.0.0.1" in one for one in loaded)
            page.context.close()
