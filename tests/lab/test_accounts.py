from __future__ import annotations

from pathlib import Path

import pytest

from porism.errors import PorismError
from porism.lab.judging import accounts
from porism.lab.judging.accounts import add_account, hash_password, is_password, log_in, log_out, session_of
from porism.lab.judging.journal import Journal


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(tmp_path: Path, clock: Clock, cheap_passwords: None) -> Journal:
    journal = Journal.create(tmp_path / "j", clock)
    add_account(journal, "ann", "assessor", "long enough")
    return journal


def test_passwords_are_hashed_with_salt_at_a_real_cost() -> None:
    first, second = hash_password("long enough"), hash_password("long enough")
    assert first != second
    assert first.startswith("scrypt$16384$8$5$")
    assert is_password("long enough", first)
    assert not is_password("long enougH", first)


def test_logging_in_and_out(book: Journal) -> None:
    assert log_in(book, "ann", "wrong password") is None
    assert log_in(book, "nobody", "long enough") is None
    token = log_in(book, "ann", "long enough")
    assert token is not None
    session = session_of(book, token)
    assert session is not None
    assert (session.account, session.role) == ("ann", "assessor")
    assert len(session.csrf) > 30
    log_out(book, token)
    assert session_of(book, token) is None


def test_the_journal_holds_no_token_and_no_password(book: Journal) -> None:
    token = log_in(book, "ann", "long enough")
    assert token is not None
    dump = "\n".join(str(tuple(row)) for table in ("session", "account") for row in book.read(f"SELECT * FROM {table}"))
    assert token not in dump
    assert "long enough" not in dump


def test_a_session_ends_when_idle_and_lives_while_used(book: Journal, clock: Clock) -> None:
    token = log_in(book, "ann", "long enough")
    assert token is not None
    for _ in range(3):
        clock.now += accounts.SESSION_SECONDS - 1
        assert session_of(book, token) is not None
    clock.now += accounts.SESSION_SECONDS + 1
    assert session_of(book, token) is None


def test_guessing_is_slowed_down(book: Journal, clock: Clock) -> None:
    for _ in range(accounts.TRIES):
        assert log_in(book, "ann", "wrong password", "10.0.0.1") is None
    with pytest.raises(PorismError) as error:
        log_in(book, "ann", "long enough", "10.0.0.1")
    assert str(error.value) == "too many wrong passwords\n  fix: wait 15 minutes and try again"
    clock.now += accounts.WINDOW + 1
    assert log_in(book, "ann", "long enough", "10.0.0.1") is not None


def test_one_address_cannot_try_all_names(book: Journal) -> None:
    for number in range(accounts.ADDRESS_TRIES):
        log_in(book, f"name{number}", "wrong password", "10.0.0.9")
    with pytest.raises(PorismError, match="too many wrong passwords"):
        log_in(book, "fresh", "wrong password", "10.0.0.9")
    assert log_in(book, "ann", "long enough", "10.0.0.1") is not None


def test_a_new_password_ends_old_sessions(book: Journal) -> None:
    token = log_in(book, "ann", "long enough")
    assert token is not None
    add_account(book, "ann", "assessor", "another long one")
    assert session_of(book, token) is None
    assert log_in(book, "ann", "long enough") is None


@pytest.mark.parametrize(
    ("name", "role", "password", "said"),
    [
        (
            "a b",
            "assessor",
            "long enough",
            "'a b' cannot be a name\n  fix: use up to 40 letters, digits, dots and underscores",
        ),
        (
            "",
            "assessor",
            "long enough",
            "'' cannot be a name\n  fix: use up to 40 letters, digits, dots and underscores",
        ),
        ("ann", "king", "long enough", "there is no role 'king'\n  fix: choose one of: assessor, organiser, team"),
        ("ann", "assessor", "short", "the password is too short\n  fix: use at least 10 characters"),
    ],
)
def test_what_an_account_may_be(book: Journal, name: str, role: str, password: str, said: str) -> None:
    with pytest.raises(PorismError) as error:
        add_account(book, name, role, password)
    assert str(error.value) == said


def test_a_form_left_open_can_be_sent_after_logging_in_again(book: Journal, clock: Clock) -> None:
    tokens = [log_in(book, "ann", "long enough") for _ in range(2)]
    first, second = (session_of(book, token or "") for token in tokens)
    assert first is not None
    assert second is not None
    assert first.csrf == second.csrf
    add_account(book, "ann", "assessor", "another long one")
    third = session_of(book, log_in(book, "ann", "another long one") or "")
    assert third is not None
    assert third.csrf != first.csrf
    add_account(book, "bob", "assessor", "another long one")
    other = session_of(book, log_in(book, "bob", "another long one") or "")
    assert other is not None
    assert other.csrf != third.csrf
