from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from porism.accounts import SESSION_SECONDS, SIMULTANEOUS_CHECKS, WAITING_CHECKS
from porism.errors import PorismError
from porism.lab.judging.journal import Journal
from porism.lab.judging.people import (
    MAX_ADDRESS_FAILURES,
    MAX_FAILURES,
    MAX_NAME_DELAY,
    MAX_NAME_FAILURES,
    add_account,
    log_in,
    log_out,
    session_of,
)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, clock: Clock, cheap_passwords: None) -> Journal:
    created = Journal.create(tmp_path / "j", clock)
    add_account(created, "ann", "assessor", "long enough")
    return created


def test_log_in_and_log_out(journal: Journal) -> None:
    assert log_in(journal, "ann", "wrong password") is None
    assert log_in(journal, "nobody", "long enough") is None
    token = log_in(journal, "ann", "long enough")
    assert token is not None
    session = session_of(journal, token)
    assert session is not None
    assert (session.account, session.role) == ("ann", "assessor")
    assert len(session.csrf) > 30
    log_out(journal, token)
    assert session_of(journal, token) is None


def test_the_journal_stores_neither_tokens_nor_passwords(journal: Journal) -> None:
    token = log_in(journal, "ann", "long enough")
    assert token is not None
    dump = "\n".join(
        str(tuple(row)) for table in ("session", "account") for row in journal.read(f"SELECT * FROM {table}")
    )
    assert token not in dump
    assert "long enough" not in dump


def test_a_session_ends_when_idle_but_not_while_used(journal: Journal, clock: Clock) -> None:
    token = log_in(journal, "ann", "long enough")
    assert token is not None
    for _ in range(3):
        clock.now += SESSION_SECONDS - 1
        assert session_of(journal, token) is not None
    clock.now += SESSION_SECONDS + 1
    assert session_of(journal, token) is None


def test_the_delay_after_wrong_passwords_grows(journal: Journal, clock: Clock) -> None:
    for _ in range(MAX_FAILURES):
        assert log_in(journal, "ann", "wrong password", "10.0.0.1") is None
    for seconds in (2, 4, 8):
        with pytest.raises(PorismError) as error:
            log_in(journal, "ann", "long enough", "10.0.0.1")
        assert str(error.value) == f"too many wrong passwords\n  fix: wait {seconds} seconds and try again"
        clock.now += seconds
        assert log_in(journal, "ann", "wrong password", "10.0.0.1") is None
    clock.now += 16
    assert log_in(journal, "ann", "long enough", "10.0.0.1") is not None
    assert log_in(journal, "ann", "wrong password", "10.0.0.1") is None  # a login clears the earlier attempts


def test_guesses_from_elsewhere_do_not_lock_out_a_person(journal: Journal, clock: Clock) -> None:
    for number in range(MAX_NAME_FAILURES + 3):
        clock.now += MAX_NAME_DELAY
        assert log_in(journal, "ann", "wrong password", f"10.0.1.{number}") is None
    with pytest.raises(PorismError, match="wait 16 seconds"):
        log_in(journal, "ann", "long enough", "10.0.0.1")
    clock.now += MAX_NAME_DELAY
    assert log_in(journal, "ann", "long enough", "10.0.0.1") is not None


def test_failed_logins_are_rate_limited_by_address(journal: Journal) -> None:
    for number in range(MAX_ADDRESS_FAILURES):
        log_in(journal, f"name{number}", "wrong password", "10.0.0.9")
    with pytest.raises(PorismError, match="too many wrong passwords"):
        log_in(journal, "fresh", "wrong password", "10.0.0.9")
    assert log_in(journal, "ann", "long enough", "10.0.0.1") is not None


def test_simultaneous_guesses_are_counted(journal: Journal, clock: Clock) -> None:
    def guess(number: int) -> str:
        try:
            return "checked" if log_in(journal, "ann", f"wrong password {number}", "10.0.0.1") is None else "in"
        except PorismError as error:
            return error.message

    with ThreadPoolExecutor(SIMULTANEOUS_CHECKS + WAITING_CHECKS) as pool:
        answers = Counter(pool.map(guess, range(45)))
    assert answers == {"checked": MAX_FAILURES, "too many wrong passwords": 45 - MAX_FAILURES}


def test_a_flood_of_guesses_is_refused_at_once_and_not_counted(journal: Journal) -> None:
    """Else a flood would keep all threads of the server waiting, and everyone who writes to the journal."""

    def guess(number: int) -> str:
        try:
            return "checked" if log_in(journal, f"eve{number}", "wrong password", "10.0.0.1") is None else "in"
        except PorismError as error:
            return error.message

    with ThreadPoolExecutor(45) as pool:
        answers = Counter(pool.map(guess, range(45)))
    counted = journal.read("SELECT count(*) AS number FROM login_failure")[0]["number"]
    assert answers["checked"] == counted
    assert answers["too many people log in at the same time"] == 45 - counted > 0


def test_a_clock_that_is_set_back_locks_nobody_out(journal: Journal, clock: Clock) -> None:
    for _ in range(MAX_FAILURES):
        log_in(journal, "ann", "wrong password", "10.0.0.1")
    clock.now -= 500
    token = log_in(journal, "ann", "long enough", "10.0.0.1")
    assert token is not None
    assert session_of(journal, token) is not None


def test_a_new_password_ends_old_sessions(journal: Journal) -> None:
    token = log_in(journal, "ann", "long enough")
    assert token is not None
    add_account(journal, "ann", "assessor", "another long one")
    assert session_of(journal, token) is None
    assert log_in(journal, "ann", "long enough") is None


@pytest.mark.parametrize(
    ("name", "role", "password", "message"),
    [
        (
            "a b",
            "assessor",
            "long enough",
            "'a b' is not a valid name\n  fix: use up to 40 letters, digits, dots and underscores",
        ),
        (
            "",
            "assessor",
            "long enough",
            "'' is not a valid name\n  fix: use up to 40 letters, digits, dots and underscores",
        ),
        ("ann", "king", "long enough", "there is no role 'king'\n  fix: choose one of: assessor, organiser, team"),
        ("ann", "assessor", "short", "the password is too short\n  fix: use at least 10 characters"),
    ],
)
def test_invalid_accounts_are_refused(journal: Journal, name: str, role: str, password: str, message: str) -> None:
    with pytest.raises(PorismError) as error:
        add_account(journal, name, role, password)
    assert str(error.value) == message


def test_a_form_left_open_can_be_sent_after_a_new_login(journal: Journal, clock: Clock) -> None:
    tokens = [log_in(journal, "ann", "long enough") for _ in range(2)]
    first, second = (session_of(journal, token or "") for token in tokens)
    assert first is not None
    assert second is not None
    assert first.csrf == second.csrf
    add_account(journal, "ann", "assessor", "another long one")
    third = session_of(journal, log_in(journal, "ann", "another long one") or "")
    assert third is not None
    assert third.csrf != first.csrf
    add_account(journal, "bob", "assessor", "another long one")
    other = session_of(journal, log_in(journal, "bob", "another long one") or "")
    assert other is not None
    assert other.csrf != third.csrf


def test_a_clock_that_is_set_back_ends_sessions_by_its_new_time(journal: Journal, clock: Clock) -> None:
    clock.now = 1_000_000.0
    token = log_in(journal, "ann", "long enough") or ""
    for _ in range(MAX_FAILURES):
        log_in(journal, "ann", "wrong password", "b")
    clock.now = 500_000.0
    assert session_of(journal, token)
    assert log_in(journal, "ann", "long enough", "b")
    clock.now += SESSION_SECONDS - 1
    assert session_of(journal, token)
    clock.now += SESSION_SECONDS + 1
    assert session_of(journal, token) is None  # the session ends by the new clock
