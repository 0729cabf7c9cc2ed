"""A store that knows less than it had acknowledged: it is told as an alarm, and nothing else is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
from django.core.management import call_command

from queueops import control, inspect
from queueops.model.losses import Replication
from queueops.redis import embedded
from queueops.redis.broker import close_brokers, get_broker
from queueops.watchdog import Watchdog
from queueops.watchdog.losses import Losses
from tests.support.for_each import for_each
from tests.support.tasks_for_tests import add
from tests.support.waiting import wait_until

NAMESPACE = "losses"
POOLS = ("default", "mail")


@pytest.fixture
def server(empty_directory: Path, settings: Any) -> Iterator[embedded.Server]:
    """A server of the test's own, which it may restart and empty."""
    server = embedded.start(empty_directory)
    settings.QUEUEOPS = settings.QUEUEOPS | {"URL": server.url, "NAMESPACE": NAMESPACE}
    yield server
    close_brokers()


@pytest.fixture
def watchdog(server: embedded.Server) -> Watchdog:
    """It has seen tasks in two pools."""
    made = Watchdog(get_broker(), period_s=0.001)
    for pool in POOLS:
        add.using(pool=pool).push_many([(1, 2)] * 20)
    look(made)
    return made


def look(watchdog: Watchdog) -> None:
    """Two rounds in which the watchdog draws the figures of all pools: the second shows what the first one noticed."""
    broker = get_broker()
    for _ in range(2):
        wait_until(lambda: not broker.client.exists(*(broker.keys(pool).sampler for pool in POOLS)))
        watchdog.round()


def losses() -> list[str]:
    return [alarm.text for alarm in inspect.snapshot().alarms if "lost data" in alarm.text]


def test_a_store_that_was_emptied_is_told_for_each_pool_that_held_something(watchdog: Watchdog) -> None:
    assert losses() == []
    get_broker().client.flushall()
    look(watchdog)
    found = losses()
    assert [text.split()[1] for text in found] == ["default", "mail"]
    assert all("fell from 20 to 0 without a restart, as after FLUSHALL" in text for text in found)
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("queue", "status", stdout=out)
    assert "Pool mail lost data that the store had acknowledged" in out.getvalue()
    look(watchdog)
    assert len(losses()) == 2  # it stays to be seen


def test_a_restart_without_the_data_is_told(watchdog: Watchdog, server: embedded.Server) -> None:
    embedded.stop(server.directory)
    shutil.rmtree(server.directory / "appendonlydir")
    (server.directory / "dump.rdb").unlink(missing_ok=True)
    embedded.start(server.directory)
    add.push(1, 2)
    look(watchdog)
    assert "fell from 20 to 1 after a restart or a failover" in losses()[0]


def test_a_restart_that_keeps_all_is_no_loss(watchdog: Watchdog, server: embedded.Server) -> None:
    embedded.stop(server.directory)
    embedded.start(server.directory)
    add.push(1, 2)
    look(watchdog)
    assert losses() == []


def test_a_pool_that_an_operator_flushed_is_no_loss(watchdog: Watchdog) -> None:
    control.flush("mail")
    look(watchdog)
    assert losses() == []
    add.using(pool="mail").push_many([(1, 2)] * 5)
    look(watchdog)
    get_broker().client.delete(*get_broker().registry.keys)
    look(watchdog)
    assert losses() == []
    assert "mail" in get_broker().pools()


@pytest.mark.parametrize("data", [b'{"at": 1, "before": 20, "after": 1}', b"not JSON", b'{"at": "x"}'])
def test_a_loss_that_is_older_than_a_day_or_cannot_be_read_is_no_alarm(watchdog: Watchdog, data: bytes) -> None:
    get_broker().leave_loss("default", data)
    look(watchdog)
    assert losses() == []


def stream(name: str, offset: int, *, taken_over: str = "", at: int = -1) -> Replication:
    return Replication("", True, name, offset, taken_over, at)


class Failover:
    """What a watchdog asks of a store whose primary changes between two looks."""

    def __init__(self, *streams: Replication) -> None:
        self._streams = list(streams)

    def server(self, pool: str) -> str:
        return ""

    def replication(self, pool: str) -> Replication:
        return self._streams.pop(0)

    def stranded(self, pool: str) -> tuple[int, str]:
        return 0, ""


def test_a_failover_without_a_known_loss_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The last look is up to a round old: only the old primary knew what came after it."""
    first, heir = stream("a", 1000), stream("b", 1200, taken_over="a", at=1001)
    found = Losses(cast(Any, Failover(first, first, heir, heir)))
    said = [len(caplog.messages) for _ in range(4) if found.look_at_servers(["default"]) is None]
    assert said == [0, 0, 1, 1]
    assert "pool default: a replica has become the primary." in caplog.text
    assert "what was acknowledged after that look may be lost" in caplog.text


@for_each(
    ("now", "missing"),
    [
        (stream("a", 900), 0),
        (stream("b", 1200, taken_over="a", at=1001), 0),
        (stream("b", 1200, taken_over="a", at=901), 100),
        (stream("b", 0), 0),
        (stream("c", 0, taken_over="b", at=1), 0),
    ],
)
def test_a_new_primary_lacks_what_the_old_one_wrote_behind_the_take_over(now: Replication, missing: int) -> None:
    assert now.lacks(stream("a", 1000)) == missing
