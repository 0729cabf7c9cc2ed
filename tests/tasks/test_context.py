"""What a task knows of its own execution, and can tell its worker."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from queueops import Group, Iterator, MapReduce, chain, group, inspect
from queueops.errors import BadOption, Cancelled, Interrupt, Restart
from queueops.errors.leases import LeaseLost
from queueops.model.contracts import Lease, Outcome, RoundTrip, Settlement
from queueops.model.reasons import LONGEST_REASON
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.tasks.context import Context, current, enter, leave, running
from queueops.testing import eager, run_worker
from queueops.worker.execution import settlements
from tests.support import tasks_for_tests as tasks
from tests.support.for_each import for_each


class Written:
    """A channel that writes down what it is told."""

    def __init__(self):
        self.told = []

    def progress(self, lease, done, total):
        self.told.append(("progress", lease.id, done, total))

    def log(self, lease, text):
        self.told.append(("log", lease.id, text))

    def extend(self, lease, seconds):
        self.told.append(("extend", lease.id, seconds))

    def set_deadline(self, lease, seconds):
        self.told.append(("deadline", lease.id, seconds))


@pytest.fixture
def channel():
    return Written()


@pytest.fixture
def context(channel):
    lease = Lease(id="x", fence=1, name=tasks.add.name, attempt=2, pool="mail")
    token = enter(Context(lease, tasks.add.handler, channel))
    yield current()
    leave(token)


def test_it_names_the_task_and_the_attempt(context):
    assert (context.id, context.attempt, context.task, context.pool, context.root) == ("x", 2, tasks.add, "mail", "x")
    assert running() is context


def test_what_it_tells_goes_through_the_channel(context, channel):
    context.progress(1)
    context.progress(1.5, 3)
    context.log(42)
    context.extend(timedelta(minutes=1))
    context.extend(-0.5)
    context.extend(timedelta(minutes=-1))
    context.set_deadline(timedelta(minutes=1))
    context.set_deadline(0)
    assert channel.told == [
        ("progress", "x", 1, None),
        ("progress", "x", 1.5, 3),
        ("log", "x", "42"),
        ("extend", "x", 60.0),
        ("extend", "x", -0.5),
        ("extend", "x", -60.0),
        ("deadline", "x", 60.0),
        ("deadline", "x", 0.0),
    ]


INF, NAN = float("inf"), float("nan")


@for_each(
    "wrong", [("1",), (True,), (1, "2"), (None,), (NAN,), (INF,), (-1,), (1, INF), (1, NAN), (10**400,), (1, 10**400)]
)
def test_progress_is_a_number_that_has_an_end(context, channel, wrong):
    with pytest.raises(BadOption, match="a number from 0 to 1e18"):
        context.progress(*wrong)
    assert channel.told == []


@pytest.mark.parametrize("wrong", ["1", None, True, INF, -INF, NAN, -(10**12), 10**12])
def test_more_or_less_time_is_a_number_of_seconds(context, channel, wrong):
    with pytest.raises(BadOption, match="seconds"):
        context.extend(wrong)
    with pytest.raises(BadOption, match="seconds"):
        context.set_deadline(wrong)
    with pytest.raises(BadOption, match="from 0 seconds"):
        context.set_deadline(-1)
    assert channel.told == []


def test_asking_to_cancel_is_seen_and_its_reason_kept(context):
    assert (context.cancelled, context.cancel_reason) == (False, "")
    context.ask_to_cancel("enough")
    assert context.cancelled
    with pytest.raises(Cancelled, match="enough"):
        context.cancel()
    with pytest.raises(Cancelled, match="my own"):
        context.cancel("my own")


def test_of_a_reason_to_cancel_a_bounded_part_is_kept(context):
    with pytest.raises(Cancelled) as caught:
        context.cancel("r" * 3_000_000)
    assert caught.value.reason == "r" * LONGEST_REASON
    with pytest.raises(Cancelled) as caught:
        context.cancel("a lone \ud800")
    assert caught.value.reason == "a lone ?"
    ended = settlements.raised(context, Cancelled(reason="r" * 3_000_000))
    assert ended.value == b"r" * LONGEST_REASON


def test_an_interrupt_is_not_caught_by_what_catches_exceptions(context):
    def careless():
        try:
            context.restart(timedelta(seconds=2), count_attempt=True)
        except Exception:  # what tasks do
            return "swallowed"

    with pytest.raises(Restart) as caught:
        careless()
    assert (caught.value.seconds, caught.value.counted) == (2.0, True)
    assert isinstance(caught.value, Interrupt)


def test_a_generator_stops_at_the_yield_after_it_was_asked_to(channel):
    context = Context(Lease(id="x", fence=1, name="t", args=b"[[5],{}]"), tasks.count_to.handler, channel)
    context.ask_to_cancel("enough")
    with pytest.raises(Cancelled, match="enough"):
        tasks.count_to.handler.run(context)
    assert channel.told == [("progress", "x", 1, None)]


@pytest.fixture
def running_context(namespace, channel):
    """The context of a task that holds a lease in the store."""
    tasks.add.using(id="x").push(1)
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    token = enter(Context(lease, tasks.add.handler, channel))
    yield current()
    leave(token)


WAYS_TO_PUSH = [
    lambda context: context.push(tasks.add, 1),
    lambda context: asyncio.run(context.apush(tasks.add, 1)),
    lambda context: context.postpone(0, tasks.add, 1),
    lambda context: asyncio.run(context.apostpone(0, tasks.add, 1)),
    lambda context: context.push_many(tasks.add, [(1,), ((2,), {})])[0],
    lambda context: context.push_many(Doubled, [(1,)])[0],
    lambda context: context.push(tasks.add.s(1)),
    lambda context: context.push(tasks.add.using(pool="mail"), 1),
    lambda context: context.push(Doubled, 1),
    lambda context: context.push(Counted),
    lambda context: context.push(Both, 1),
    lambda context: context.push(chain(tasks.add.s(1), tasks.add.s())),
    lambda context: context.push(group(tasks.add.s(1), tasks.add.using(pool="mail").s(2))),
    lambda context: context.postpone(60, chain(tasks.add.s(1), tasks.add.s())),
]


@pytest.mark.parametrize("push", WAYS_TO_PUSH)
def test_a_pushed_child_has_this_task_as_its_root(running_context, push):
    child = push(running_context)
    assert get_broker().record(child.pool, child.id).root == "x"


@pytest.mark.parametrize("push", WAYS_TO_PUSH)
def test_a_task_that_lost_its_lease_pushes_no_child(running_context, push):
    lease = running_context.lease
    get_broker().exchange("default", "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, Outcome.RELEASE)]))
    with pytest.raises(LeaseLost, match="wrote nothing"):
        push(running_context)
    assert len(list(get_broker().client.scan_iter("*:task:*"))) == 1


def test_a_plain_push_within_a_task_asks_for_no_lease(running_context):
    lease = running_context.lease
    get_broker().exchange("default", "w1", RoundTrip(settle=[Settlement(lease.id, lease.fence, Outcome.RELEASE)]))
    assert tasks.add.push(1).state is State.PENDING


@pytest.mark.parametrize("wrong", [print, "tests.add", tasks.add.s(1), chain(tasks.add.s(1))])
def test_many_calls_are_those_of_a_task_or_a_class(context, wrong):
    with pytest.raises(BadOption, match="a task or a class, whose calls follow as a list"):
        context.push_many(wrong, [(1,)])


class Both(Group):
    def init(self, n):
        return [tasks.add.s(n), tasks.add.s(n + 1)]


class Counted(Iterator):
    def iterate(self, state):
        return None


class Doubled(MapReduce):
    def map(self, n):
        return range(n)

    def process(self, chunk):
        return 2 * chunk

    def reduce(self, results):
        return sum(results)


@pytest.mark.parametrize(
    ("pushed", "result"),
    [
        ((tasks.add, 1), 2),
        ((tasks.add.using(priority=1), 1), 2),
        ((tasks.add.s(1),), 2),
        ((Doubled, 3), 6),
        ((Doubled.using(priority=1), 3), 6),
        ((Both, 1), [2, 3]),
        ((Both.using(tags=["x"]), 1), [2, 3]),
        ((chain(tasks.add.s(1), tasks.add.s()),), 3),
        ((tasks.add.s(1) | tasks.add.s(),), 3),
    ],
)
def test_whatever_can_be_pushed_is_pushed_as_a_descendant(context, pushed, result):
    with eager() as broker:
        for handle in (context.push(*pushed), asyncio.run(context.apush(*pushed))):
            assert handle.result() == result
            assert broker.record(handle.pool, handle.id).root == "x"


@pytest.mark.parametrize("wrong", [(print,), ("tests.add", 1), (chain(tasks.add.s(1)), 1), (tasks.add.s(1), 2)])
def test_what_can_be_pushed_by_nobody_is_refused(context, wrong):
    with eager() as broker, pytest.raises(BadOption, match="a task or a class with its arguments"):
        context.push(*wrong)
    assert broker.records == {}


def test_a_task_that_restarts_itself_says_so_in_its_log(namespace):
    handle = tasks.come_again.push()
    run_worker()
    assert handle.result(timeout=60) == 2
    lines = inspect.task(handle.id).timeline
    assert [moment.text for moment in lines if "restarted itself" in moment.text] == ["restarted itself"]
