"""What the web package must not use."""

from __future__ import annotations

from pathlib import Path

import porism.web

SOURCES = sorted(Path(porism.web.__file__).parent.rglob("*.py"))


def test_the_assessment_server_does_not_depend_on_turkle() -> None:
    assert not [path for path in SOURCES if "porism.lab.turkle" in path.read_text(encoding="utf-8")]


def test_the_pages_do_not_depend_on_the_notebook_renderer() -> None:
    assert not [path for path in SOURCES if "display.notebook" in path.read_text(encoding="utf-8")]
