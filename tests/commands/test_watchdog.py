"""The watchdog: its rounds, its command, and two of them at once, killed and stopped, beside a real worker."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command

from queueops import conf, get
from queueops.redis import keys
from queueops.redis.broker import RedisBroker, get_broker
from queueops.redis.reader import Reader
from queueops.watchdog import Watchdog
from tests.support.tasks_for_tests import add
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("namespace")


def _tick(broker: RedisBroker) -> dict[str, dict[str, int]]:
    return Watchdog(broker).round()


def test_a_name_that_can_be_no_pool_stops_nobody() -> None:
    broker = get_broker()
    handle = add.push(1, 2)
    broker.client.sadd(keys.pools(conf.current().namespace)[0], b"\xff\xfe", b"a b")
    assert broker.pools() == ["default"]
    assert "default" in _tick(broker)
    assert handle.state == "pending"


def test_what_is_wrong_with_one_pool_does_not_hold_up_the_others(caplog: pytest.LogCaptureFixture) -> None:
    broker = get_broker()
    add.using(pool="aaa").push(1, 2)
    broker.client.set(broker.keys("aaa").agenda, "garbage")
    handle = add.postpone(0.01, 1, 2)
    wait_until(lambda: _tick(broker)["default"].get("promoted") == 1, say=lambda: handle.state)
    assert _tick(broker)["aaa"] == {"error": 1}
    assert "could not tick pool aaa" in caplog.text


def test_a_full_store_is_watched_over_in_every_pool(namespace: str) -> None:
    broker = get_broker()
    handles = [add.using(pool=pool).postpone(0.01, 1) for pool in ("aaa", "bbb")]
    broker.client.config_set("maxmemory", 1)
    try:
        wait_until(lambda: _tick(broker) and {handle.state for handle in handles} == {"pending"}, 60)
        assert all(glance.snapshot for glance in Reader(broker).glance(["aaa", "bbb"], 1).values())
    finally:
        broker.client.config_set("maxmemory", 0)


def test_watching_over_a_pool_does_not_make_it_known(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("watchdog", once=True, pool=["nobody"])
    assert capsys.readouterr().out == "nobody: nothing to do\n"
    assert "nobody" not in get_broker().pools()


def test_a_pool_s_name_is_checked() -> None:
    with pytest.raises(BaseException, match="a b"):  # an error of the command line
        call_command("watchdog", "--once", "--pool", "a b")


@contextmanager
def _watchdogs(count: int) -> Iterator[list[subprocess.Popen[Any]]]:
    command = [sys.executable, "-m", "django", "watchdog", "--log-format", "json"]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    started = [subprocess.Popen(command, env=environment) for _ in range(count)]
    try:
        yield started
    finally:
        for process in started:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(60)


@pytest.mark.faults
def test_two_watchdogs_one_killed_one_frozen_and_thawed_lose_nothing_and_do_nothing_twice() -> None:
    broker = get_broker()
    with _watchdogs(2) as (first, second):
        handles = [add.postpone(0.2, number, 1) for number in range(50)]
        second.send_signal(signal.SIGSTOP)
        wait_until(lambda: all(handle.state == "pending" for handle in handles), say=lambda: handles[0].state)
        first.kill()
        more = [add.postpone(0.2, number, 1) for number in range(50)]
        second.send_signal(signal.SIGCONT)
        wait_until(lambda: all(handle.state == "pending" for handle in more), say=lambda: more[0].state)
        second.terminate()
        assert second.wait(60) == 0
    assert broker.client.zcard(broker.keys("default").state("pending")) == 100
    assert all(get(handle.id) is not None for handle in handles + more)


def test_what_is_wrong_with_a_pool_is_logged_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    broker = get_broker()
    add.using(pool="aaa").push(1, 2)
    key = broker.keys("aaa").agenda
    broker.client.set(key, "garbage")
    watchdog = Watchdog(broker)
    caplog.set_level(logging.INFO, "queueops.watchdog")
    for _ in range(3):
        assert "error" in watchdog.round()["aaa"]
    (said,) = [record for record in caplog.records if "could not tick pool aaa" in record.message]
    assert f"{key} is a string, not a zset" in said.message
    assert said.exc_info is None
    broker.client.delete(key)
    for _ in range(2):
        watchdog.round()
    assert caplog.text.count("the watchdog can tick pool aaa again") == 1


def test_a_key_that_is_written_to_no_more_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    broker = get_broker()
    broker.client.set(broker.keys("default").counts, "garbage")
    watchdog = Watchdog(broker)
    for number in range(3):
        add.push(number, 2)
        watchdog.round()
    assert caplog.text.count("counts holds something else than it should") == 1
