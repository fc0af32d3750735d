"""The files of deploy/: parsed, checked by the programs that read them where these are installed, and compared with the
product."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from porism.cli import make_parser
from porism.web.site.settings import SiteSettings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def program(name: str) -> str:
    """Return the path of a program, or skip the test."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/bin")
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install {name.partition('-')[0]})")
    return found


@pytest.fixture(scope="module")
def rehearse() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("rehearse", str(DEPLOY / "rehearse"))
    spec = importlib.util.spec_from_loader("rehearse", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    text = re.sub(r"^\s*#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines if line.strip())]


def parse_command(words: list[str]) -> object:
    """Parse a porism command line; a wrong one ends the test."""
    assert words[0].rpartition("/")[2] == "porism"
    return make_parser().parse_args(words[1:])


KNOWN = {
    "ARG",
    "FROM",
    "RUN",
    "WORKDIR",
    "COPY",
    "ENV",
    "USER",
    "VOLUME",
    "EXPOSE",
    "HEALTHCHECK",
    "STOPSIGNAL",
    "ENTRYPOINT",
    "CMD",
}


def test_the_image_has_two_stages_and_ends_without_rights() -> None:
    made = instructions()
    assert {name for name, _ in made} <= KNOWN
    stages = [at for at, (name, _) in enumerate(made) if name == "FROM"]
    assert len(stages) == 2
    last = made[stages[1] :]
    users = [rest for name, rest in last if name == "USER"]
    assert users == ["10001:10001"]
    assert not [rest for name, rest in last if name == "RUN" and "gcc" in rest]
    assert not [rest for name, rest in last[[name for name, _ in last].index("USER") :] if rest.startswith("apt")]


def test_the_image_copies_what_the_wheel_needs() -> None:
    copied = " ".join(rest for name, rest in instructions() if name == "COPY" and not rest.startswith("--from"))
    for name in ("pyproject.toml", "setup.py", "constraints.txt", "README.md", "src", "sample"):
        assert name in copied.split()
        assert (ROOT / name).exists()
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert not {"src", "sample", "constraints.txt"} & set(ignored)


def requirements(name: str) -> dict[str, str]:
    """Return the packages of a list with their versions; each line must have a hash."""
    lines = [line for line in (DEPLOY / name).read_text().splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}", line) for line in lines]
    assert all(found), [line for line, one in zip(lines, found, strict=True) if not one]
    return {one[1]: one[2] for one in found if one}


def test_the_packages_of_the_image_have_hashes_and_are_the_pinned_ones() -> None:
    pinned = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, version in (line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = {"requirements.txt": project["project"]["dependencies"], "build.txt": project["build-system"]["requires"]}
    for file, names in needed.items():
        listed = requirements(file)
        assert {re.split(r"[<>=]", name)[0].lower() for name in names} <= set(listed)
        assert {name: pinned[name] for name in listed if name in pinned} == {
            name: version for name, version in listed.items() if name in pinned
        }, "run `make hashes`"
        assert set(listed) - set(pinned) <= {"setuptools"}
    steps = " ".join(rest for name, rest in instructions() if name == "RUN").split("&&")
    installs = [step for step in steps if "pip install" in step]
    assert all("--require-hashes" in step or "--no-index" in step for step in installs)
    assert all("--no-build-isolation" in step for step in steps if "pip wheel" in step)


def test_the_base_image_is_an_argument() -> None:
    made = instructions()
    assert [rest.split()[0] for name, rest in made if name == "FROM"] == ["${BASE}", "${BASE}"]
    default = dict(made)["ARG"].partition("=")[2]
    built = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["porism"]["build"]
    assert built["args"]["BASE"] == f"${{BASE:-{default}}}"


def test_the_image_runs_a_command_that_exists_and_checks_its_health() -> None:
    made = dict(instructions())
    words = [*json.loads(made["ENTRYPOINT"]), *json.loads(made["CMD"])]
    args = parse_command(words)
    assert args.host == "0.0.0.0"  # type: ignore[attr-defined]
    port = words[words.index("--port") + 1]
    assert made["EXPOSE"] == port
    check = json.loads(made["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[2], "check", "exec")
    assert f":{port}/ready" in check[2]


def test_compose_has_no_rights_and_a_read_only_root() -> None:
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["porism"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    assert int(service["stop_grace_period"].rstrip("s")) > SiteSettings().limits.stop_seconds
    environment = dict(
        pair.split("=", 1) for name, rest in instructions() if name == "ENV" for pair in shlex.split(rest)
    )
    assert any(environment["NUMBA_CACHE_DIR"].startswith(place.partition(":")[0]) for place in service["tmpfs"])


def test_the_unit_runs_commands_that_exist(rehearse: ModuleType) -> None:
    unit = (DEPLOY / "porism.service").read_text()
    for name in ("ExecStart", "ExecStartPre"):
        parse_command(shlex.split(rehearse.unit_value(unit, name)))
    assert int(rehearse.unit_value(unit, "TimeoutStopSec")) > SiteSettings().limits.stop_seconds
    for line in ("ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "User=porism"):
        assert f"\n{line}\n" in unit


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    tool = program("systemd-analyze")
    unit = (DEPLOY / "porism.service").read_text().replace("/srv/porism/venv/bin/porism", "/bin/true")
    (tmp_path / "porism.service").write_text(unit)
    done = subprocess.run([tool, "verify", str(tmp_path / "porism.service")], capture_output=True, text=True)
    assert not [line for line in done.stderr.splitlines() if "porism.service" in line], done.stderr


def test_nginx_reads_its_file(tmp_path: Path, rehearse: ModuleType) -> None:
    tool = program("nginx")
    program("openssl")
    rehearsal = rehearse.Rehearsal(tmp_path)
    configuration = rehearse.nginx_configuration(rehearsal)
    done = subprocess.run([tool, "-t", "-c", str(configuration)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr.replace('the "user" directive', ""), done.stderr


def test_caddy_reads_its_file() -> None:
    words = [program("caddy"), "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_proxies_remove_the_header_of_users_and_hide_metrics() -> None:
    nginx, caddy = (DEPLOY / "nginx.conf").read_text(), (DEPLOY / "Caddyfile").read_text()
    assert 'proxy_set_header X-Remote-User "";' in nginx
    assert "header_up -X-Remote-User" in caddy
    assert "location = /metrics" in nginx
    assert "respond /metrics 404" in caddy
    assert "127.0.0.1:8100" in nginx
    assert "127.0.0.1:8100" in caddy


def test_every_command_of_the_page_exists(rehearse: ModuleType) -> None:
    steps = rehearse.steps((ROOT / "docs/how-to/deploy.md").read_text("utf-8"))
    assert [int(step.title.split(".")[0]) for step in steps] == [1, 2, 3, 4, 5, 8, 9]
    commands = [line for step in steps for line in re.findall(r"\$P/venv/bin/(porism [^\n&|]*)", step.script)]
    assert len(commands) >= 9
    for line in commands:
        if "--version" not in line:
            parse_command(shlex.split(line.replace("$(date +%F)", "today")))


@pytest.mark.parametrize("step", range(7))
def test_the_scripts_of_the_page_are_bash(rehearse: ModuleType, step: int) -> None:
    script = rehearse.steps((ROOT / "docs/how-to/deploy.md").read_text("utf-8"))[step].script
    assert subprocess.run(["bash", "-n", "-c", script], capture_output=True).returncode == 0
