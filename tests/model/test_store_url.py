"""The store's URL in messages: its password is masked whatever its characters are, and the rest stays."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queueops.model.redact import DEFAULT
from queueops.model.store_url import masked
from tests.support.for_each import for_each

BEGIN, END = "ALPHA", "OMEGA"
SIGNS = st.text(" ,;'\"[](){}@:/?#&=%\\<>|!$*+^`~ä", min_size=1, max_size=4)
QUERY = (
    "unix:///run/s?password={}",
    "redis+sentinel://h,i:7/m?sentinel_password={}&db=1",
    "rediss://h?db=1&password={}",
)
USER = ("redis://:{}@h", "valkeys+cluster://ada:{}@h,i:7000", "redis+sentinel://u:{}@[::1]:7/m/2?db=1")


@pytest.mark.parametrize("place", [*QUERY, *USER])
@given(SIGNS)
@example("ä @")
@example("?b=")
@example("&b=")
@example("/b?c@d@")
def test_no_part_of_a_password_is_shown(place: str, signs: str) -> None:
    for password in (f"{BEGIN}{signs}{END}", quote(f"{BEGIN}{signs}{END}", safe="")):
        shown = masked(place.format(password))
        assert BEGIN not in shown
        assert END not in shown
        assert DEFAULT.text(shown) == shown


@for_each(
    ("url", "shown"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("redis://[::1]:6379/0?socket_timeout=5", "redis://[::1]:6379/0?socket_timeout=5"),
        ("redis://user:secret@host/0", "redis://user:***@host/0"),
        ("redis://secret@host", "redis://***@host"),
        ("redis://u:secret/0", "redis://u:***"),
        ("unix:///run/a@b.sock?db=2&password=ab;cd,ef", "unix:///run/a@b.sock?db=2&password=***"),
        ("redis+sentinel://u:p@ss@a,b:1/m?sentinel_password=q&db=1", "redis+sentinel://u:***@a,b:1/m?sentinel_password=***&db=1"),
        ("rediss://h?ssl_ca_certs=/a/b.pem&ssl_password=x", "rediss://h?ssl_ca_certs=/a/b.pem&ssl_password=***"),
        ("embedded:/var/x", "embedded:/var/x"),
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(url: str, shown: str) -> None:
    assert masked(url) == shown
