"""Lone surrogates, which JSON can bring, are no error of the HTML cleaner."""

from __future__ import annotations

from porism.corpus.build.fields import make_field
from porism.text.read import clean


def test_lone_surrogates_are_replaced() -> None:
    assert clean("<p>a\ud800b</p>") == "<p>a?b</p>"
    assert make_field("<p>$x\udfff$ \ud800</p>", "html", compat=False).text.plain()
