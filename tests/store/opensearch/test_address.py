"""Addresses of collections in a cluster, and who may talk to it: what is wrong is said with its remedy, and never with
a password."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.store import open_store
from porism.store.opensearch.address import ClusterAddress, Credentials, Host, check_transport, tls_context

USER, PASSWORD, FILE = (f"PORISM_OPENSEARCH_{name}" for name in ("USER", "PASSWORD", "PASSWORD_FILE"))


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (USER, PASSWORD, FILE, "PORISM_OPENSEARCH_CA", "PORISM_OPENSEARCH_PLAIN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "hosts", "tls"),
    [
        ("opensearch://h/math", [("h", 9200)], False),
        ("opensearch://a:1,b.example:65535/math", [("a", 1), ("b.example", 65535)], False),
        ("opensearchs://[2001:db8::1]:9300,10.0.0.1/math", [("2001:db8::1", 9300), ("10.0.0.1", 9200)], True),
    ],
)
def test_an_address_is_read_and_printed(text: str, hosts: list[tuple[str, int]], tls: bool) -> None:
    found = ClusterAddress.parse(text)
    assert (found.hosts, found.name, found.tls) == (tuple(Host(*host) for host in hosts), "math", tls)
    assert ClusterAddress.parse(str(found)) == found


@pytest.mark.parametrize(
    ("text", "fact", "fix"),
    [
        ("http://h/math", "not the address of an OpenSearch cluster", "write opensearch://host1"),
        ("opensearch://h", "the name of the collection is missing", "write opensearch://host1"),
        ("opensearch://h/", "the name of the collection is missing", "write opensearch://host1"),
        ("opensearch://h/Math", "'Math' is not the name of a collection", "a to z, 0 to 9, - and _"),
        ("opensearch://h/a/b", "'a/b' is not the name of a collection", "a to z"),
        ("opensearch://h/a*", "'a*' is not the name of a collection", "a to z"),
        (f"opensearch://h/{'a' * 101}", "is not the name of a collection", "at most 100 characters"),
        ("opensearch://h/math-posts", "could be mistaken for a part of the collection 'math'", "does not end in"),
        ("opensearch:///math", "'' is not a host", "IPv6 as [::1]:9200"),
        ("opensearch://a,,b/math", "'' is not a host", "IPv6 as"),
        ("opensearch://::1/math", "'::1' is not a host", "IPv6 as"),
        ("opensearch://h:0/math", "0 is not a port", "from 1 to 65535"),
        ("opensearch://h:65536/math", "65536 is not a port", "from 1 to 65535"),
    ],
)
def test_a_wrong_address_is_explained(text: str, fact: str, fix: str) -> None:
    with pytest.raises(PorismError) as error:
        ClusterAddress.parse(text)
    assert fact in error.value.message
    assert fix in error.value.fix
    assert error.value.where


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(PorismError, match="user and password may not be part of an address") as error:
        open_store("opensearchs://porism:secret@h:9200/math")
    assert "secret" not in str(error.value)
    assert FILE in error.value.fix


def test_a_network_needs_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    for local in ("opensearch://localhost,127.0.0.9,[::1]/a", "opensearchs://h/a"):
        check_transport(ClusterAddress.parse(local))
    address = ClusterAddress.parse("opensearch://localhost,h:1/a")
    with pytest.raises(PorismError, match="sends everything unencrypted to h:1") as error:
        check_transport(address)
    assert error.value.fix.startswith("write opensearchs://, or set PORISM_OPENSEARCH_PLAIN=1")
    monkeypatch.setenv("PORISM_OPENSEARCH_PLAIN", "1")
    check_transport(address)


def test_credentials_show_the_user_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Credentials.from_environment() is None
    monkeypatch.setenv(USER, "porism")
    monkeypatch.setenv(PASSWORD, "secret")
    found = Credentials.from_environment()
    assert found is not None
    assert found.password == "secret"
    assert "secret" not in f"{found} {found!r}"


def test_a_password_is_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, "secret")
    with pytest.raises(PorismError, match="a password is set without a user"):
        Credentials.from_environment()
    monkeypatch.setenv(USER, "porism")
    monkeypatch.setenv(FILE, "/nosuch")
    with pytest.raises(PorismError, match="both a password and a file of it are set"):
        Credentials.from_environment()
    monkeypatch.delenv(FILE)
    monkeypatch.delenv(PASSWORD)
    with pytest.raises(PorismError, match="the user porism has no password") as error:
        Credentials.from_environment()
    assert error.value.fix == f"set one of {PASSWORD} and {FILE}"


def test_a_password_file_is_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    monkeypatch.setenv(USER, "porism")
    monkeypatch.setenv(FILE, str(file))
    with pytest.raises(PorismError, match="cannot be read: No such file"):
        Credentials.from_environment()
    file.write_bytes("pässword: 1 \r\nmore".encode())
    for mode in (0o640, 0o604):
        file.chmod(mode)
        with pytest.raises(PorismError, match="can be read by other accounts of this machine") as error:
            Credentials.from_environment()
        assert error.value.fix == f"chmod 600 {file}"
    file.chmod(0o600)
    found = Credentials.from_environment()
    assert found is not None
    assert found.password == "pässword: 1 "
    file.write_bytes(b"\n")
    with pytest.raises(PorismError, match="has no password in its first line"):
        Credentials.from_environment()
    file.write_bytes(b"\xff\n")
    with pytest.raises(PorismError, match="not UTF-8 text"):
        Credentials.from_environment()


def test_a_file_of_certificates_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ca.pem"
    monkeypatch.setenv("PORISM_OPENSEARCH_CA", str(file))
    with pytest.raises(PorismError, match="cannot be read: No such file") as error:
        tls_context()
    assert error.value.where == str(file)
    file.write_text("no certificate")
    with pytest.raises(PorismError, match="not a file of certificates") as error:
        tls_context()
    assert error.value.fix.startswith("name in PORISM_OPENSEARCH_CA the PEM file")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("porism.store.opensearch.PACKAGES", ("nosuchpackage",))
    with pytest.raises(PorismError, match="the Python package nosuchpackage is not installed") as error:
        open_store("opensearch://localhost/math")
    assert error.value.fix == "install the extra: pip install 'porism[cluster]'"
