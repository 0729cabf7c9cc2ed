"""Tasks that end at once, and whose callbacks open many lanes: the cost of each does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from queueops.model.contracts import Lease
from queueops.redis.broker import get_broker
from tests.kernel.desk import POOL, Desk, end

SETTINGS = "limit 8 weight 1 idle 60000 title "


@pytest.fixture
def desk(namespace: str, settings: Any) -> Iterator[Desk]:
    """No lease ends during a test."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"LEASE": 1000}
    made = Desk(get_broker())
    yield made
    made.check()


def callback_to(host: str) -> tuple[tuple[str, str], ...]:
    """A record field: the callback to push on success."""
    fields = ["n", "callback", "k", "callback", "l", f"to:{host}", "ld", SETTINGS + host]
    plan = {"on": ["success"], "pool": POOL, "id": "", "policy": "new", "due": "", "fields": fields}
    return (("fu", msgspec.json.encode([plan]).decode()),)


def claimed(desk: Desk, count: int, batch: str) -> list[Lease]:
    for number in range(count):
        desk.push(f"{batch}-{number}", own=callback_to(f"{batch}-{number}.example"))
    return [lease for _ in range(0, count, 100) for lease in desk.claim(100)]


def calls_of(desk: Desk, leases: list[Lease]) -> dict[str, int]:
    """The commands of one call that settles all of them."""
    desk.client.config_resetstat()
    assert set(desk.exchange(settle=[end(lease) for lease in leases]).settled) == {"OK"}
    return {name: row["calls"] for name, row in desk.client.info("commandstats").items()}


def test_the_commands_of_a_settlement_do_not_grow_with_the_number_of_destinations(desk: Desk) -> None:
    few, many = (calls_of(desk, claimed(desk, count, f"b{count}")) for count in (100, 400))
    for name in ("cmdstat_hmget", "cmdstat_zrange", "cmdstat_hset"):
        assert many[name] / 400 <= few[name] / 100 + 5, name


def test_a_limit_that_a_lane_gets_counts_what_still_runs_there(desk: Desk) -> None:
    desk.push("first", own=callback_to("a.example"))
    desk.push("second", own=callback_to("b.example"))
    first, second = desk.claim(2)
    for number, host in enumerate(("a", "b", "b")):
        desk.push(f"in-{number}", lane=f"to:{host}.example")
    ends, goes_on, other = desk.claim(3)
    desk.exchange(settle=[end(first), end(ends), end(second)])
    assert desk.client.smembers(f"{desk.keys.prefix}:lane:to:a.example#active") == set()
    held = desk.client.smembers(f"{desk.keys.prefix}:lane:to:b.example#active")
    assert {goes_on.id.encode(), other.id.encode()} <= held
    assert desk.client.scard(f"{desk.keys.prefix}:lane:to:b.example#active") == 2
