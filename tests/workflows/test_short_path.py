"""The short way of a run: the call that settles a task leases the next, with what its step begins with."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from queueops import activity, wf, workflow
from queueops.eager.execution import run as run_lease
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.steps import kept_runs
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.kinds.workflows.store.run_store import given_input
from queueops.model.contracts import Exchange, Lease, RoundTrip
from queueops.redis import wire
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.composites.channel import CHANNEL
from tests.kernel.desk import Desk
from tests.support.monitoring import round_trips

ran: list[int] = []


@activity(name="short.add")
def add(number: int) -> int:
    """One more."""
    ran.append(number)
    return number + 1


@workflow(name="short.in_sequence")
async def in_sequence(count: int) -> int:
    """Activities one after the other."""
    number = 0
    for _ in range(count):
        number = await wf.call(add, number)
    return number


@workflow(name="short.at_once")
async def at_once(count: int) -> int:
    """Activities at once."""
    return sum(await asyncio.gather(*(wf.call(add, number) for number in range(count))))


@workflow(name="short.leaves")
async def leaves() -> str:
    """Returns in the step that begins an activity."""
    running = asyncio.ensure_future(wf.call(add, 1))
    await asyncio.sleep(0)
    return "gone" if not running.done() else "done"


@pytest.fixture(autouse=True)
def _apart(namespace: str) -> None:
    kept_runs.clear()
    ran.clear()


class Hand:
    """A worker that takes what its calls bring, and nothing else."""

    def __init__(self) -> None:
        self.broker = get_broker()
        self.asked: list[str] = []

    def first(self) -> list[Lease]:
        """What a worker without work gets."""
        return self.broker.exchange("default", "w1", RoundTrip(want=8, idle=True)).leases

    def settle(self, *leases: Lease, want: int = 8) -> Exchange:
        """Run these tasks, and settle them in one call that wants more."""
        ends = [run_lease(lease, CHANNEL) for lease in leases]
        return self.broker.exchange("default", "w1", RoundTrip(settle=ends, want=want, idle=True))


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    """It notes each call for the input of a step."""
    made = Hand()
    asks = WorkflowCalls.step_input

    def noted(self: WorkflowCalls, lease: Lease, fence: int, length: int) -> Any:
        made.asked.append(lease.id)
        return asks(self, lease, fence, length)

    monkeypatch.setattr(WorkflowCalls, "step_input", noted)
    return made


@pytest.mark.parametrize("keeps", [True, False])
def test_each_settlement_brings_the_next_task_and_no_step_asks_for_its_input(hand: Hand, keeps: bool) -> None:
    run = in_sequence.start(4)
    (lease,) = hand.first()
    for _ in range(4):
        (lease,) = hand.settle(lease).leases
        assert lease.kind == "activity"
        (lease,) = hand.settle(lease).leases
        assert lease.id == run.id
        if not keeps:
            kept_runs.clear()
    assert not hand.settle(lease).leases
    assert run.result(timeout=0) == 4
    assert not hand.asked


def test_a_step_with_open_activities_asks_when_it_begins_and_takes_all_their_ends(hand: Hand) -> None:
    run = at_once.start(3)
    (lease,) = hand.first()
    leases = hand.settle(lease).leases
    assert [each.kind for each in leases] == ["activity"] * 3
    (step,) = hand.settle(leases[0]).leases
    assert not hand.settle(leases[1], leases[2]).leases  # the run is leased already
    assert not step.brief
    assert not hand.settle(step).leases
    assert hand.asked == [run.id]
    assert run.result(timeout=0) == 6


def test_an_activity_of_the_last_step_is_given_to_no_worker(hand: Hand) -> None:
    run = leaves.start()
    (lease,) = hand.first()
    assert not hand.settle(lease).leases
    run_worker()
    assert run.result(timeout=0) == "gone"
    assert not ran


@workflow(name="short.listens")
async def listens() -> list[Any]:
    """Two signals."""
    return [await wf.signal("go"), await wf.signal("go")]


@workflow(name="short.relayed")
async def relayed() -> int:
    """An activity, then a timer."""
    number = await wf.call(add, 1)
    await wf.sleep(3600)
    return number


def handed(hand: Hand) -> Lease:
    """The task in the token of the worker that waits."""
    (text,) = hand.broker.client.lrange(hand.broker.keys("default").wake("w1"), 0, -1)
    hand.broker.client.delete(hand.broker.keys("default").wake("w1"))
    lease = wire.read_token("default", text)
    assert isinstance(lease, Lease), lease
    return lease


@pytest.mark.parametrize("instance", ["", "mine"])
def test_a_start_and_a_signal_hand_the_run_to_a_worker_that_waits(hand: Hand, instance: str) -> None:
    assert not hand.first()
    run = (listens.using(id=instance) if instance else listens).start()
    assert not hand.settle(handed(hand)).leases
    for number in range(2):
        run.signal("go", number)
        lease = handed(hand)
        assert b'"signal"' in lease.brief
        assert not hand.settle(lease).leases
    assert run.result(timeout=0) == [0, 1]
    assert not hand.asked


def test_an_event_with_a_zero_byte_does_not_cut_the_token(hand: Hand) -> None:
    assert not hand.first()
    run = listens.start()
    hand.settle(handed(hand))
    hand.broker.client.rpush(f"{hand.broker.keys('default').task(run.id)}#inbox", b"a\0b")  # of other software
    run.signal("go", 1)
    lease = handed(hand)
    assert (lease.id, lease.brief) == (run.id, b"")
    hand.settle(lease)
    assert (run.state, hand.asked) == ("postponed", [run.id])  # it is blocked, and says why


def test_a_run_that_was_handed_to_a_lost_worker_goes_to_another_one(hand: Hand) -> None:
    assert not hand.first()
    run = listens.start()
    hand.settle(handed(hand))
    run.signal("go", 1)
    late = handed(hand)
    desk = Desk(hand.broker)
    desk.make_due(run.id)
    assert desk.tick() == {"released": 1}
    run.signal("go", 2)
    assert hand.settle(late, want=0).settled == ["STALE"]
    run_worker()
    assert run.result(timeout=0) == [1, 2]
    record = hand.broker.record("default", run.id)
    assert record is not None
    assert record.crashes == 0


def test_a_worker_without_room_gets_nothing(hand: Hand) -> None:
    run = in_sequence.start(1)
    (lease,) = hand.first()
    assert not hand.settle(lease, want=0).leases
    run_worker()
    assert run.result(timeout=0) == 1


def test_a_long_history_is_not_given_but_its_length_is(hand: Hand) -> None:
    run = in_sequence.start(9)
    (lease,) = hand.first()
    for _ in range(9):
        (lease,) = hand.settle(lease).leases
        (lease,) = hand.settle(lease).leases
    assert not hand.asked  # it is in memory
    kept_runs.clear()
    hand.settle(lease)
    assert hand.asked == [run.id]
    assert run.result(timeout=0) == 9


@pytest.mark.parametrize("brief", [b"{", b"[]", b'[["","","",""],[],"1"]', b"\xff", b'[["1","","",""],[{}],[]]'])
def test_a_brief_that_cannot_be_read_is_asked_for(hand: Hand, brief: bytes) -> None:
    run = in_sequence.start(1)
    (lease,) = hand.first()
    assert given_input(lease, 0, 0) is not None
    lease.brief = brief
    ends = hand.settle(lease)
    if not brief.startswith(b'[["1"'):  # that one can be read: its event tells what is wrong with it
        assert hand.asked == [run.id]
        (lease,) = ends.leases
        (lease,) = hand.settle(lease).leases
        hand.settle(lease)
        assert run.result(timeout=0) == 1
    else:
        assert run.state == "postponed"


def test_an_event_of_other_software_in_the_inbox_blocks_the_run(hand: Hand) -> None:
    run = in_sequence.start(1)
    broker = hand.broker
    broker.client.rpush(f"{broker.keys('default').task(run.id)}#inbox", "no json")
    (lease,) = hand.first()
    assert given_input(lease, 0, 0) is None
    hand.settle(lease)
    view = broker.record("default", run.id)
    assert view is not None
    assert view.state == "postponed"
    assert hand.asked == [run.id]


def test_an_activity_and_the_step_after_it_cost_few_commands(hand: Hand) -> None:
    in_sequence.start(6)
    desk, leases, costs = Desk(get_broker()), hand.first(), []

    def settle() -> None:
        leases[:] = hand.settle(*leases).leases

    for _ in range(5):
        costs.append(tuple(len(round_trips(desk, settle).inside) for _ in range(2)))
    assert leases
    assert min(costs) <= (41, 41), costs


def waits(hand: Hand, worker: str) -> None:
    """A worker has nothing to do, and says so."""
    assert not hand.broker.exchange("default", worker, RoundTrip(want=8, idle=True)).leases


def token_of(hand: Hand, worker: str) -> Lease | None:
    """What a waiting worker was given."""
    texts = hand.broker.client.lrange(hand.broker.keys("default").wake(worker), 0, -1)
    hand.broker.client.delete(hand.broker.keys("default").wake(worker))
    found = [wire.read_token("default", text) for text in texts]
    return next((lease for lease in found if isinstance(lease, Lease)), None)


def make_step(hand: Hand, worker: str, lease: Lease) -> list[Lease]:
    """Run what a worker was given, and what its settlement brings."""
    trip = RoundTrip(settle=[run_lease(lease, CHANNEL)], want=8, idle=True)
    return hand.broker.exchange("default", worker, trip).leases


@pytest.fixture
def waiting_run(hand: Hand) -> WorkflowHandle[list[Any]]:
    """A run whose first step `w1` made. Then `w2` began to wait, after `w1`."""
    waits(hand, "w1")
    run = listens.start()
    lease = token_of(hand, "w1")
    assert lease is not None
    assert not make_step(hand, "w1", lease)
    waits(hand, "w2")
    return run


def test_a_signal_wakes_the_worker_that_has_the_run(hand: Hand, waiting_run: WorkflowHandle[list[Any]]) -> None:
    waiting_run.signal("go", 1)
    assert token_of(hand, "w2") is None
    lease = token_of(hand, "w1")
    assert lease is not None
    assert (lease.id, waiting_run.state) == (waiting_run.id, "locked")
    make_step(hand, "w1", lease)
    assert not hand.asked
    Desk(hand.broker).check()


def test_another_worker_replays_a_run_whose_own_is_busy_or_gone(
    hand: Hand, waiting_run: WorkflowHandle[list[Any]]
) -> None:
    idle = hand.broker.keys("default").idle
    hand.broker.client.zadd(idle, {"w1": Desk(hand.broker).now() - 1})  # it should have woken up by itself
    waiting_run.signal("go", 1)
    assert token_of(hand, "w1") is None
    lease = token_of(hand, "w2")
    assert lease is not None
    kept_runs.clear()  # that of another process
    assert not make_step(hand, "w2", lease)
    hand.broker.client.zrem(idle, "w1", "w2")  # both are busy
    waiting_run.signal("go", 2)
    assert [token_of(hand, worker) for worker in ("w1", "w2")] == [None, None]
    run_worker()
    assert waiting_run.result(timeout=0) == [1, 2]


def test_a_worker_that_does_not_know_the_run_is_not_given_it(
    hand: Hand, waiting_run: WorkflowHandle[list[Any]]
) -> None:
    hand.broker.client.sadd(f"{hand.broker.keys('default').prefix}:unable:w1", "short.listens")
    waiting_run.signal("go", 1)
    assert token_of(hand, "w1") is None
    assert token_of(hand, "w2") is not None


def test_an_activity_that_another_worker_ends_and_a_timer_wake_the_worker_that_has_the_run(hand: Hand) -> None:
    run = relayed.start()
    (step,) = hand.first()
    (lease,) = make_step(hand, "w1", step)
    waits(hand, "w1")
    assert not make_step(hand, "w2", lease)  # `w1` was stopped, and `w2` ends what it began
    given = token_of(hand, "w1")
    assert given is not None
    assert (given.id, hand.asked) == (run.id, [])
    assert not make_step(hand, "w1", given)
    waits(hand, "w2")
    desk = Desk(hand.broker)
    desk.make_due(f"~timer:2:{run.id}")
    desk.tick()
    assert token_of(hand, "w2") is None
    given = token_of(hand, "w1")
    assert given is not None
    assert not make_step(hand, "w1", given)
    assert run.result(timeout=0) == 2
    desk.check()
