"""The chunks of all map-reduce tasks as one list: found, paged, and shown in the terminal."""

from __future__ import annotations

import pytest
import redis

from queueops import inspect
from queueops.errors import FilterError
from queueops.kinds.mapreduce.inspect import listing as chunk_list
from queueops.kinds.mapreduce.store import reader as chunk_reader
from queueops.model.contracts import Lease, Outcome, Push, RoundTrip, Settlement
from queueops.redis.broker import get_broker
from queueops.results.handle import TaskHandle
from tests.inspecting.test_queue_command import failing, queue, queue_json
from tests.support.chunkwork import ERROR, ChunkWork
from tests.support.monitoring import counted_trips

pytestmark = pytest.mark.django_db
HOUR = 3_600_000


def errored(counts: dict[str, int], pool: str = "default") -> None:
    """Tasks with six chunks each, of which so many are errored; the others wait."""
    broker = get_broker()
    own = (("xr", 3), ("oc", "10000000"))
    broker.push([Push(id=task, name="tests.count", kind="mapreduce", pool=pool, own=own) for task in counts])
    for lease in broker.exchange(pool, "w1", RoundTrip(want=100)).leases:
        broker.begin_map(pool, lease.id, lease.fence)
        broker.split(pool, lease.id, lease.fence, 0, [b'{"n":%d,"token":"hunter2"}' % number for number in range(6)])
        broker.exchange(pool, "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, Outcome.SUCCESS, b"6")]))
    leases = broker.exchange(pool, "w1", RoundTrip(want=100)).leases
    broker.exchange(pool, "w1", RoundTrip(settle=[ended(lease, counts) for lease in leases]))


def ended(lease: Lease, counts: dict[str, int]) -> Settlement:
    task, _, number = lease.id.partition("#")
    if int(number) >= counts[task]:
        return Settlement(lease.id, lease.fence, Outcome.RELEASE)
    return Settlement(
        lease.id, lease.fence, Outcome.ERROR, ERROR, delay_ms=HOUR, fingerprint="f00d", title="ValueError"
    )


def found(**given: object) -> list[tuple[str, str, int]]:
    page = inspect.all_chunks(**given)
    return [(row.pool, row.id, row.number) for row in page.rows]


def test_errored_chunks_of_all_tasks_and_pools_are_one_list(namespace: str) -> None:
    errored({"a": 2, "b": 0})
    errored({"c": 3}, "other")
    everything = [("default", "a", 0), ("default", "a", 1), *(("other", "c", number) for number in range(3))]
    assert found() == everything
    assert found(pool="other") == everything[2:]
    assert found(pool="nobody") == []
    page = inspect.all_chunks()
    assert (page.next, page.partial, page.broken) == ("", False, ())
    row = page.rows[0]
    assert (row.name, row.state, row.attempt) == ("tests.count", "errored", 1)
    assert row.error is not None
    assert row.due_ms is not None
    assert "hunter2" not in repr(page)
    errored({"d": 0}, "third")
    with counted_trips() as trips:
        assert found(state="failed") == []
    assert trips.made == 3, "the list of pools, their indexes, and facts of the tasks of all pools"


@pytest.mark.parametrize("limit", [1, 2, 4, 5])
def test_each_is_on_one_page(namespace: str, limit: int) -> None:
    errored({"a": 2, "b": 1})
    errored({"c": 3}, "other")
    seen: list[tuple[str, str, int]] = []
    after, pages = "", 0
    for _ in range(20):
        page = inspect.all_chunks(after=after, limit=limit)
        seen += [(row.pool, row.id, row.number) for row in page.rows]
        pages += 1
        assert len(page.rows) == limit or not page.next
        if not page.next:
            break
        after = page.next
    assert seen == found()
    assert len(seen) == 6
    assert pages == -(-6 // limit)


def test_other_states_are_listed_too(namespace: str) -> None:
    work = ChunkWork(get_broker(), xr=1)
    work.map(list(range(6)))
    work.fail(work.claim(1), delay_ms=HOUR)
    running = work.claim(2)
    work.done(running[:1])
    assert [number for *_, number in found(state="active")] == running[1:]
    assert [number for *_, number in found(state="done")] == running[:1]
    assert [number for *_, number in found(state="pending", limit=2)] == [3, 4]
    assert [number for *_, number in found(state="pending")] == [3, 4, 5]
    work.fail(running[1:])
    assert [number for *_, number in found(state="failed")] == running[1:]


def test_tasks_that_do_not_gather_any_more_are_left_out(namespace: str) -> None:
    errored({"a": 2, "b": 2})
    assert TaskHandle("a").cancel()
    assert {task for _, task, _ in found()} == {"b"}


def test_very_many_tasks_are_looked_at_in_parts(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_list, "MOST_TASKS", 2)
    monkeypatch.setattr(chunk_reader, "TASKS", 2)
    errored({f"t{number}": int(number == 4) for number in range(5)})
    page = inspect.all_chunks()
    assert (page.rows, page.partial) == ((), True)
    for _ in range(5):
        if page.rows:
            break
        page = inspect.all_chunks(after=page.next)
    assert [row.id for row in page.rows] == ["t4"]


def test_a_pool_that_cannot_be_read_hides_no_other(namespace: str, redis_client: redis.Redis) -> None:
    errored({"a": 1})
    errored({"c": 1}, "other")
    redis_client.delete(get_broker().keys("default").state("aggregating"))
    redis_client.set(get_broker().keys("default").state("aggregating"), "no index")
    page = inspect.all_chunks()
    assert [row.id for row in page.rows] == ["c"]
    assert [broken.pool for broken in page.broken] == ["default"]


@pytest.mark.parametrize("given", [{"state": "eroded"}, {"after": "nothing"}, {"after": "e30"}])
def test_what_is_no_state_and_no_position_is_refused(namespace: str, given: dict[str, str]) -> None:
    errored({"a": 1})
    with pytest.raises(FilterError):
        inspect.all_chunks(**given)


def test_a_position_of_another_list_is_refused(namespace: str) -> None:
    errored({"a": 3})
    position = inspect.all_chunks(limit=1).next
    with pytest.raises(FilterError):
        inspect.all_chunks("active", after=position)
    assert len(inspect.all_chunks(after=position).rows) == 2


def test_the_terminal_lists_them_without_a_task(namespace: str) -> None:
    errored({"a": 2})
    errored({"c": 1}, "other")
    shown = queue("chunks", "--state", "errored")
    assert shown.splitlines()[0].split()[:4] == ["POOL", "TASK", "NAME", "CHUNK"]
    assert [line.split()[:4] for line in shown.splitlines()[1:]] == [
        ["default", "a", "tests.count", "0"],
        ["default", "a", "tests.count", "1"],
        ["other", "c", "tests.count", "0"],
    ]
    assert queue("chunks") == shown
    assert "continue with --after" in queue("chunks", "--limit", "2")
    page = queue_json("chunks", "--pool", "other")
    assert [(row["pool"], row["id"], row["number"]) for row in page["rows"]] == [("other", "c", 0)]
    assert failing("chunks", "--state", "errod")[0] == 2
    assert failing("chunks", "--error", "f00d")[0] == 2


def test_no_answer_has_more_than_200_chunks_of_those_asked_for(namespace: str) -> None:
    ChunkWork(get_broker()).map(list(range(205)))
    page, everywhere = inspect.chunks("count", limit=1000), inspect.all_chunks("pending", limit=1000)
    assert page is not None
    assert (len(page.rows), page.total, page.partial) == (200, 205, False)
    rest = inspect.chunks("count", after=page.next)
    assert rest is not None
    assert [row.number for row in rest.rows] == list(range(200, 205))
    assert (len(everywhere.rows), everywhere.partial) == (200, False)
    assert len(inspect.all_chunks("pending", after=everywhere.next).rows) == 5
    assert [row.number for row in inspect.chunks_named("count", range(205))] == list(range(200))
