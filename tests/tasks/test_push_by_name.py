"""A push by the name of a task, with its code and without."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

import queueops
from queueops import chain, task, task_named
from queueops.errors import BadArguments, BadId, BadOption, IdInUse, NotEncodable, UnknownOption, UnknownTask
from queueops.errors.tasks import BadTask, CodeElsewhere
from queueops.model.retry import Retry
from queueops.model.states import State
from queueops.redis.broker import get_broker
from queueops.tasks import registry
from queueops.testing import eager, run_worker
from tests.support import tasks_for_tests as tasks
from tests.support.tasks_for_tests import Letters, Nothing, Sum

FAR = "shop.tasks.bill"


@pytest.fixture
def code():
    """Deploys the code of the task, as another project has it."""
    known = []

    def deploy():
        @task(name=FAR, retries=7)
        def bill(number: int, *, on: dt.date | None = None) -> list:
            return [number, on and on.year]

        known.append(bill)
        return bill

    yield deploy
    for each in known:
        registry.unregister("task", each.name)


def record(handle):
    return get_broker().record(handle.pool, handle.id)


def test_a_task_is_pushed_without_its_code(namespace, code):
    handle = queueops.push(FAR, 7, on=dt.date(2026, 1, 2))
    assert (handle.status().name, handle.status().args) == (FAR, [7])
    code()
    run_worker()
    assert handle.result(timeout=0) == [7, 2026]


def test_async_code_does_so_too(namespace, code):
    handles = [asyncio.run(queueops.apush(FAR, 7)), asyncio.run(task_named(FAR).apush_many([(8,)]))[0]]
    code()
    run_worker()
    assert [handle.result(timeout=0) for handle in handles] == [[7, None], [8, None]]


def test_options_are_those_of_using(namespace):
    far = task_named(FAR, pool="mail", lane="bulk", priority=9, retries=0, retry=Retry(1), timeout=5, meta={"a": 1})
    stored = record(far.using(id="x", tags=["t"], delay=60).push(7))
    assert (stored.pool, stored.lane, stored.priority, stored.retries, stored.timeout) == ("mail", "bulk", 9, 0, 5000)
    assert (stored.id, stored.tags, stored.state, stored.name) == ("x", ("t",), State.POSTPONED, FAR)
    with pytest.raises(IdInUse):
        task_named(FAR, pool="mail", id="x", on_conflict="reject").push(7)
    assert record(task_named(FAR).push(7)).retries == 2
    with pytest.raises(UnknownOption, match="'queue'"):
        task_named(FAR, queue="mail")


def test_it_can_be_postponed_pushed_many_times_and_be_a_part(namespace, code):
    far = task_named(FAR)
    assert far.postpone(60, 7).state is State.POSTPONED
    handles = far.push_many([(1,), ((2,), {"on": None})])
    whole = chain(tasks.add.s(1), far.s()).push()
    code()
    run_worker()
    assert [handle.result(timeout=0) for handle in (*handles, whole)] == [[1, None], [2, None], [2, None]]


@pytest.mark.parametrize("name", ["name", "task", "self", "args"])
def test_any_name_can_be_that_of_an_argument(namespace, name):
    assert queueops.push(FAR, **{name: 1}).status().kwargs == {name: 1}


def test_what_this_process_knows_is_pushed_as_by_its_task(namespace, code):
    bill = code()
    assert task_named(FAR) is bill
    assert record(queueops.push(FAR, 7)).retries == 7
    with pytest.raises(BadArguments, match="'number' must be given"):
        queueops.push(FAR)
    assert queueops.push(tasks.mail.name, 42).id == "mail:42"


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("made", "args", "result"), [(Letters, ("a", "bc"), 3), (Sum, (1, 2, 3), 6), (Nothing, (), None)]
)
def test_classes_that_this_process_knows_have_names_too(namespace, at_once, made, args, result):
    if at_once:
        with eager():
            assert queueops.push(made.name, *args).result() == result
    else:
        handle = task_named(made.name, tags=["x"]).push(*args)
        run_worker()
        assert (handle.result(timeout=0), handle.status().tags) == (result, ("x",))


def test_what_is_wrong_is_refused(namespace, redis_client):
    with pytest.raises(BadId, match="is not a valid name of a task"):
        queueops.push("a b")
    with pytest.raises(BadId):
        queueops.push(None, 1)
    with pytest.raises(BadTask):
        queueops.push(tasks.add, 1)
    with pytest.raises(NotEncodable, match=r"The arguments of shop\.tasks\.bill .* argument 1 is an object"):
        queueops.push(FAR, object())
    with pytest.raises(BadOption):
        task_named(FAR, priority=1000)
    assert redis_client.keys(f"*{namespace}*:task:*") == []


def test_it_cannot_be_called_where_its_code_is_not():
    with pytest.raises(CodeElsewhere, match=r"shop\.tasks\.bill cannot be called here: .* Use push\(\.\.\.\)\."):
        task_named(FAR)(7)
    assert (repr(task_named(FAR)), task_named(FAR).__name__) == (f"<Task {FAR}>", FAR)


def test_an_eager_push_needs_the_code(code):
    with eager(), pytest.raises(UnknownTask, match=FAR):
        queueops.push(FAR, 7)
    code()
    with eager():
        assert queueops.push(FAR, 7).result() == [7, None]


def _plain(number: int) -> None: ...


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        (tasks.add, "Write add.push(...)."),
        (Sum, "Write Sum.push(...)."),
        (_plain, "Put @task above _plain, and write _plain.push(...)."),
    ],
)
def test_a_task_in_the_place_of_its_name_is_refused_with_what_to_write(given, instead):
    with pytest.raises(BadTask) as caught:
        queueops.push(given, 1)
    assert str(caught.value) == f"queueops.push and task_named take the name of a task, not {given!r}. {instead}"
