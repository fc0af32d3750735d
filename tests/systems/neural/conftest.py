"""A small collection with an index, and tiny models of each kind; all is skipped, with the reason, where torch is not
installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import pytest

import porism
from porism.search.engine import Engine
from porism.text.segment import plain_text

from .tiny import MAKERS

WITHOUT_TORCH = {"test_named_models.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of models where the extra `torch` is not installed."""
    if importlib.util.find_spec("sentence_transformers") and importlib.util.find_spec("torch"):
        return
    reason = pytest.mark.skip(reason="torch is not installed: pip install 'porism[torch]'")
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents and item.fspath.basename not in WITHOUT_TORCH:
            item.add_marker(reason)


@pytest.fixture(scope="session")
def engine(demo: Path) -> Engine:
    return porism.open(demo / "index")


@pytest.fixture(scope="session")
def models(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Directories of tiny models by kind, whose tokenizers know the words of the sample."""
    place = tmp_path_factory.mktemp("tiny")
    texts = [plain_text(post.body) for post in engine.content.posts()]
    return {kind: str(make(place / kind, texts)) for kind, make in MAKERS.items()}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of encodings, shared by all tests, as systems share it beside an index."""
    return tmp_path_factory.mktemp("encodings")
