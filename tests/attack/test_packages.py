"""The bill of materials and the audit: what was not looked up is not called safe."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attack import packages  # noqa: E402


def test_a_bill_must_name_every_dependency() -> None:
    needed = packages.dependencies((ROOT / "pyproject.toml").read_text("utf-8"))
    assert {"lxml", "PyStemmer", "math-core"} <= set(needed)
    bill = {"components": [{"name": name.upper().replace("-", "_")} for name in needed]}
    assert packages.missing_packages(bill, needed) == []
    assert packages.missing_packages({"components": bill["components"][1:]}, needed) == needed[:1]


def test_hashes_are_those_of_the_files_that_pip_chose() -> None:
    chosen = {
        "metadata": {"name": "Some_Thing", "version": "1.2"},
        "download_info": {"archive_info": {"hashes": {"sha256": "ab"}}},
    }
    assert packages.hashed({"install": [chosen]}) == ["some-thing==1.2 --hash=sha256:ab"]


CHECKED = {"name": "lxml", "version": "6.1.3", "vulns": []}
SKIPPED = {"name": "nh3", "skip_reason": "Dependency not found on PyPI and could not be audited: nh3 (0.3.7)"}
BAD = {"name": "x", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}


@pytest.mark.parametrize(
    ("found", "checked", "code"),
    [([CHECKED], 1, 0), ([CHECKED, SKIPPED], 1, 2), ([CHECKED, BAD, SKIPPED], 2, 1)],
    ids=["clean", "skipped", "vulnerable"],
)
def test_an_audit_counts_what_was_looked_up(
    found: list[object], checked: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = packages.read_audit(json.dumps({"dependencies": found}))
    assert audit.checked == checked
    assert packages.report(audit, "pypi") == code
    assert ("x 1 PYSEC-1 fixed in 2" in capsys.readouterr().out) == (code == 1)


def test_no_data_is_not_a_clean_audit() -> None:
    assert packages.read_audit("").checked == 0
    assert packages.read_audit(json.dumps({"dependencies": [SKIPPED]})).checked == 0
