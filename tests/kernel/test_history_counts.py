"""History of error groups and workers: counted from running totals, once a minute, by the watchdog alone."""

from __future__ import annotations

import re

import pytest

from queueops.model.contracts import Outcome
from queueops.model.history import MINUTE, Row, Rows
from queueops.watchdog.history_rollup import HistoryRollup
from tests.kernel.desk import POOL, Desk

MINUTE_MS = MINUTE.step_ms


@pytest.fixture(autouse=True)
def early(desk: Desk) -> None:
    """Each test begins and ends in the same minute."""
    desk.await_early_minute()


def look(desk: Desk, ago_ms: int = MINUTE_MS) -> dict[str, str]:
    """The watchdog's first look of a minute, `ago_ms` after its last; what it adds to the minute before."""
    key = desk.keys.metrics(MINUTE.slot(desk.now()))
    desk.client.delete(desk.keys.sampler, desk.keys.metrics(MINUTE.slot(desk.now()) - 1))
    desk.client.hdel(key, "@g|p")
    if known := desk.client.hget(desk.keys.clock, "noted"):
        desk.client.hset(desk.keys.clock, "noted", min(int(known), desk.now() - ago_ms))
    assert desk.broker.draw(POOL, "w", 1)
    found = desk.client.hgetall(desk.keys.metrics(MINUTE.slot(desk.now()) - 1))
    return {field.decode(): value.decode() for field, value in found.items() if field.startswith((b"@e", b"@w"))}


def fail(desk: Desk, fingerprint: str, times: int) -> None:
    for number in range(times):
        desk.push(f"{fingerprint}-{desk.now()}-{number}")
        desk.settle(desk.lease(), Outcome.ERROR, delay_ms=-1, fingerprint=fingerprint, title="ValueError: no")


def beat(desk: Desk, worker: str = "w1", **fields: object) -> None:
    facts = {"pools": POOL, "slots": 4, "busy": 3, "rss": 5_000_000, "started": desk.now() - MINUTE_MS}
    desk.broker.beat(POOL, worker, facts | fields)


def test_an_error_counts_what_came_since_the_last_look(desk: Desk) -> None:
    look(desk)
    fail(desk, "f1", 3)
    fail(desk, "f2", 1)
    assert look(desk) == {"@e|f1": "3", "@e|f2": "1"}
    assert look(desk) == {}
    fail(desk, "f1", 2)
    assert look(desk) == {"@e|f1": "2"}


def test_old_totals_are_not_taken_for_failures_of_this_minute(desk: Desk) -> None:
    fail(desk, "f1", 3)
    assert look(desk) == {}  # the first look of all
    fail(desk, "f1", 2)
    assert look(desk) == {"@e|f1": "2"}
    fail(desk, "f1", 5)
    assert look(desk, ago_ms=60 * MINUTE_MS) == {"@e|f1": "1"}  # no watchdog ran: it is only known that it occurred
    fail(desk, "f1", 1)
    assert look(desk) == {"@e|f1": "1"}


def test_a_worker_counts_its_ends_and_the_time_of_its_slots(desk: Desk) -> None:
    beat(desk, done=10, failed=1, used_ms=30_000)
    (first,) = look(desk).values()
    ended, failed, used, able, busy, memory = map(int, first.split())
    assert (ended, failed, used, busy, memory) == (10, 1, 30_000, 3, 5_000_000)
    assert able == pytest.approx(4 * MINUTE_MS, abs=4000)
    beat(desk, done=15, failed=1, used_ms=90_000)
    assert look(desk)["@w|w1"].startswith("5 0 60000 ")


def test_a_worker_that_was_not_seen_for_long_has_only_what_is_observed(desk: Desk) -> None:
    beat(desk, done=1000, failed=3, used_ms=1, started=desk.now() - 60 * MINUTE_MS)
    assert look(desk) == {"@w|w1": "0 0 0 0 3 5000000"}
    desk.client.hset(f"{desk.keys.prefix}:worker:w1", "noted", f"{desk.now() - 30 * MINUTE_MS} 2 0 0")
    assert look(desk) == {"@w|w1": "0 0 0 0 3 5000000"}


def test_a_worker_of_several_pools_is_in_the_history_of_the_first(desk: Desk) -> None:
    beat(desk, "w1", pools=f"other,{POOL}")
    beat(desk, "w2", pools=f"{POOL},other")
    desk.client.zadd(desk.keys.workers, {"w3": desk.now()})  # its hash has gone
    assert look(desk).keys() == {"@w|w2"}
    assert not desk.client.exists(f"{desk.keys.prefix}:worker:w3")


def test_the_figures_of_pages_have_none_of_it(desk: Desk) -> None:
    look(desk)
    fail(desk, "f1", 1)
    beat(desk, done=1)
    look(desk)
    desk.client.delete(desk.keys.sampler)
    assert not any(word in desk.broker.draw(POOL, "w", 1) for word in (b"@e", b"@w"))


def test_it_is_rolled_up_with_its_minute(desk: Desk) -> None:
    look(desk)
    fail(desk, "f1", 3)
    beat(desk, done=10, failed=1, used_ms=30_000)
    look(desk)
    slot = MINUTE.slot(desk.now()) - 1
    rollup = HistoryRollup(desk.broker)
    while rollup.go_on(POOL, desk.now()):
        pass
    rows: Rows = desk.broker.history_steps(POOL, MINUTE, [slot])[0]
    assert rows["e|f1"] == Row(failed=3)
    worker = rows["w|w1"]
    assert (worker.ended, worker.failed, worker.run_ms, worker.running, worker.memory) == (10, 1, 30_000, 3, 5_000_000)


def test_totals_of_a_wrong_type_count_as_unknown(desk: Desk) -> None:
    look(desk)
    fail(desk, "f1", 1)
    desk.client.hset(f"{desk.keys.prefix}:error:f1", "count", "many")
    desk.client.set(f"{desk.keys.prefix}:error:f2", "odd")
    desk.client.zadd(desk.keys.errors, {"f2": desk.now()})
    beat(desk, done="x", failed="", used_ms="-", busy="?", rss="1e400")
    assert re.fullmatch(r"0 0 0 \d+ 0 0", look(desk).pop("@w|w1"))
    desk.client.flushall()
