"""A task that is pushed alone goes a shorter way through the script than those of a batch, and is as they are."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.model.contracts import Push
from tests.kernel.desk import POOL, Desk, make

SORTS: list[Any] = [
    pytest.param({}, id="plain"),
    pytest.param({"args": b"[[1],{}]", "retries": 4, "timeout_ms": 9000, "token": "t"}, id="with arguments"),
    pytest.param({"priority": 7}, id="urgent"),
    pytest.param({"priority": -7}, id="that can wait"),
    pytest.param({"lane": "mail"}, id="of a lane"),
    pytest.param({"lane": "narrow"}, id="of a lane with a limit"),
    pytest.param({"lane": "held"}, id="of a lane that is paused"),
    pytest.param({"tags": ("red",)}, id="with a tag"),
    pytest.param({"delay_ms": 9_000_000}, id="for later"),
]


def queued(desk: Desk, *ids: str, **fields: Any) -> list[Push]:
    """Push what is alike in one call."""
    pushes = [make(task_id, **fields) for task_id in ids]
    desk.broker.push(pushes)
    return pushes


def counted(desk: Desk) -> dict[str, int]:
    """All that is counted: by state, and in this minute and the one before."""
    found = {field.decode(): int(count) for field, count in desk.client.hgetall(desk.keys.counts).items()}
    return found | {field: desk.counted(field) for field in ("tr|>pending", "tr|>postponed", "in|tests.noop")}


@pytest.mark.parametrize("fields", SORTS)
def test_one_that_is_pushed_alone_is_as_those_of_a_batch(desk: Desk, fields: dict[str, Any]) -> None:
    desk.broker.lane(POOL, "narrow", limit=2)
    desk.broker.lane(POOL, "held", paused=1)
    queued(desk, "first", "second", **fields)
    before = counted(desk)
    queued(desk, "alone", **fields)
    after = counted(desk)
    queued(desk, "third", "fourth", **fields)
    (one, two) = (desk.client.hgetall(desk.keys.task(task_id)) for task_id in ("alone", "third"))
    assert {**one, b"u": b"", b"c": b"", b"d": b""} == {**two, b"u": b"", b"c": b"", b"d": b""}
    assert one.keys() == two.keys()
    assert {field: after[field] - before[field] for field in after} == {field: before[field] / 2 for field in after}
    desk.check()
    desk.broker.lane(POOL, "held", paused=0)
    assert desk.drain() == ([] if "delay_ms" in fields else ["first", "second", "alone", "third", "fourth"])


def test_one_that_is_pushed_alone_while_somebody_watches_is_told_of(desk: Desk) -> None:
    queued(desk, "first", "second")
    desk.client.set(desk.keys.tail, "1", ex=60)
    with desk.client.pubsub() as watcher:
        watcher.subscribe(desk.keys.events)
        assert watcher.get_message(timeout=60)["type"] == "subscribe"
        queued(desk, "alone")
        assert b'"id":"alone"' in watcher.get_message(timeout=60)["data"]


def test_one_whose_id_is_that_of_a_lost_record_leaves_quarantine(desk: Desk) -> None:
    queued(desk, "lost")
    desk.client.delete(desk.keys.task("lost"))
    assert desk.drain() == []
    assert desk.client.zcard(desk.keys.state("quarantined")) == 1
    queued(desk, "first", "second")
    queued(desk, "lost")
    assert desk.client.zcard(desk.keys.state("quarantined")) == 0
    assert desk.drain() == ["first", "second", "lost"]
