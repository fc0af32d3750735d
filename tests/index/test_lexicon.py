"""Words by code: sorted on disk, found without loading."""

from __future__ import annotations

from pathlib import Path

import pytest

from porism.index.storage import lexicon
from porism.index.storage.lexicon import Lexicon, LexiconWriter


def test_every_word_is_found_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "_FRESH", 5)
    words = {number * 2654435761 % 2**32: f"wörd{number}" for number in range(500)}
    with LexiconWriter(tmp_path / "words.tsv") as writer:
        for _ in range(2):
            writer.add(words.items())
    assert [path.name for path in tmp_path.iterdir()] == ["words.tsv"]
    codes = [int(line.split("\t")[0]) for line in (tmp_path / "words.tsv").read_text("utf-8").splitlines()]
    assert codes == sorted(words)
    held = Lexicon(tmp_path / "words.tsv")
    assert all(held.word(code) == word for code, word in words.items())
    assert all(held.word(code + 1) == "" for code in words if code + 1 not in words)


def test_the_first_of_two_words_with_one_code_stays(tmp_path: Path) -> None:
    with LexiconWriter(tmp_path / "words.tsv") as writer:
        writer.add([(7, "first"), (7, "second")])
    assert Lexicon(tmp_path / "words.tsv").word(7) == "first"


def test_no_words(tmp_path: Path) -> None:
    with LexiconWriter(tmp_path / "words.tsv"):
        pass
    assert Lexicon(tmp_path / "words.tsv").word(7) == ""
