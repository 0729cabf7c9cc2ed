"""Refusals of the store come with advice that fits the URL."""

from __future__ import annotations

from redis import exceptions

from queueops.redis.error_translation import translate


def test_a_url_with_a_user_alone_is_told_how_a_password_is_written() -> None:
    """Such a user is mostly a password, so it is masked."""
    wrong = exceptions.AuthenticationError("WRONGPASS invalid username-password pair or user is disabled.")
    assert str(translate(wrong, "redis://hunter2@h:6379/0")) == (
        "Redis at redis://***@h:6379/0 refuses this client: AuthenticationError: WRONGPASS invalid username-password"
        " pair or user is disabled. The user or the password is wrong: the URL has a user alone. A password alone has a"
        " colon before it, as in redis://:PASSWORD@host."
    )
    for url in ("redis://ada:hunter2@h", "redis://:hunter2@h", "redis://h"):
        assert str(translate(wrong, url)).endswith("The user or the password is wrong.")
