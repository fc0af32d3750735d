"""Addresses of a Dask scheduler, without one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from porism.errors import PorismError
from porism.parallel.dask import PLAIN, check_address


@pytest.mark.parametrize(
    "address", ["tls://scheduler:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:1"]
)
def test_addresses_that_are_safe(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLAIN, raising=False)
    assert check_address(address) == address


@pytest.mark.parametrize("host", ["scheduler", "192.0.2.7", "0.0.0.0", "[2001:db8::1]", "localhost.example.org"])
def test_plain_tcp_to_another_machine_is_refused_unless_it_is_allowed(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PLAIN, raising=False)
    with pytest.raises(PorismError) as error:
        check_address(f"tcp://{host}:8786")
    assert str(error.value) == (
        f"tcp://{host}:8786: neither encrypted nor on this machine, and a scheduler runs anyone's code\n"
        f"  fix: use TLS (tls://{host}:8786), or set PORISM_DASK_PLAIN=1 in a network where you trust every machine"
    )
    monkeypatch.setenv(PLAIN, "1")
    assert check_address(f"tcp://{host}:8786") == f"tcp://{host}:8786"


@pytest.mark.parametrize("address", ["ssh://scheduler:22", "tls://scheduler", "tls://:8786", "tls://scheduler:port"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(PorismError, match="not an address of a Dask scheduler") as error:
        check_address(address)
    assert error.value.fix == "give a number of processes, or an address such as tls://scheduler:8786"


def test_a_missing_extra_is_named() -> None:
    code = "import sys; sys.modules['distributed'] = None\nfrom porism.parallel import workers\nwith workers('tcp://127.0.0.1:1'): pass"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "the Python package distributed is not installed" in done.stderr
    assert "fix: install the extra: pip install 'porism[cluster]'" in done.stderr
