"""Conformance of a store: does an implementation of `Store` do what the protocols promise?

    from porism.store.conformance import check_store
    check_store(lambda: MyStore(...))

The function makes stores without posts. The suite fills them through their writers and compares what it reads. Each
check raises AssertionError with the fact that is wrong. With pytest, one case for each check:

    SUBJECT = Subject(lambda: MyStore(...))
    @pytest.mark.parametrize("check", CHECKS)
    def test_my_store(check): check(SUBJECT)
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction, signature
from types import ModuleType

from porism.store.conformance import contents, searching, writing
from porism.store.conformance.subject import Make, Subject

__all__ = ["CHECKS", "Make", "Subject", "check_store", "checks_of"]


def checks_of(*modules: ModuleType) -> tuple[Callable[[Subject], None], ...]:
    """Return the checks of modules: their functions that take a subject alone, in the order of the files."""
    return tuple(
        check
        for module in modules
        for name, check in vars(module).items()
        if isfunction(check) and check.__module__ == module.__name__ and not name.startswith("_")
        if list(signature(check).parameters) == ["subject"]
    )


CHECKS = checks_of(searching, contents, writing)


def check_store(make: Make) -> None:
    """Run every check on stores that `make` returns, each a new one without posts."""
    subject = Subject(make)
    for check in CHECKS:
        check(subject)
