"""Garbage in the keys of a pool: workers and watchdogs of real processes go on, and the log names the key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queueops import inspect
from queueops.redis.keys import pools
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults
CID = "x"

POISON: dict[str, Callable[[Any, str], object]] = {
    "string": lambda client, key: client.set(key, "garbage"),
    "list": lambda client, key: client.rpush(key, "garbage"),
    "no command": lambda client, key: client.hset(key, "garbage", "x"),
    "no pool": lambda client, key: client.hset(
        key, mapping={"v": "ended", "to": "{a} b", "i": "i", "me": "m", "vn": "1"}
    ),
}


@pytest.mark.parametrize("garbage", POISON)
def test_a_command_that_is_none_stops_no_worker_and_lies_among_the_dead(bench: Bench, garbage: str) -> None:
    worker = bench.worker("--pool", "default", "--pool", "mail")
    bench.wait([tasks.work.push()])
    client, keys = bench.broker.client, bench.broker.keys("default")
    POISON[garbage](client, keys.command(CID))
    client.zadd(keys.commands, {CID: 1})
    client.zadd(keys.agenda, {"~commands:": 1, CID: 1})
    wait_until(lambda: client.zscore(keys.commands_dead, CID), say=bench.say)
    since = client.time()[0] * 1000
    handles = [tasks.work.using(pool=pool).push() for pool in ("default", "mail") for _ in range(5)]
    bench.wait(handles)
    for pool in ("default", "mail"):
        wait_until(lambda pool=pool: beats(bench, pool) > since, say=bench.say)
    assert "a round trip failed" not in worker.text()
    assert [row.id for row in inspect.commands("dead").rows] == [CID]
    watchdog = bench.watchdog()
    wait_until(lambda: f"the key {keys.command(CID)} holds something else" in watchdog.text(), say=watchdog.text)
    assert bench.broker.redeliver("default", "drop", [CID])[0][0].word == "OK"
    assert not client.exists(keys.command(CID))


def test_processes_start_and_work_beside_a_list_of_pools_of_another_type(bench: Bench) -> None:
    (key,) = pools(bench.broker.settings.namespace)
    bench.broker.client.set(key, "garbage")
    processes = [bench.worker("--pool", "default", "--pool", "mail"), bench.watchdog()]
    bench.wait([tasks.work.using(pool=pool).push() for pool in ("default", "mail")])
    for process in processes:
        wait_until(lambda process=process: f"{key} is a string, not a set" in process.text(), say=process.text)
    wait_until(lambda: bench.broker.client.exists(bench.broker.keys("default").snapshot), say=bench.say)
    bench.broker.client.delete(key)
    bench.wait([tasks.work.using(pool=pool).push() for pool in ("default", "mail")])
    assert bench.broker.client.smembers(key) >= {b"default", b"mail"}
    assert [process.popen.poll() for process in processes] == [None, None]


def beats(bench: Bench, pool: str) -> float:
    """When a worker of the pool was heard last."""
    return max(
        (at for _, at in bench.broker.client.zrange(bench.broker.keys(pool).workers, 0, -1, withscores=True)), default=0
    )
