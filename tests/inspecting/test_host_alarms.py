"""Hosts of dependencies: errors that name one host are one alarm, which names it."""

from __future__ import annotations

import pytest

from queueops import control, inspect
from queueops.inspect.named_hosts import host_of, hosts_of_names
from queueops.inspect.redaction import concealing
from queueops.model.contracts import Outcome
from tests.inspecting.test_causes import backlog, beat, mark, one, past
from tests.kernel.desk import Desk
from tests.support.for_each import for_each

TIMEOUT = "requests.ConnectTimeout: HTTPSConnectionPool(host='api.example', port=443): Max retries exceeded"
CASES = (
    (TIMEOUT, "api.example:443"),
    ("httpx.HTTPStatusError: Server error '503' for url 'https://u:p@API.example/v1?x=1'", "api.example:443"),
    ("HTTPError: 503 Server Error for url: http://api.example:8080/x", "api.example:8080"),
    ("redis.ConnectionError: Error 111 connecting to cache:6379. Connection refused.", "cache:6379"),
    ('OperationalError: connection to server at "db.example" (10.0.0.5), port 5432 failed', "db.example:5432"),
    ("aiohttp.ClientConnectorError: Cannot connect to host api.example:443 ssl:default", "api.example:443"),
    ("OSError: 10.0.0.5:9000 timed out", "10.0.0.5:9000"),
    ("TimeoutError: timed out", ""),
    ("SyntaxError: views.py:12 is broken", ""),
    ("ValueError: 2026-11-29T03:04:05", ""),
)


@for_each("case", CASES)
def test_the_host_is_found_in_the_errors_of_common_libraries(case: tuple[str, str]) -> None:
    assert host_of(case[0]) == case[1]


def fail(desk: Desk, name: str, title: str = TIMEOUT, count: int = 6, fingerprint: str = "") -> None:
    fingerprint = fingerprint or f"f-{name}-{len(title)}"
    desk.push(*(f"{name}-{fingerprint}-{number}" for number in range(count)), name=name)
    for lease in desk.claim(count):
        desk.settle(lease, Outcome.ERROR, b"{}", fingerprint=fingerprint, title=title, delay_ms=-1)
    desk.exchange(metrics={f"err|{name}": count})


def test_a_host_at_which_several_names_fail_is_one_alarm_of_the_host(desk: Desk) -> None:
    desk.tick()
    for name in ("charge", "refund", "report"):
        fail(desk, name)
    desk.exchange(metrics={"ok|charge": 2})
    found = one()
    assert found.text == (
        "The host api.example:443 fails: 18 of 20 attempts of 3 names of pool default failed within the"
        " last two minutes, and their errors name it: charge, refund, report."
    )
    assert (found.key, found.url_hint, found.failed) == ("host api.example:443", "errors", 18)
    with concealing(True):  # a reader without the permission for messages
        (hidden,) = inspect.snapshot().alarms
        assert "api.example" not in hidden.text
    for name in ("charge", "refund", "report"):  # most of their errors name no host
        fail(desk, name, "KeyError: 'x'", 12)
    assert "host" not in one().text


def test_names_that_fail_with_one_and_the_same_error_are_one_alarm_of_its_host(desk: Desk) -> None:
    desk.tick()
    for name in ("charge", "refund", "report"):
        fail(desk, name, fingerprint="same")
    found = one()
    assert (found.key, found.failed) == ("host api.example:443", 18)
    assert found.text.endswith("their errors name it: charge, refund, report.")
    assert set(found.followers) >= {"failing-pool default"}  # a rule of alerts for these still tells of it
    control.mute_error("same", desk.now() + 60_000)
    assert inspect.snapshot().alarms == ()


def test_muted_errors_hide_no_host_of_others(desk: Desk) -> None:
    desk.tick()
    for name in ("charge", "refund"):
        fail(desk, name)
    for number in range(20):  # later ones, as many as a sample tells
        fail(desk, "known", "KeyError: 'x'", 1, f"muted-{number}")
        control.mute_error(f"muted-{number}", desk.now() + 60_000)
    assert one().key == "host api.example:443"


def test_the_host_is_that_of_the_latest_failure_where_equal_errors_name_several(desk: Desk) -> None:
    """Quoted words and numbers of messages make no other error, so one error can name first one host, then another."""
    desk.tick()
    fail(desk, "charge", count=1)
    fail(desk, "charge", TIMEOUT.replace("api.example", "pay.example"), 12)
    assert one().text.endswith(" The errors name the host pay.example:443.")


def test_a_host_that_fails_suddenly_is_told_from_the_last_seconds(desk: Desk) -> None:
    desk.await_early_minute()
    desk.tick()
    desk.exchange(metrics={"ok|charge": 300, "ok|refund": 300})
    mark(desk, ok__charge=300, ok__refund=300)
    fail(desk, "charge", count=3)
    fail(desk, "refund", count=3)
    assert one().text.startswith("The host api.example:443 fails: 6 of 6 attempts of 2 names of pool default")


@pytest.mark.parametrize("names", [1, 2])
def test_a_backlog_of_slow_names_tells_the_host_of_their_errors(desk: Desk, names: int) -> None:
    desk.tick()
    for name in ("charge", "refund")[:names]:
        past(desk, **{f"ok__{name}": 100, f"ms__{name}": 30_000})
        fail(desk, name, count=2)
        desk.exchange(metrics={f"ok|{name}": 8, f"ms|{name}": 72_000})
    backlog(desk, name="charge")
    beat(desk, slots=4)
    assert one().text.endswith(" The errors name the host api.example:443.")


def test_a_failing_pool_does_not_follow_from_a_host_that_few_of_its_errors_name(desk: Desk) -> None:
    desk.tick()
    for name in ("charge", "refund"):
        fail(desk, name)
    for name in ("import", "export", "report", "sync"):
        fail(desk, name, "KeyError: 'x'", 20)
    host, pool = sorted(inspect.snapshot().alarms, key=lambda alarm: alarm.failed)
    assert (host.key, host.consequences) == ("host api.example:443", ())
    assert (pool.key, "host" in pool.text) == ("failing-pool default", False)


def test_a_name_does_not_follow_from_a_host_whose_name_is_a_part_of_its_own(desk: Desk) -> None:
    desk.tick()
    desk.exchange(metrics={"ok|sync": 1000})
    for name, host in (("charge", "db.example:80"), ("refund", "db.example:80"), ("load", "mydb.example:8080")):
        fail(desk, name, f"E: http://{host}/", 12)
    assert {alarm.key for alarm in inspect.snapshot().alarms} == {"host db.example:80", "failing load"}


def test_a_name_whose_failures_are_not_counted_yet_is_none_of_those_that_fail(desk: Desk) -> None:
    desk.tick()
    fail(desk, "charge", count=12)
    desk.push("late", name="refund")
    desk.settle(desk.lease(), Outcome.ERROR, b"{}", fingerprint="late", title=TIMEOUT, delay_ms=-1)
    assert one().key == "failing charge"


SECRETS = (
    "E: password=hunter2.xy:99",
    "E: postgres://user.name:12345@/x",
    "E: https://user:pa.ss:1234@/x",
    "E: redis://:se.cret:99@/0",
)


@for_each("title", SECRETS)
def test_what_is_masked_in_the_text_of_an_error_is_no_host(title: str) -> None:
    assert hosts_of_names({"errors": [{"name": "charge", "title": title, "times": 1}]}, {"charge"}) == {}


def test_the_host_is_found_after_a_masked_part() -> None:
    title = "E: cannot reach https://user:pa@ss.word@api.example/x"
    assert hosts_of_names({"errors": [{"name": "charge", "title": title, "times": 1}]}, {"charge"}) == {
        "charge": "api.example:443"
    }
