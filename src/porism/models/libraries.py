"""Import the libraries of the extras `neural` and `torch` when they are needed, offline and quiet. No other module
imports them by name."""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from typing import Any

from porism.errors import PorismError

INSTALL = "install the extra: pip install 'porism[{}]'"
# The extra `neural`, which is enough to search; all others are in `torch`.
LIGHT = ("onnxruntime", "tokenizers", "usearch")
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",  # tokenizers must not start threads before a server forks
}


def is_installed(name: str) -> bool:
    """Return whether a library can be imported, without importing it."""
    return importlib.util.find_spec(name) is not None


def library(name: str) -> Any:
    """Return an imported library, such as torch, transformers or usearch.index."""
    os.environ.update(OFFLINE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        shown, fix = package.replace("_", "-"), INSTALL.format("neural" if package in LIGHT else "torch")
        if not is_installed(package):
            raise PorismError(f"the Python package {shown} is not installed", fix=fix) from None
        raise PorismError(f"the Python package {shown} cannot be imported: {error}", fix=fix) from error
    if name in ("sentence_transformers", "transformers"):  # without bars and notices: Porism reports progress itself
        messages = importlib.import_module("transformers.utils.logging")
        messages.disable_progress_bar()
        messages.set_verbosity_error()
    return module
