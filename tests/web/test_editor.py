"""Installing the visual formula editor: pinned, checked, nothing else unpacked."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.web.pages import frames as editor


def package(names: list[str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 2
            archive.addfile(info, io.BytesIO(b"ok"))
    return out.getvalue()


def test_a_package_with_another_digest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PorismError, match="another digest than the pinned one"):
        editor.install(b"something else", tmp_path / "editor")
    assert not (tmp_path / "editor").exists()


def test_only_the_program_its_fonts_and_its_licence_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = package(
        [
            "package/mathlive.min.mjs",
            "package/fonts/a.woff2",
            "package/LICENSE.txt",
            "package/vue.mjs",
            "package/fonts/../../x",
        ]
    )
    monkeypatch.setattr(editor, "DIGEST", base64.b64encode(hashlib.sha512(packed).digest()).decode())
    editor.install(packed, tmp_path / "editor")
    found = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file())
    assert found == ["editor/LICENSE.txt", "editor/fonts/a.woff2", "editor/mathlive.min.mjs"]


def test_without_npm_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PorismError, match="npm is not installed"):
        editor.fetch_package()
