"""The library on fakeredis. It refuses the first line of a script with flags, as a server older than 7 does."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest

from queueops.conf import Settings
from queueops.model.contracts import Conflict, Outcome
from queueops.redis.broker import RedisBroker
from queueops.redis.servers import OneServer
from queueops.schedules.definition import ScheduleDefinition
from queueops.testing.eager_store import FakeScripts
from queueops.watchdog.schedule_firing import ScheduleFiring
from tests.kernel.desk import FOREVER, NEVER_MS, POOL, Desk, ids_of, make


@pytest.fixture(params=[True, False], ids=["functions", "scripts"])
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """A desk at a fake server, with functions and without."""
    broker = RedisBroker(Settings(url="redis://nowhere", lease=1000.0))
    broker.servers = OneServer(fakeredis.FakeRedis())
    broker.scripts = FakeScripts(broker.servers)
    if not request.param:
        broker.scripts.without_functions(FOREVER)
    desk = Desk(broker)
    yield desk
    desk.check()


def test_a_task_runs(desk: Desk) -> None:
    desk.push("a", "b", tags=("red",))
    assert desk.drain() == ["a", "b"]
    assert desk.states("a", "b") == ["succeeded", "succeeded"]


def test_a_task_is_tried_again(desk: Desk) -> None:
    desk.push("a", retries=1)
    desk.settle(desk.lease(), Outcome.ERROR, delay_ms=NEVER_MS, fingerprint="f1")
    desk.make_due("a")
    desk.settle(desk.lease(), Outcome.ERROR, fingerprint="f1")
    assert (desk.state("a"), desk.record("a").attempt) == ("failed", 2)


def test_a_lost_lease_is_taken_and_its_holder_refused(desk: Desk) -> None:
    desk.push("a")
    old = desk.lease("w1")
    desk.expire("a")
    new = desk.lease("w2")
    assert desk.settle(old) == "STALE"
    assert desk.settle(new, worker="w2") == "OK"


def test_an_id_in_use_is_judged(desk: Desk) -> None:
    desk.push("a")
    assert desk.word("a", Conflict.IGNORE) == "EXISTS"
    assert desk.word("a", Conflict.REPLACE, delay_ms=NEVER_MS) == "REPLACED"


def test_a_limit_holds(desk: Desk) -> None:
    desk.broker.lane(POOL, "narrow", limit=1)
    desk.push("a", "b", lane="narrow")
    assert ids_of(desk.claim(5)) == ["a"]


def test_an_operator_acts(desk: Desk) -> None:
    desk.push("a", delay_ms=NEVER_MS)
    assert desk.told("run_now", "a") == "OK"
    assert desk.told("cancel", "a") == "OK"
    assert desk.told("delete", "a") == "OK"
    assert desk.told("restore", "a") == "OK"


def test_what_the_server_does_not_have_is_loaded(desk: Desk) -> None:
    desk.push("a")
    desk.client.script_flush()
    desk.client.function_flush()
    assert desk.drain() == ["a"]


def test_a_schedule_fires(desk: Desk) -> None:
    definition = ScheduleDefinition(id="s", line="@every 1d", zone="UTC", push=make(""))
    assert desk.broker.put_schedule(POOL, definition, 1_000_000_000_000) == "OK"
    assert ScheduleFiring(desk.broker).act(POOL) == {"fired": 1}
    assert len(desk.drain()) == 1
    assert desk.broker.change_schedule(POOL, "s", "pause") == "OK"
    assert desk.broker.schedules(POOL).rows[0].due_ms is None
