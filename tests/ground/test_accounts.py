"""Passwords, limits of guesses, sessions, and the files that keep users and tokens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from porism import accounts
from porism.accounts import (
    SESSION_SECONDS,
    LoginAttempts,
    TokenFile,
    UserFile,
    hash_password,
    new_session,
    password_matches,
    session_user,
)
from porism.errors import PorismError

PASSWORD = "correct horse"


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts, "COST", (16, 8, 1))


def test_passwords_are_hashed_with_a_salt_and_at_full_cost() -> None:
    first, second = hash_password("long enough"), hash_password("long enough")
    assert first != second
    assert first.startswith("scrypt$16384$8$5$")
    assert password_matches("long enough", first)
    assert not password_matches("long enougH", first)
    assert not password_matches("long enough", None)


def test_guesses_are_delayed() -> None:
    now = 0.0
    attempts = LoginAttempts(lambda: now)
    for _ in range(5):
        attempts.record("ada")
    with pytest.raises(PorismError, match="too many wrong passwords"):
        attempts.record("ada")
    attempts.record("bob")
    now = 31.0
    attempts.record("ada")
    attempts.forget("ada")
    attempts.record("ada")


def test_guesses_without_end_are_delayed_no_longer() -> None:
    now = 0.0
    attempts = LoginAttempts(lambda: now)
    for _ in range(1100):
        attempts.record("ada")
        now += 31.0


def test_the_user_file_is_for_its_owner_only(cheap: None, tmp_path: Path) -> None:
    users = tmp_path / "users"
    UserFile(users).add("ada", PASSWORD)
    assert users.stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in users.read_text()
    os.chmod(users, 0o644)
    with pytest.raises(PorismError, match="can be read by other accounts"):
        UserFile(users).current()


def test_logging_out_ends_sessions_for_everyone_who_reads_the_file(cheap: None, tmp_path: Path) -> None:
    file, other = UserFile(tmp_path / "users"), UserFile(tmp_path / "users")
    for name in ("ada", "bob"):
        file.add(name, PASSWORD)
    cookies = {name: new_session(other.current(), name, 2e9) for name in ("ada", "bob")}
    file.end_sessions("ada")
    assert other.current().generation("ada") == 1
    assert session_user(other.current(), cookies["ada"], 2e9) == ""
    assert session_user(other.current(), cookies["bob"], 2e9) == "bob"
    assert session_user(other.current(), new_session(file.current(), "ada", 2e9), 2e9) == "ada"


def test_a_session_does_not_outlive_a_clock_that_is_set_back(cheap: None, tmp_path: Path) -> None:
    UserFile(tmp_path / "users").add("ada", PASSWORD)
    users, now = UserFile(tmp_path / "users").current(), 2e9
    cookie = new_session(users, "ada", now)
    for later in (0.0, 1.0, SESSION_SECONDS - 1.0):
        assert session_user(users, cookie, now + later) == "ada"
    for jump in (SESSION_SECONDS, -3600, -86_400 * 365):
        assert session_user(users, cookie, now + jump) == ""


def test_tokens_that_others_can_read_are_refused(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens")
    text = tokens.create("a", ["write"]).text
    (tmp_path / "tokens").chmod(0o644)
    with pytest.raises(PorismError, match="can be read by other accounts"):
        TokenFile(tmp_path / "tokens").find(text)
    (tmp_path / "tokens").write_text("nonsense")
    (tmp_path / "tokens").chmod(0o600)
    with pytest.raises(PorismError, match="not a file of tokens"):
        TokenFile(tmp_path / "tokens").find(text)
