"""Libraries of the extras `neural` and `torch`: a missing one is reported with the command that installs it; nothing is
downloaded."""

from __future__ import annotations

import os

import pytest

from porism.errors import PorismError
from porism.models.libraries import library


def test_missing_library_names_the_command() -> None:
    with pytest.raises(PorismError) as caught:
        library("no_such_library")
    assert caught.value.message == "the Python package no-such-library is not installed"
    assert caught.value.fix == "install the extra: pip install 'porism[torch]'"


def test_libraries_are_offline() -> None:
    library("json")
    assert os.environ["HF_HUB_OFFLINE"] == os.environ["TRANSFORMERS_OFFLINE"] == "1"
