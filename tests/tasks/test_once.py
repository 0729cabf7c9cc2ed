"""`unique_for=`, `throttle=` and `debounce=` of a task: one call of an id or a key within a time."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import chain, inspect, task
from queueops.errors import BadOption
from queueops.inspect import TaskQuery
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.testing import run_worker

pytestmark = pytest.mark.usefixtures("namespace")


@task(name="tests.once.bill", unique="bill:{number}", unique_for=3600)
def bill(number: int, text: str = "") -> str:
    """Give back the text."""
    return text


@task(name="tests.once.warn", throttle=3600, limit_key=lambda user, **_: user)
def warn(user: int, text: str = "") -> str:
    """Give back the text."""
    return text


@task(name="tests.once.index", debounce=3600, limit_key="{page}")
def index(page: int, text: str = "") -> str:
    """Give back the text."""
    return text


def end_lock(handle: Any) -> None:
    """The time of its lock is over."""
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "uf", 1)


@pytest.mark.parametrize("push", [bill.push, warn.push], ids=["unique_for", "throttle"])
def test_a_lock_outlives_the_end_of_its_task_and_ends_by_time(push: Any) -> None:
    first, other = push(1, "first"), push(2, "other")
    assert push(1, "waits").word == "EXISTS"
    run_worker()
    assert (first.result(timeout=5), other.result(timeout=5)) == ("first", "other")
    assert push(1, "late").word == "EXISTS"
    end_lock(first)
    again = push(1, "again")
    assert (again.id, again.word) == (first.id, "OK")
    run_worker()
    assert again.result(timeout=5) == "again"


@task(name="tests.once", throttle=3600, limit_key=lambda key: key)
def throttled(key: str) -> None:
    """Do nothing."""


@task(name="tests.once:key=eu", throttle=3600, limit_key=lambda key: key)
def throttled_in_eu(key: str) -> None:
    """Do nothing."""


def test_a_name_with_a_colon_shares_no_id_with_a_key_that_has_one() -> None:
    first = throttled.push("eu:key=1")
    other = throttled_in_eu.push("1")
    assert (first.word, other.word, throttled_in_eu.push("1").word) == ("OK", "OK", "EXISTS")
    assert first.id != other.id


def test_a_lock_keeps_its_record_as_long() -> None:
    broker = get_broker()
    for given, kept_ms in ((10, 3_600_000), (7200, 7_200_000)):
        handle = bill.using(keep=given).push(given)
        assert broker.record("default", handle.id).keep == kept_ms


def test_the_last_call_of_a_burst_runs_after_it_is_over() -> None:
    handles = [index.push(1, text) for text in ("a", "b", "c")]
    index.push(2, "other")
    assert [handle.word for handle in handles] == ["OK", "REPLACED", "REPLACED"]
    assert handles[2].state == State.POSTPONED
    broker = get_broker()
    keys = broker.keys("default")
    broker.client.zadd(keys.agenda, {handles[2].id: 1}, xx=True)
    run_worker()
    assert handles[2].result(timeout=5) == "c"
    assert index.push(1, "later").word == "OK"


def test_a_call_while_another_one_of_its_key_runs_comes_after_it() -> None:
    @task(name="tests.once.slow", debounce=3600)
    def slow(depth: int) -> int:
        return slow.push(depth + 1).word == "AFTER"

    slow.using(debounce=0.001).push(0)
    run_worker()
    (detail,) = inspect.tasks(TaskQuery(name="tests.once.slow")).rows
    assert (detail.state, detail.attempt) == (State.POSTPONED, 0)


def test_the_runs_of_a_schedule_have_no_lock() -> None:
    for each in (bill, warn, index):
        push = each.using(keep=60).planned((1,), {})
        assert (push.id, push.own, push.keep_ms) == ("", (), 60_000)


def test_what_contradicts_itself_is_refused() -> None:
    for wrong, message in (
        (warn.using(debounce=5), "the only one of"),
        (warn.using(id="x"), "the only one of"),
        (warn.using(throttle=None, unique_for=5), "given with unique="),
        (warn.using(on_conflict="reject"), "left out: throttle= says"),
        (index.using(on_conflict="replace"), "left out: debounce= says"),
    ):
        with pytest.raises(BadOption, match=message):
            wrong.push(1)
    with pytest.raises(BadOption, match="throttle"):
        warn.using(throttle=0)
    for options in ({"throttle": 5, "debounce": 5}, {"debounce": 5, "unique": "x"}):
        with pytest.raises(BadOption, match="the only one of"):
            task(name="tests.once.wrong", **options)(lambda: None)
    with pytest.raises(BadOption, match="left out: throttle= says"):
        task(name="tests.once.wrong", throttle=5, on_conflict="skip")(lambda: None)
    assert chain(bill.si(7)).push().id
