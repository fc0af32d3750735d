"""porism site doctor: facts with remedies, exit code 1 where action is needed, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from porism.cli import main
from porism.doctor import environment
from porism.doctor.checkup import checkup
from porism.doctor.environment import Finding, run_checks
from porism.web.http.workers import warn_of_vulnerabilities


@pytest.fixture
def index(demo: Path, tmp_path: Path) -> Path:
    """A copy of the sample's index, with its collection."""
    shutil.copytree(demo, tmp_path / "demo")
    return tmp_path / "demo" / "index"


def by_subject(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.subject: finding for finding in findings}


def test_a_sound_index_needs_no_action(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["site", "doctor", str(demo / "index"), "--json", "--verify"]) == 0
    report = json.loads(capsys.readouterr().out)
    facts = {finding["subject"]: finding["fact"] for finding in report["findings"]}
    assert report["ok"]
    assert facts["collection"].endswith("604 posts, 3,075 formulas")
    assert facts["segments"] == "1"
    assert facts["checksums"] == "every file is intact"
    assert facts["search"].startswith("works")
    assert {"version", "packages", "compiled modules", "numba cache", "cores", "memory", "disk"} <= set(facts)


def test_the_installation_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main(["site", "doctor"])
    assert "version: Porism" in capsys.readouterr().out


def remove_manifest(index: Path) -> None:
    (index / "manifest.json").unlink()


def truncate_a_file(index: Path) -> None:
    os.truncate(max(index.rglob("*.npy"), key=lambda path: path.stat().st_size, default=index / "manifest.json"), 10)


def garble_the_manifest(index: Path) -> None:
    (index / "manifest.json").write_bytes(os.urandom(500))


def lose_the_collection(index: Path) -> None:
    shutil.rmtree(index.parent / "collection")


def garble_the_collection(index: Path) -> None:
    for file in (index.parent / "collection").iterdir():
        file.write_bytes(b"no collection" * 1000)


@pytest.mark.parametrize(
    "damage", [remove_manifest, truncate_a_file, garble_the_manifest, lose_the_collection, garble_the_collection]
)
def test_damage_is_reported_with_what_to_do(
    index: Path, damage: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    damage(index)
    assert main(["site", "doctor", str(index)]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("ACTION"))
    assert lines[at + 1].strip().startswith("fix: ")
    assert "Traceback" not in "".join(lines)


def test_a_path_that_is_no_index(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path):
        assert by_subject(list(checkup(place)))["index"].state == "action"


def test_a_changed_byte_is_found_when_all_files_are_read(index: Path) -> None:
    largest = max((path for path in index.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    found = by_subject(list(checkup(index, verify=True)))
    assert found["checksums"].state == "action"
    assert largest.name in found["checksums"].fact


def test_changes_that_could_not_be_applied(index: Path) -> None:
    index.with_name("index.log").write_bytes(b"x" * 100)
    index.with_name("index.log.rejected").write_text("{}\n{}\n")
    found = by_subject(list(checkup(index)))
    assert found["change log"].state == "ok"
    assert found["rejected changes"].fact == "2 changes could not be applied"


def test_an_error_of_a_check_is_a_finding() -> None:
    def fail() -> list[Finding]:
        raise ZeroDivisionError("oh")

    (finding,) = run_checks([("machine", fail)])
    assert (finding.state, finding.fact) == ("action", "could not be checked (ZeroDivisionError: oh)")


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ["numpy>=1", "no-such-package>=2", 'mcp==2; extra == "mcp"', 'no-such-extra; extra == "more"']
    monkeypatch.setattr(metadata, "requires", lambda name: needs)
    found = by_subject(list(environment.packages()))
    assert found["packages"].fix == "pip install no-such-package"
    assert found["extra more"].state == "note"
    assert 'pip install "porism[more]"' in found["extra more"].fix


def test_little_disk_and_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "LEAST_MEMORY", 10**15)
    assert environment.disk(tmp_path, 10**15).state == "action"
    assert by_subject(list(environment.machine()))["memory"].state == "action"


@pytest.mark.parametrize(
    ("version", "named"),
    [
        ((3, 11, 7), {"CVE-2024-7592", "CVE-2024-6232", "CVE-2025-8194"}),
        ((3, 11, 10), {"CVE-2025-8194"}),
        ((3, 11, 14), set()),
        ((3, 12, 5), {"CVE-2024-7592", "CVE-2024-6232", "CVE-2025-8194"}),
        ((3, 12, 12), set()),
        ((3, 13, 0), {"CVE-2025-8194"}),
        ((3, 13, 6), set()),
        ((3, 14, 0), set()),
    ],
)
def test_interpreters_with_known_holes_are_named(
    version: tuple[int, int, int], named: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment.sys, "version_info", version)
    finding = by_subject(list(environment.interpreter()))["Python"]
    assert {one.name for one in environment.VULNERABILITIES if one.name in finding.fact} == named
    assert finding.state == ("note" if named else "ok")
    assert bool(finding.fix) == bool(named)


def test_servers_name_them_too(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(environment.sys, "version_info", (3, 11, 7))
    warn_of_vulnerabilities()
    told = caplog.messages[0]
    assert told.startswith(
        "Python 3.11.7 has known vulnerabilities: CVE-2024-7592 (a quoted cookie takes quadratic time); "
    )
    assert "; use Python 3.11.14 or newer; " in told
    monkeypatch.setattr(environment.sys, "version_info", (3, 14, 0))
    caplog.clear()
    warn_of_vulnerabilities()
    assert not [line for line in caplog.messages if line.startswith("Python")]
