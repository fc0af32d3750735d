"""What the product is made of: a bill of materials (CycloneDX), an audit of its packages for published vulnerabilities,
and their hashes.

Bill and audit look at an environment with the product alone, as a user installs it, without what the tests need. Their
tools are in an environment of their own (attack/tools.txt).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SERVICES = ("pypi", "osv")  # where pip-audit finds vulnerabilities
HASHES_MADE_BY = "# Written by `make hashes`; pip refuses a file with another hash."
UNKNOWN = 2  # exit code: nothing is proven


class Audit(NamedTuple):
    """The result of an audit: packages that were looked up, those that could not be, and `package id fix` of each
    vulnerability."""

    checked: int
    unchecked: int
    vulnerabilities: list[str]


def environment(folder: Path, *requirements: str) -> Path:
    """Create an environment with these packages; return its folder of programs."""
    venv.create(folder, with_pip=True)
    install = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *requirements]
    subprocess.run(install, cwd=ROOT, check=True, env=os.environ | {"PORISM_PURE": "1"}, stderr=subprocess.DEVNULL)
    return folder / "bin"


def product(folder: Path) -> Path:
    """Install the product alone, with the pinned versions."""
    return environment(folder / "product", "-c", "constraints.txt", str(ROOT))


def tools(folder: Path) -> Path:
    """Install the tools."""
    return environment(folder / "tools", "-r", "attack/tools.txt")


def write_bill(target: Path) -> int:
    """Write the bill of materials, valid CycloneDX 1.6, and check that it is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="porism-bill-") as name:
        folder = Path(name)
        python = product(folder) / "python"
        command = [tools(folder) / "cyclonedx-py", "environment", "--pyproject", ROOT / "pyproject.toml"]
        options = ["--output-reproducible", "--validate", "--of", "JSON", "-o", target, python]
        subprocess.run([*map(str, command), *map(str, options)], check=True)
    bill = json.loads(target.read_text("utf-8"))
    if missing := missing_packages(bill, dependencies((ROOT / "pyproject.toml").read_text("utf-8"))):
        print(f"{target}: without {', '.join(missing)}", file=sys.stderr)
        return 1
    print(f"{target}: CycloneDX {bill['specVersion']}, {len(bill['components'])} components")
    return 0


def write_hashes(folder: Path) -> int:
    """Write the packages of the image, and those that build it, in the pinned versions and with the hashes of their
    files.

    The files are those that pip chooses on this machine: make the lists on a machine of the kind that builds the image.
    """
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = {
        "requirements": project["project"]["dependencies"],
        "build": project["build-system"]["requires"],
        "cluster/requirements": project["project"]["optional-dependencies"]["cluster"],
    }
    with tempfile.TemporaryDirectory(prefix="porism-hashes-") as name:
        pip = str(environment(Path(name) / "empty", "pip") / "pip")
        for target, requirements in needed.items():
            options = ["--dry-run", "--ignore-installed", "--only-binary=:all:", "--report", f"{name}/report.json"]
            command = [pip, "install", "--quiet", "--disable-pip-version-check", *options, "-c", "constraints.txt"]
            subprocess.run([*command, *requirements], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            lines = hashed(json.loads(Path(name, "report.json").read_text("utf-8")))
            (folder / f"{target}.txt").write_text("\n".join([HASHES_MADE_BY, *lines, ""]), "utf-8")
            print(f"{folder.name}/{target}.txt: {len(lines)} packages")
    return 0


def hashed(report: Mapping[str, Any]) -> list[str]:
    """Return the packages of a report of pip as requirements with hashes."""
    return sorted(
        f"{_plain(one['metadata']['name'])}=={one['metadata']['version']} "
        f"--hash=sha256:{one['download_info']['archive_info']['hashes']['sha256']}"
        for one in report["install"]
    )


def dependencies(pyproject: str) -> list[str]:
    """Return the names of the packages that the product needs itself."""
    import tomllib

    return [re.split(r"[<>=!~ \[]", line)[0] for line in tomllib.loads(pyproject)["project"]["dependencies"]]


def missing_packages(bill: Mapping[str, Any], needed: Iterable[str]) -> list[str]:
    """Return the packages that a bill of materials lacks."""
    there = {_plain(component["name"]) for component in bill.get("components", ())}
    return [name for name in needed if _plain(name) not in there]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def audit() -> int:
    """Look up every package of the product; say clearly what could not be looked up."""
    with tempfile.TemporaryDirectory(prefix="porism-audit-") as name:
        folder = Path(name)
        frozen = subprocess.run(
            [product(folder) / "pip", "freeze", "--exclude", "porism"], capture_output=True, text=True, check=True
        ).stdout
        listed = folder / "packages.txt"
        listed.write_text("".join(line + "\n" for line in frozen.splitlines() if "==" in line))
        program = tools(folder) / "pip-audit"
        for service in SERVICES:
            command = [
                program,
                "-s",
                service,
                "-f",
                "json",
                "--no-deps",
                "--disable-pip",
                "--progress-spinner",
                "off",
                "-r",
                listed,
            ]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            found = read_audit(run.stdout)
            if found.checked:
                return report(found, service)
            skipped = f"all {found.unchecked} packages were skipped" if found.unchecked else ""
            reason = skipped or (run.stderr.strip().splitlines() or ["no answer"])[-1]
            print(f"{service}: vulnerability data cannot be reached ({reason[:160]})", file=sys.stderr)
    print("NOT AUDITED: no vulnerability data can be reached from here. This says nothing about the packages.")
    return UNKNOWN


def read_audit(output: str) -> Audit:
    """Read the JSON of pip-audit. A package that it skips was not looked up, whatever its exit code says."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        return Audit(0, 0, [])
    skipped = [package for package in packages if "skip_reason" in package]
    found = [
        f"{package['name']} {package['version']} {one['id']} fixed in {', '.join(one.get('fix_versions', ())) or 'no version yet'}"
        for package in packages
        for one in package.get("vulns", ())
    ]
    return Audit(len(packages) - len(skipped), len(skipped), found)


def report(found: Audit, service: str) -> int:
    """Print the result, and return the exit code."""
    for line in found.vulnerabilities:
        print(line)
    print(
        f"{found.checked} packages looked up at {service}, {found.unchecked} not, {len(found.vulnerabilities)} vulnerabilities"
    )
    return 1 if found.vulnerabilities else UNKNOWN if found.unchecked else 0


def main() -> int:
    """Run `bill`, `audit` or `hashes`."""
    parser = argparse.ArgumentParser(prog="python -m attack.packages", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("bill", "audit", "hashes"))
    parser.add_argument("-o", "--output", type=Path, default=Path("build/porism.cdx.json"), help="the file of the bill")
    options = parser.parse_args()
    if options.action == "hashes":
        return write_hashes(ROOT / "deploy")
    return write_bill(options.output) if options.action == "bill" else audit()


if __name__ == "__main__":
    sys.exit(main())
