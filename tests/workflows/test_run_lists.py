"""Runs as an operator sees them: counted, listed in pages, and expired."""

from __future__ import annotations

import pytest

from queueops import control, inspect, workflow
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import RoundTrip
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.workflows.test_end_to_end import empty
from tests.workflows.test_runs import approval, parent, sums

pytestmark = pytest.mark.usefixtures("memory")


def test_open_runs_are_counted_by_state_and_pool() -> None:
    runs = [approval.start(60), approval.start(60)]
    other = in_another_pool.start()
    assert counted() == {"default": {"pending": 2}, "mail": {"pending": 1}}
    run_worker(pools=["default"])
    runs[0].signal("approve")
    run_worker(pools=["default"])
    assert counted() == {"default": {"idle": 1, "succeeded": 1}, "mail": {"pending": 1}}
    run_worker()
    assert other.result(timeout=0) == "nothing"
    assert counted()["mail"] == {"succeeded": 1}


def test_activities_are_counted_in_their_pool_until_they_end() -> None:
    run = sums.start(3)
    assert counted() == {"default": {"pending": 1}}
    run_worker(until_idle=False)
    assert counted() == {"default": {"idle": 1, "pending": 3}}
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    assert counted() == {"default": {"idle": 1, "pending": 2, "locked": 1}}
    control.release([lease.id])
    run_worker()
    assert counted() == {"default": {"succeeded": 5}}
    assert run.result(timeout=0) == 7


@workflow(name="wf.in_another_pool", pool="mail")
async def in_another_pool() -> str:
    """Returns at once."""
    return "nothing"


def counted() -> dict[str, dict[str, int]]:
    """The tasks of each pool by state."""
    pools = inspect.snapshot().pools
    return {pool.name: {state: count for state, count in pool.states.items() if count} for pool in pools}


def test_runs_are_listed_in_pages() -> None:
    started = [empty.start().id for _ in range(50)]
    found: list[str] = []
    after, pages = "", 0
    while pages == 0 or after:
        page = inspect.workflow_runs(after=after, limit=10)
        found += [row.id for row in page.rows]
        after, pages = page.next, pages + 1
    assert found == started[::-1]
    assert pages == 6  # the last one is empty


def test_later_runs_of_an_instance_are_in_one_chain() -> None:
    ids = []
    for count in range(3):
        run = approval.using(id="order/7").start(60.0)
        run.signal("approve", count)
        run_worker()
        ids.append(run.id)
    outer = parent.start("order/7")
    run_worker()
    chain = [each.id for each in inspect.runs_of_instance("order/7", "default")]
    assert chain == [f"{outer.id}.1", *reversed(ids)]


def test_ended_runs_expire_with_all_that_was_theirs() -> None:
    run = approval.using(id="expires").start(60)
    run_worker()
    run.signal("approve")
    run_worker()
    assert control.keep([run.id], 0)[0].word == "OK"
    get_broker().tick("default")
    store = get_role(WorkflowCalls)
    left = store.ask("default", lambda client: client.keys(f"{store.keys('default').task(run.id)}*"))
    assert list(left) == []
    with pytest.raises(LookupError):
        approval.handle("expires")


def test_ended_runs_are_removed_and_all_others_stay() -> None:
    ended = [empty.using(id=f"ended-{number}").start() for number in range(4)]
    waiting = approval.using(id="open").start(60)
    run_worker()
    removed, kept = ended[:2], ended[2:]
    rows = control.delete([run.id for run in (*removed, waiting)])
    assert [row.word for row in rows] == ["OK", "OK", "REFUSED"]
    assert [run.state for run in removed] == [None, None]
    assert [row.id for row in inspect.workflow_runs().rows] == [run.id for run in (waiting, *reversed(kept))]
    for run in removed:
        with pytest.raises(LookupError):
            empty.handle(run.instance)
    waiting.signal("approve", "Ada")
    run_worker()
    assert (waiting.result(timeout=0), kept[0].result(timeout=0)) == ("Ada", "nothing")
    assert list(get_broker().check("default", "").faults) == []


def test_the_time_of_an_ended_run_can_be_changed() -> None:
    runs = [empty.using(keep=3_600).start() for _ in range(2)]
    run_worker()
    client, agenda = get_broker().client, get_broker().keys("default").agenda
    before = [client.zscore(agenda, run.id) for run in runs]
    for run, seconds in zip(runs, (0, 2 * 86_400), strict=True):
        assert control.keep([run.id], seconds)[0].word == "OK"
    get_broker().tick("default")
    assert [run.state for run in runs] == [None, State.SUCCEEDED]
    assert client.zscore(agenda, runs[1].id) > before[1] + 86_400_000
