"""The fuzzer finds what it must find, and nothing in our readers (a short run; `make fuzz` runs longer)."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attack.fuzz.grammar import expand  # noqa: E402
from attack.fuzz.inputs import Inputs  # noqa: E402
from attack.fuzz.minimise import faults_of, minimise  # noqa: E402
from attack.fuzz.pool import run  # noqa: E402
from attack.fuzz.reader import Reader, Wrong, active_content  # noqa: E402
from attack.fuzz.worker import Block  # noqa: E402

from porism.errors import PorismError  # noqa: E402


def faulty(data: bytes) -> Hashable:
    """Read an input as a reader with every kind of fault does."""
    if b"refuse" in data:
        raise PorismError("refused")
    if b"raise" in data:
        return {}["missing"]
    if b"hang" in data:
        while True:
            pass
    if b"crash" in data:
        ctypes.string_at(0)
    if b"exit" in data:
        os._exit(3)
    if b"wrong" in data:
        raise Wrong("other answer")
    if b"grow" in data:
        return len(bytearray(4 << 30))
    if b"litter" in data:
        Path(tempfile.mkdtemp(), "left").touch()
    return len(data)


READER = Reader("faulty", 1, faulty, cpu_seconds=0.3)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"fine", ""),
        (b"refuse", ""),
        (b"raise", "KeyError"),
        (b"hang", "hang"),
        (b"crash", "crash (SIGSEGV)"),
        (b"exit", "crash (exit code 3)"),
        (b"wrong", "wrong"),
        (b"grow", "memory"),
        (b"litter", "leak"),
    ],
)
def test_every_kind_of_fault_is_found(data: bytes, kind: str) -> None:
    assert [finding.kind for finding in faults_of(READER, data)] == ([kind] if kind else [])


def test_a_finding_is_shortened() -> None:
    (finding,) = faults_of(READER, b"some text before raise and after")
    assert minimise(READER, finding).data == b"raise"


def test_several_workers_end(tmp_path: Path) -> None:
    blocks = [Block("faulty", str(number), 20) for number in range(6)]
    tally = run({"faulty": READER}, blocks, 3, tmp_path)["faulty"]
    assert tally.inputs == 120


def test_the_same_seed_gives_the_same_inputs() -> None:
    reader = Reader("x", 1, faulty, {"start": ("a«number»", "(«start»)")}, ("+", "x"), longest=500)
    first, second, other = (list(Inputs(reader, [b"seed"], seed).take(50)) for seed in ("1", "1", "2"))
    assert first == second != other
    assert all(len(data) <= 2000 for data in first)


def test_a_grammar_ends() -> None:
    from random import Random

    assert len(expand({"start": ("x", "«start»«start»")}, Random(1), depth=60, longest=1000)) < 200_000


@pytest.mark.parametrize(
    ("page", "active"),
    [
        ("<p>javascript:alert(1) style=x</p>", False),
        ('<a href="&gt; onclick=1">x</a>', False),
        ('<a href="java\nscript:x">x</a>', True),
        ("<b onmouseover=x>", True),
        ("<script>", True),
    ],
)
def test_active_content_is_recognised(page: str, active: bool) -> None:
    assert bool(active_content(page)) == active


def test_a_short_fuzz_finds_nothing(tmp_path: Path) -> None:
    """Read the whole corpus and some two thousand inputs."""
    command = [sys.executable, "-m", "attack.fuzz", "--inputs", "2000", "--seed", "ci", "--jobs", "1", "--quick"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PORISM_FUZZ_FOUND": str(tmp_path)}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2000:]
    assert re.search(r"\| \*\*all\*\* \| [\d,]+ \| 0 \|", ended.stdout)


def test_openers_are_derived_from_the_patterns() -> None:
    from attack.fuzz.openers import pumps_of

    runs = {pump.run for pump in pumps_of(re.compile(r"\\begin\{(?:a|bc)\}\[[^\]]*\]|<!--.*?-->"))}
    assert {"\\begin{a}[", "\\begin{bc", "<!--", "<!--a--", "a"} <= runs
    assert {pump.run for pump in pumps_of(re.compile(rb"(?:<!--.*?-->\s*)*<svg"))} >= {"<!--", "<!--a--> "}


def test_every_pattern_of_the_package_is_attacked_or_excepted() -> None:
    from attack.fuzz.openers import own_patterns
    from attack.fuzz.readers.patterns import EXCEPTIONS, attacked_patterns

    found = own_patterns()
    assert any(isinstance(own.pattern.pattern, bytes) for own in found)
    assert len(attacked_patterns()) > 350
    assert set(EXCEPTIONS) <= {(own.module, own.name) for own in found}


def quadratic(data: bytes) -> Hashable:
    """Read an input as a reader does that searches to the end at every opener."""
    return sum(1 for _ in re.finditer(r"<!--.*?-->", data.decode(), re.DOTALL))


def linear(data: bytes) -> Hashable:
    """Read an input in proportion to its length."""
    return sum(1 for _ in re.finditer(r"<!--[^<]*-->", data.decode()))


@pytest.mark.parametrize(("read", "kinds"), [(quadratic, {"hang"}), (linear, set())])
def test_a_time_that_grows_faster_than_the_length_is_found(
    read: Callable[[bytes], Hashable], kinds: set[str], tmp_path: Path
) -> None:
    from attack.fuzz.openers import Frame, Pump

    reader = Reader("grown", 1, read, own_pumps=lambda: [(Frame(), Pump("", "<!--", ""))], frames=(Frame(),))
    tally = run({"grown": reader}, [Block("grown", "seed", 4, pumps=0)], 1, tmp_path)["grown"]
    assert {finding.kind for finding in tally.examples} == kinds
    assert tally.inputs == 4


def test_what_hung_once_and_not_again_is_no_finding(tmp_path: Path) -> None:
    from attack.fuzz.__main__ import drop_passing_hangs

    def hangs_at_first(data: bytes) -> Hashable:
        if b"hang" in data or not (tmp_path / data.decode()).exists():
            (tmp_path / data.decode()).touch()
            while True:
                pass
        return len(data)

    reader = Reader("slow", 1, hangs_at_first, seeds=lambda: (b"once", b"hang"), cpu_seconds=0.3)
    tally = run({"slow": reader}, [Block("slow", "", 2, alone=True)], 1, tmp_path)["slow"]
    tally.examples = [finding._replace(place=finding.data.decode()) for finding in tally.examples]
    tally.examples += [tally.examples[0]._replace(data=b"hang", place="hang")]
    tally.causes = Counter(finding.cause for finding in tally.examples)
    drop_passing_hangs({"slow": reader}, {"slow": tally})
    assert [finding.place for finding in tally.examples] == ["hang"]
    assert len(tally.causes) == 1


def test_a_fifth_of_the_inputs_are_pumped() -> None:
    from attack.fuzz.__main__ import plan
    from attack.fuzz.readers import READERS

    blocks = plan(READERS, 10_000, "1")
    pumped = sum(block.count for block in blocks if block.pumps >= 0)
    assert pumped == pytest.approx(2_000, rel=0.02)
    assert sum(block.count for block in blocks) == pytest.approx(10_000, rel=0.02)
