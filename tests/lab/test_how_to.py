"""The shell blocks of the how-to pages run as they stand, on the sample."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = "porism build sample/dump -o demo --quiet\n"


@pytest.mark.parametrize("name", ["pool", "assess", "turkle"])
def test_the_commands_of_a_page_work(name: str, sample_collection: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / "how-to" / f"{name}.md").read_text(), flags=re.S | re.M)
    # The collection is there already: building it again for each page would only take time.
    script = "".join(blocks)
    assert BUILD in script
    (tmp_path / "demo").symlink_to(sample_collection)
    (tmp_path / "sample").symlink_to(ROOT / "sample")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(BUILD, "")],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
