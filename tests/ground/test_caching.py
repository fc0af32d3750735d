"""Caches of texts are bounded in bytes, by the texts and by their results."""

from __future__ import annotations

import pytest

from porism.caching import ENTRY_BYTES, cached_text


class Counted:
    """A function of a text that counts its calls, and returns the text `times` times."""

    def __init__(self, size: int, times: int = 1) -> None:
        self.calls: list[str] = []

        @cached_text(size)
        def repeated(text: str) -> str:
            self.calls.append(text)
            return text * times

        self.repeated = repeated


def test_a_text_is_computed_once() -> None:
    counted = Counted(10_000, times=2)
    assert [counted.repeated("ab") for _ in range(3)] == ["abab"] * 3
    assert counted.calls == ["ab"]


@pytest.mark.parametrize("times", [0, 1, 50])
def test_long_texts_leave_room_for_few(times: int) -> None:
    """Long LaTeX may have no MathML at all, if it defines macros only: the text itself counts, too."""
    texts = [str(number) * 1_000 for number in range(10)]
    entry = 1_000 * (1 + times) + ENTRY_BYTES + 100  # and the headers of two strings
    counted = Counted(6 * entry, times)  # two generations of three
    for text in [*texts, *texts[-3:], texts[0]]:
        counted.repeated(text)
    assert counted.calls == [*texts, texts[0]]


def test_what_was_used_last_is_kept() -> None:
    counted = Counted(2 * (ENTRY_BYTES + 110))
    for text in ("a", "b", "a", "c", "a"):
        counted.repeated(text)
    assert counted.calls == ["a", "b", "c"]


def test_a_result_that_is_larger_than_the_cache_is_not_kept() -> None:
    counted = Counted(1_000, times=1_000)
    assert counted.repeated("x") == counted.repeated("x") == "x" * 1_000
    assert counted.calls == ["x", "x"]


def test_an_error_is_not_kept() -> None:
    results = iter(["", "right"])

    @cached_text(10_000)
    def once_wrong(text: str) -> str:
        if not (result := next(results)):
            raise ValueError(text)
        return result

    with pytest.raises(ValueError, match="x"):
        once_wrong("x")
    assert once_wrong("x") == "right"
