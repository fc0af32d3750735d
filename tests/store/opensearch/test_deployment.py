"""The files of deploy/cluster: parsed, and compared with the product and with each other."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from porism.cli import make_parser
from porism.store.opensearch.address import WITHOUT_TLS, ClusterAddress
from porism.store.opensearch.connection import OLDEST
from porism.store.opensearch.generation import FOLDER

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy" / "cluster"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return found


def test_there_are_three_nodes_two_servers_and_a_proxy(services: dict[str, Any]) -> None:
    assert set(services) == {"node-1", "node-2", "node-3", "porism-1", "porism-2", "load", "proxy"}
    for name in ("node-1", "node-2", "node-3"):
        settings = services[name]["environment"]
        assert settings["node.name"] == name
        assert settings["discovery.seed_hosts"].split(",") == ["node-1", "node-2", "node-3"]
        version = re.search(r"opensearch:(\d+)\.(\d+)", services[name]["image"])
        assert version
        assert (int(version[1]), int(version[2])) >= OLDEST


@pytest.mark.parametrize("name", ["porism-1", "porism-2", "load"])
def test_commands_exist_and_name_the_nodes(services: dict[str, Any], name: str) -> None:
    service = services[name]
    make_parser().parse_args(service["command"])
    address = next(word for word in service["command"] if "://" in word)
    assert [host.name for host in ClusterAddress.parse(address).hosts] == ["node-1", "node-2", "node-3"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["environment"] == {WITHOUT_TLS: "1", FOLDER: "/cache"}
    assert any(volume.endswith(":/cache") for volume in service["volumes"])


def test_nobody_outside_reaches_the_nodes(services: dict[str, Any]) -> None:
    networks = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["networks"]
    assert networks["inside"] == {"internal": True}
    for name, service in services.items():
        if name.startswith("node"):
            assert service["networks"] == ["inside"]
        assert "ports" not in service or name == "proxy"
    assert services["proxy"]["networks"] == ["outside"]
    assert all(port.startswith("127.0.0.1:") for port in services["proxy"]["ports"])


def test_the_proxy_knows_both_servers(services: dict[str, Any]) -> None:
    text = (DEPLOY / "Caddyfile").read_text()
    command = services["porism-1"]["command"]
    port = command[command.index("--port") + 1]
    assert f"reverse_proxy porism-1:{port} porism-2:{port} {{" in text
    assert "health_uri /ready" in text


@pytest.mark.parametrize("name", ["role", "reader"])
def test_roles_are_for_one_collection(name: str) -> None:
    role = json.loads((DEPLOY / f"{name}.json").read_text())
    assert [one["index_patterns"] for one in role["index_permissions"]] == [["math-*"]]
    assert "*" not in role["cluster_permissions"]


def test_the_packages_of_the_image_are_the_pinned_ones() -> None:
    pinned = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, version in (line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    }
    lines = (DEPLOY / "requirements.txt").read_text().splitlines()[1:]
    found = [re.fullmatch(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}", line) for line in lines]
    listed = {one[1]: one[2] for one in found if one}
    assert len(listed) == len(lines)
    assert {name: pinned.get(name) for name in listed} == listed, "run `make hashes`"
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["cluster"]
    assert {name.partition("==")[0] for name in extra} <= set(listed)
