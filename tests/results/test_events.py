"""`queueops.events`: what happens to tasks, by id, root and name, for sync and async code."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest

from queueops import MapReduce, chain, current, events, group, task
from queueops.errors import BadId, BadOption, BrokerUnavailable
from queueops.events import Event
from queueops.events import hub as hubs
from queueops.redis.broker import get_broker
from queueops.testing import eager, run_worker
from tests.support.tasks_for_tests import add, fail, give_up
from tests.support.waiting import until_end

pytestmark = pytest.mark.usefixtures("namespace")
STEPS = ("now", "gap", "end", "progress", "state", "log")


@task(name="tests.events.talk")
def talk(count: int) -> None:
    """Say how far it is, and a line."""
    current().progress(count, 10)
    current().log("half way")


@task(name="tests.events.walk", total=10)
def walk(count: int) -> None:
    """Say how far it is; the total is known."""
    current().progress(count)
    current().log("half way")


class Talks(MapReduce):
    """A chunk that says a line."""

    name = "tests.events.talks"

    def map(self) -> list[int]:
        """One chunk."""
        return [1]

    def process(self, chunk: int) -> None:
        """Says it."""
        current().log("half way")


def told(found: list[Event]) -> list[tuple[str, str]]:
    """What kinds of events came, and of which state."""
    return [(event.kind, event.state) for event in found]


@pytest.mark.parametrize("wrap", [lambda part: part, lambda part: chain(part, add.si(1))], ids=["alone", "in a chain"])
def test_an_event_has_the_total_that_the_task_had_before(wrap: Any) -> None:
    with events.follow(name=walk.name, kinds=("progress", "log")) as stream:
        wrap(walk.s(4)).push()
        run_worker()
        first, second = next(stream), next(stream)
    assert (first.kind, first.done, first.total) == ("progress", 4, 10)
    assert (second.kind, second.done, second.total) == ("log", 4, 10)


@pytest.mark.parametrize("by_handle", [True, False])
def test_the_events_of_one_task_begin_with_its_state_and_end_with_its_end(by_handle: bool) -> None:
    handle = talk.push(5)
    with events.follow(id=handle if by_handle else handle.id, kinds=("end", "progress", "state", "log")) as stream:
        talk.push(6)
        run_worker()
        found = until_end(stream)
    assert told(found) == [
        ("now", "pending"), ("state", "locked"), ("progress", ""), ("log", ""), ("end", "succeeded"),
    ]  # fmt: skip
    assert {(event.id, event.pool, event.name, event.root) for event in found} == {
        (handle.id, "default", "tests.events.talk", handle.id)
    }
    assert [(event.done, event.total) for event in found if event.kind == "progress"] == [(5, 10)]
    assert [event.text for event in found if event.kind == "log"] == ["half way"]
    assert [event.before for event in found if event.kind == "end"] == ["locked"]
    assert all(event.at_ms > 0 for event in found[1:])


@pytest.mark.parametrize(
    ("push", "state"), [(lambda: fail.push(), "failed"), (lambda: give_up.push("no"), "cancelled")]
)
def test_an_end_is_told_however_the_task_ended(push: Any, state: str) -> None:
    handle = push()
    with events.follow(id=handle) as stream:
        while not handle.status().is_over:
            run_worker()
            handle.run_now()
        assert told(until_end(stream)) == [("now", "pending"), ("end", state)]


def test_ends_and_progress_are_what_comes_by_itself() -> None:
    handle = talk.push(5)
    with events.follow(id=handle) as stream:
        run_worker()
        assert told(until_end(stream)) == [("now", "pending"), ("progress", ""), ("end", "succeeded")]


def test_of_a_task_that_is_over_the_state_is_told_at_once() -> None:
    handle = add.push(1)
    run_worker()
    with events.follow(id=handle) as stream:
        assert told(until_end(stream)) == [("now", "succeeded")]


def test_of_a_task_that_is_not_there_nothing_is_known_until_it_comes() -> None:
    with events.follow(id="comes-later") as stream:
        assert told([next(stream)]) == [("now", "")]
        add.using(id="comes-later").push(1)
        run_worker()
        assert told(until_end(stream)) == [("end", "succeeded")]


def test_by_its_root_all_that_descends_from_a_task_is_told_and_nothing_else() -> None:
    whole = chain(add.s(1, 1), group(add.s(), add.s(2))).push()
    with events.follow(root=whole) as stream:
        add.push(7)
        run_worker()
        found = until_end(stream, whole.id)
    ends = [event for event in found if event.kind == "end"]
    assert [event.name for event in ends] == ["tests.support.tasks_for_tests.add"] * 3 + ["group", "chain"]
    assert {event.root for event in found} == {whole.id}
    assert [(event.done, event.total) for event in found if event.id == whole.id] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    for push in (Talks.push, chain(Talks.si(), add.si(1)).push):
        of_chunks = push()
        with events.follow(root=of_chunks, kinds=["log", "end"]) as stream:
            run_worker()
            found = until_end(stream, of_chunks.id)
        assert {event.root for event in found} == {of_chunks.id}
        assert "log" in {event.kind for event in found}  # a chunk said it


def test_by_name_all_tasks_of_a_name_are_told() -> None:
    with events.follow(name="tests.events.talk", kinds=["end"]) as stream:
        handles = [talk.push(1), add.push(1), talk.push(2)]
        run_worker()
        found = [next(stream), next(stream)]
    assert [event.id for event in found] == [handles[0].id, handles[2].id]


def test_several_ids_and_a_pool_may_be_followed() -> None:
    first, second, other = add.push(1), add.using(pool="mail").push(2), add.push(3)
    with events.follow(id=[first, second.id]) as both, events.follow(pool="mail", kinds=["end"]) as mail:
        run_worker()
        assert {(event.kind, event.id) for event in (next(both) for _ in range(4))} == {
            ("now", first.id), ("now", second.id), ("end", first.id), ("end", second.id),
        }  # fmt: skip
        assert next(mail).id == second.id
    assert other.state == "succeeded"


def test_async_code_iterates_the_same_stream() -> None:
    async def main() -> list[Event]:
        handle = await talk.apush(5)
        found = []
        async with events.follow(id=handle) as stream:
            await asyncio.to_thread(run_worker)
            async for event in stream:
                found.append(event)
                if event.is_end:
                    break
        return found

    assert told(asyncio.run(main())) == [("now", "pending"), ("progress", ""), ("end", "succeeded")]


def test_an_event_wakes_async_code_that_waits() -> None:
    async def main() -> list[Event]:
        handle = await add.apush(1)
        async with events.follow(id=handle) as stream:
            first = await anext(stream)
            waits = asyncio.create_task(anext(stream))
            await asyncio.sleep(0)
            await asyncio.to_thread(run_worker)
            return [first, await waits]

    assert told(asyncio.run(main())) == [("now", "pending"), ("end", "succeeded")]


def test_every_event_comes_once_to_every_stream() -> None:
    with (
        events.follow(name=add.name, kinds=["end"]) as one,
        events.follow(name=add.name, kinds=["end"]) as other,
    ):
        handles = add.push_many([(number,) for number in range(200)])
        run_worker()
        for stream in (one, other):
            counts = Counter(next(stream).id for _ in range(200))
            assert counts == Counter(handle.id for handle in handles)


def test_a_buffer_that_is_full_drops_the_oldest_and_says_so() -> None:
    handle = add.using(id="last").push(1)
    with events.follow(root=handle, kinds=["end"], buffer=3) as stream:
        assert next(stream).kind == "now"
        add.push_many([(number,) for number in range(10)])
        run_worker()
        with events.follow(pool="default", kinds=["end"], buffer=3) as all_ends:
            add.push_many([(number,) for number in range(10)])
            run_worker()
            add.push(1)
            run_worker()
            found = []
            while not found or found[0].kind != "gap" or len(found) < 4:
                found.append(next(all_ends))
            assert [event.kind for event in found] == ["gap", "end", "end", "end"]
            assert "the buffer of 3 was full" in found[0].text
        assert told(until_end(stream)) == [("end", "succeeded")]


def test_after_a_lost_connection_a_gap_is_told_and_the_state_is_read_again() -> None:
    handle = add.push(1)
    broker = get_broker()
    with events.follow(id=handle, kinds=["end", "state"]) as stream:
        assert told([next(stream)]) == [("now", "pending")]
        broker.client.client_kill_filter(_type="pubsub")
        gap, now = next(stream), next(stream)
        assert (gap.kind, now.kind, now.state) == ("gap", "now", "pending")
        assert "the connection was lost" in gap.text
        run_worker()
        assert told(until_end(stream)) == [("state", "locked"), ("end", "succeeded")]


def test_an_end_during_an_outage_is_seen_in_the_state_behind_it() -> None:
    handle = add.push(1)
    broker = get_broker()
    with events.follow(id=handle) as stream:
        next(stream)
        broker.client.client_kill_filter(_type="pubsub")
        run_worker()
        found = until_end(stream)
        assert found[-1].state == "succeeded"
        assert found[0].kind == "gap"


def test_a_stream_ends_with_its_time_or_when_it_is_closed() -> None:
    assert list(events.follow(id="nothing", seconds=0.01)) == [Event(kind="now", id="nothing")]
    stream = events.follow(id="nothing")
    next(stream)
    threading.Timer(0.05, stream.close).start()
    assert list(stream) == []

    async def main() -> list[Event]:
        return [event async for event in events.follow(id="nothing", seconds=0.01)]

    assert asyncio.run(main()) == [Event(kind="now", id="nothing")]


def test_nothing_is_published_unless_somebody_follows(redis_client: Any) -> None:
    keys = get_broker().keys("default")
    heard = redis_client.pubsub(ignore_subscribe_messages=True)
    heard.subscribe(keys.events)
    heard.get_message(timeout=5)
    add.push(1)
    run_worker()
    assert not redis_client.exists(keys.tail)
    assert heard.get_message(timeout=0.05) is None
    with events.follow(id="nothing"):
        assert 0 < redis_client.ttl(keys.tail) <= 30
    heard.close()


def test_a_store_that_is_not_there_is_said_at_the_beginning(settings: Any) -> None:
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}
    with pytest.raises(BrokerUnavailable):
        events.follow(id="x").start()
    with pytest.raises(BrokerUnavailable):
        next(events.follow(name="x", pool="default"))


def test_a_stream_that_could_not_read_the_state_hears_nothing_until_it_is_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, handle = get_broker(), add.push(1)
    hub = hubs.hub_of(broker)
    assert hub is not None
    stream = events.follow(id=handle)

    def record(pool: str, task_id: str) -> None:
        raise BrokerUnavailable(url="redis:", attempts=1, reason="no answer")

    with monkeypatch.context() as outage:
        outage.setattr(broker, "record", record)
        with pytest.raises(BrokerUnavailable):
            stream.start()
    (line,) = hub._lines.values()
    assert hub.wanted(line) == set()
    with stream:
        assert hub.wanted(line) == {"default"}
        run_worker()
        assert told(until_end(stream)) == [("now", "pending"), ("end", "succeeded")]


def test_eager_tasks_are_over_when_they_are_followed() -> None:
    with eager():
        handle = add.push(1)
        assert told(list(events.follow(id=handle))) == [("now", "succeeded")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kinds": ["ends"]},
        {"name": add},
        {"buffer": 0},
        {"buffer": True},
        {"id": ["x"] * 1001},
        {"seconds": -1},
        {"seconds": "5"},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadOption):
        events.follow(**{"id": "x", **wrong})
    with pytest.raises(BadId):
        events.follow(id="no id")
