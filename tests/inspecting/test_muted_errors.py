"""Muted errors: their failures raise no alarm, those of other errors still do."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import control, inspect
from queueops.errors import BadId, BadOption
from queueops.model.contracts import Outcome
from tests.kernel.desk import Desk
from tests.support.for_each import for_each

HOUR_MS = 3_600_000


def fail(desk: Desk, fingerprint: str, count: int = 12) -> None:
    """So many failures of one name, with their counts."""
    desk.push(*(f"{fingerprint}-{desk.now()}-{number}" for number in range(count)), name="shop.sync")
    for lease in desk.claim(count):
        desk.settle(lease, Outcome.ERROR, b"{}", fingerprint=fingerprint, title="E: m", delay_ms=-1)
    desk.exchange(metrics={"err|shop.sync": count})


def failing() -> list[str]:
    return [alarm.text for alarm in inspect.snapshot().alarms if alarm.kind == "failing"]


def test_a_muted_error_raises_no_alarm_from_that_moment_on_until_its_end_in_all_pools(desk: Desk) -> None:
    mail = Desk(desk.broker, pool="mail")
    mail.push("later", delay_ms=HOUR_MS)
    fail(desk, "known")
    assert len(failing()) == 1
    control.mute_error("known", desk.now() + HOUR_MS)
    assert failing() == []
    fail(desk, "known")
    fail(mail, "known")
    assert failing() == []
    assert {(row.pool, row.count, bool(row.muted_until_ms)) for row in inspect.errors()} == {
        ("default", 24, True),
        ("mail", 12, True),
    }
    assert inspect.snapshot().pools[0].failure_rate == 1.0  # the figures tell all failures
    control.mute_error("known", None)
    fail(desk, "known")
    assert "12 of 12 attempts of the last two minutes failed" in failing()[0]


def test_another_error_of_the_name_still_raises_its_alarm_with_its_own_number(desk: Desk) -> None:
    fail(desk, "known")
    control.mute_error("known", desk.now() + HOUR_MS)
    fail(desk, "known")
    fail(desk, "new", 15)
    assert len(failing()) == 1
    assert "15 of 15 attempts of the last two minutes failed" in failing()[0]


def test_a_muted_failure_is_left_out_though_its_worker_counts_it_in_the_next_minute(desk: Desk) -> None:
    """Workers send their counts up to a second after the outcomes."""
    fail(desk, "known", 1)
    control.mute_error("known", desk.now() + HOUR_MS)
    fail(desk, "known")
    minute = desk.now() // 60_000
    for ahead in (0, 1):  # all that is counted, two minutes earlier
        if desk.client.exists(desk.keys.metrics(minute + ahead)):
            desk.client.rename(desk.keys.metrics(minute + ahead), desk.keys.metrics(minute + ahead - 2))
    desk.client.hset(desk.keys.metrics(minute - 1), "err|shop.sync", 12)
    assert failing() == []


def test_a_mute_that_is_over_is_none(desk: Desk) -> None:
    fail(desk, "known", 1)
    control.mute_error("known", desk.now() - 1)
    fail(desk, "known")
    assert "12 of 12" in failing()[0]


def test_failures_count_as_muted_once_when_the_error_is_muted_again(desk: Desk) -> None:
    """Else a mute that ended too early, and is set again, would hide as many failures of other errors."""
    fail(desk, "known")
    for until_ms in (desk.now() + HOUR_MS, None, desk.now() + HOUR_MS):
        control.mute_error("known", until_ms)
    fail(desk, "known", 3)
    control.mute_error("known", None)
    fail(desk, "known", 2)
    control.mute_error("known", desk.now() + HOUR_MS)
    fail(desk, "new", 15)
    assert "15 of 15 attempts of the last two minutes failed" in failing()[0]


@for_each("until_ms", (1_795_945_033, 1_795_945_033_000.5, "tomorrow", True, -1, 10**30))
def test_a_time_that_is_not_one_in_milliseconds_is_refused(until_ms: Any) -> None:
    with pytest.raises(BadOption, match="milliseconds since 1970"):
        control.mute_error("known", until_ms)


@for_each("fingerprint", ("", None, 5, "a b", "x" * 101))
def test_a_fingerprint_that_is_not_one_is_refused(fingerprint: Any) -> None:
    with pytest.raises(BadId, match="fingerprint of an error"):
        control.mute_error(fingerprint, None)


def test_a_mute_outlasts_the_time_for_which_the_error_would_have_been_kept(desk: Desk) -> None:
    fail(desk, "known", 1)
    key = desk.keys.error("known")
    desk.client.expire(key, 60)
    control.mute_error("known", desk.now() + HOUR_MS)
    assert desk.client.ttl(key) * 1000 > HOUR_MS
