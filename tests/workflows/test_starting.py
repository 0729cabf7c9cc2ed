"""Ways to begin a run: at a time, by the clock, after a commit, in chains and groups, from a task, by a unique name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from threading import Thread
from typing import Any

import pytest
from django.db import transaction

from queueops import MapReduce, Schedule, chain, current, get, group, schedules, task, wf, workflow
from queueops.errors import BadArguments, BadId, BadOption, TaskCancelled, TaskFailed
from queueops.errors.leases import LeaseLost
from queueops.errors.refusals import DurabilityUnsupported
from queueops.errors.workflows import InstanceInUse
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.contracts import LeaseRef, RoundTrip
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.schedules.conftest import FAR
from tests.support.tasks_for_tests import add as add_task
from tests.support.tasks_for_tests import add_later
from tests.support.waiting import wait_until
from tests.workflows.test_runs import approval, cleaner, sums

pytestmark = pytest.mark.usefixtures("memory")


@workflow(name="wf.order_of", unique="order:{number}")
async def order_of(number: int, answer: str = "") -> Any:
    """One open run for each number."""
    return answer or await wf.signal("approve")


@workflow(name="wf.doubles")
async def doubles(number: int) -> int:
    """Twice the number."""
    return 2 * await wf.call(add_task, number, 0)


@workflow(name="wf.fails")
async def fails(number: int) -> int:
    """Fails."""
    raise ValueError("no")


@workflow(name="wf.any_task")
async def calls_any_task() -> list[Any]:
    """Calls functions below @task: a plain one, an async one and a generator."""
    return list(await asyncio.gather(wf.call(add_task, 1, 2), wf.call(add_later, 3, 4), wf.call(counts, 3)))


@workflow(name="wf.own_id")
async def own_id(id: str) -> str:
    """Has an argument with the name of an option."""
    return f"{wf.info().instance == id} {id}"


@workflow(name="wf.any_names")
async def any_names(**given: str) -> dict[str, str]:
    """Takes any names."""
    return given


@task(name="wf.counts")
def counts(most: int) -> Iterable[int]:
    """A generator."""
    yield from range(most)


@task(name="wf.starter")
def starter(number: int) -> int:
    """Starts a workflow, and waits for it."""
    return doubles.start(number).result(timeout=30)


@task(name="wf.pushes_child")
def pushes_child(number: int) -> str:
    """Starts a workflow as its descendant."""
    return current().push(doubles, number).id


class Whole(MapReduce):
    """A task of another kind."""

    def map(self, count: int) -> Iterable[int]:
        """The numbers."""
        return range(count)

    def process(self, chunk: int) -> int:
        """The number."""
        return chunk

    def reduce(self, results: Iterable[int]) -> int:
        """Their sum."""
        return sum(results)


@workflow(name="wf.calls_another_kind")
async def calls_another_kind() -> str:
    """Calls what is not a plain task."""
    found = []
    for wrong in (doubles, Whole, add_task.using(id="x"), len):
        try:
            await wf.call(wrong, 1)  # type: ignore[arg-type]
        except BadOption as error:
            found.append(str(error))
    return "\n".join(found)


def test_a_run_begins_at_its_time() -> None:
    run = doubles.using(id="later", delay=3600).start(7)
    assert run_worker() == 0
    assert run.state == State.POSTPONED
    run.run_now()
    run_worker()
    assert run.result(timeout=0) == 14


@pytest.mark.parametrize("reason", ["wrong order", ""])
def test_a_cancel_ends_a_run_that_has_not_begun(reason: str) -> None:
    run = doubles.using(id="later", delay=3600).start(7)
    assert run.cancel(reason)
    with pytest.raises(TaskCancelled, match=reason or "cancelled before its begin"):
        run.result(timeout=0)
    assert (run.history(), doubles.using(id="later").start(7).state) == ([], State.PENDING)


def test_a_cancel_of_a_run_that_is_due_is_one_for_its_code() -> None:
    run = cleaner.using(delay=3600).start()
    run.run_now()
    assert run.cancel()
    run_worker()
    assert run.result(timeout=0) == "cleaned 3"


def test_a_run_begins_by_the_clock() -> None:
    schedules.create(doubles, Schedule(FAR, args=(7,)), id="nightly")
    run = get(schedules.run_now("nightly"))
    assert run is not None
    run_worker()
    assert run.result(timeout=0) == 14
    record = get_broker().record("default", run.id)
    assert record is not None
    assert record.kind == "workflow"


@pytest.mark.django_db(transaction=True)
def test_a_run_begins_after_the_commit_and_not_after_a_rollback() -> None:
    with transaction.atomic():
        run = doubles.using(id="seven").start_on_commit(7)
        assert run.status() is None
    run_worker()
    assert run.result(timeout=0) == 14
    assert doubles.handle("seven").id == run.id
    with transaction.atomic():
        other = doubles.start_on_commit(8)
        transaction.set_rollback(True)
    assert other.status() is None


@pytest.mark.django_db(transaction=True)
def test_a_start_waits_for_the_commit_if_the_settings_say_so(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "on_commit"}
    with transaction.atomic():
        run = doubles.start(7)
        assert run.status() is None
    assert run.status() is not None


def test_workflows_are_parts_of_chains_and_groups() -> None:
    whole = chain(doubles.s(3), group(doubles.s(), add_task.s(1)), sum_of.s()).push()
    run_worker()
    assert whole.result(timeout=0) == 12 + 7


@task(name="wf.sum_of")
def sum_of(numbers: list[int]) -> int:
    """Their sum."""
    return sum(numbers)


def test_a_failed_workflow_fails_its_chain() -> None:
    whole = chain(fails.s(3), add_task.s(1)).push()
    run_worker()
    with pytest.raises(TaskFailed):
        whole.result(timeout=0)


def test_a_workflow_waits_in_the_middle_of_a_chain() -> None:
    whole = chain(add_task.s(1, 1), order_of_any.s(), add_task.s(1)).push()
    run_worker()
    assert whole.state == State.IDLE
    (waiting,) = [id for id in part_ids(whole.id) if (row := get(id)) and row.state == State.IDLE and id != whole.id]
    get_role(WorkflowCalls).tell_run("default", "signal", b'{"e":"signal","n":"approve","r":40}', run=waiting)
    run_worker()
    assert whole.result(timeout=0) == 43


@workflow(name="wf.order_of_any")
async def order_of_any(number: int) -> Any:
    """Adds the value of a signal."""
    return number + await wf.signal("approve")


def part_ids(root: str) -> list[str]:
    """The ids of the tasks of the pool that begin with that of a composite."""
    store = get_role(WorkflowCalls)
    prefix = store.keys("default").task("")
    names = store.ask("default", lambda client: client.keys(f"{prefix}*"))
    return sorted({name.decode().removeprefix(prefix).partition("#")[0] for name in names})


def test_a_task_starts_a_workflow_and_waits_for_it() -> None:
    handle = starter.push(21)
    first = Thread(target=run_worker, kwargs={"until_idle": False})
    first.start()
    try:
        wait_until(lambda: handle.state == State.LOCKED, 30)
        while handle.state != State.SUCCEEDED and first.is_alive():
            run_worker()
    finally:
        first.join(30)
    assert handle.result(timeout=0) == 42


def test_a_run_that_a_task_pushes_descends_from_it() -> None:
    handle = pushes_child.push(21)
    run_worker()
    run = get(handle.result(timeout=0))
    assert run is not None
    assert run.result(timeout=0) == 42
    record = get_broker().record("default", f"{run.id}.1")
    assert record is not None
    assert record.root == handle.id


def test_any_plain_task_is_an_activity() -> None:
    run = calls_any_task.start()
    run_worker()
    assert run.result(timeout=0) == [3, 7, [0, 1, 2]]


def test_what_is_not_a_plain_task_is_refused_with_advice() -> None:
    run = calls_another_kind.start()
    run_worker()
    told = run.result(timeout=0).split("\n")
    assert len(told) == 4
    for line, words in zip(told, ("wf.child()", "@task", "left out in a workflow", "@task"), strict=True):
        assert words in line


def test_a_unique_workflow_has_one_open_run_for_its_arguments() -> None:
    run = order_of.start(7)
    assert run.instance == "order:7"
    with pytest.raises(InstanceInUse, match="order:7"):
        order_of.start(7, "again")
    assert order_of.using(on_conflict="ignore").start(7).id == run.id
    assert order_of.start(8).id != run.id
    order_of.handle("order:7").signal("approve", "yes")
    run_worker()
    assert run.result(timeout=0) == "yes"
    assert order_of.start(7, "later").id != run.id


def test_a_name_that_only_a_start_can_use_is_refused_elsewhere() -> None:
    for push in (
        lambda: order_of.push(7),
        lambda: doubles.using(id="x").push(7),
        lambda: chain(doubles.using(id="x").s(7), add_task.s(1)).push(),
        lambda: schedules.create(order_of, Schedule(FAR, args=(7,)), id="nightly"),
    ):
        with pytest.raises(BadOption, match=r"left to start\(\)"):
            push()
    with pytest.raises(BadOption, match="left out with cron"):

        @workflow(name="wf.wrong", unique="x", cron="0 3 * * *")
        async def wrong() -> None: ...


@pytest.mark.parametrize("value", ["replace", "replace_postponed", "run_after"])
def test_a_conflict_that_a_workflow_cannot_solve_is_refused(value: str) -> None:
    with pytest.raises(BadOption, match='"reject" or "ignore"'):
        doubles.using(id="x", on_conflict=value)
    with pytest.raises(BadOption, match='"reject" or "ignore"'):

        @workflow(name="wf.wrong", on_conflict=value)
        async def wrong() -> None: ...


@pytest.mark.django_db(transaction=True)
def test_the_handle_of_a_start_after_the_commit_means_the_run_that_is_open(settings: Any) -> None:
    run = order_of.start(7)
    with transaction.atomic():
        after = order_of.using(on_conflict="ignore").start_on_commit(7)
    assert (after.id, after.word) == (run.id, "EXISTS")
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "on_commit"}
    with transaction.atomic():
        waits = order_of.using(on_conflict="ignore").start(7)
    assert waits.id == run.id
    run.signal("approve", "yes")
    run_worker()
    assert [each.result(timeout=0) for each in (after, waits)] == ["yes", "yes"]


@pytest.fixture
def without_append_only_file() -> Iterator[None]:
    """A server that cannot confirm that a write is on disk."""
    client = get_broker().client
    before = client.config_get("appendonly")["appendonly"]
    client.config_set("appendonly", "no")
    yield
    client.config_set("appendonly", before)


@pytest.mark.usefixtures("without_append_only_file")
def test_a_named_run_is_durable_or_does_not_begin() -> None:
    with pytest.raises(DurabilityUnsupported):
        order_of.using(durable=True).start(7)
    assert get_role(WorkflowCalls).newest_run("default", "order:7") is None


def test_a_named_run_begins_under_the_lease_of_the_task_that_starts_it() -> None:
    add_task.push(1, 2)
    (lease,) = get_broker().exchange("default", "w1", RoundTrip(want=1)).leases
    held = LeaseRef("default", lease.id, lease.fence)
    lost = LeaseRef("default", lease.id, lease.fence + 1)
    with pytest.raises(LeaseLost):
        order_of.using(id="x").descending(lease.id, lost, b"").start(7)  # type: ignore[attr-defined]
    run = order_of.using(id="x").descending(lease.id, held, b"").start(7)  # type: ignore[attr-defined]
    record = get_broker().record("default", run.id)
    assert record is not None
    assert record.root == lease.id


@pytest.mark.django_db(transaction=True)
def test_async_code_begins_runs_and_finds_them() -> None:
    async def begins() -> tuple[str, str, str]:
        one = await order_of.astart(7)
        two = await order_of.astart_on_commit(8)
        return one.id, two.id, (await order_of.ahandle("order:7")).id

    one, two, found = asyncio.run(begins())
    assert found == one
    assert order_of.handle("order:8").id == two


def test_what_cannot_begin_begins_nothing() -> None:
    for wrong, error in ((lambda: sums.start("x", "y"), BadArguments), (lambda: approval.using(id="\n"), BadId)):  # type: ignore[call-arg, arg-type]
        with pytest.raises(error):
            wrong()
    assert run_worker() == 0


def test_an_id_beside_the_arguments_names_the_instance() -> None:
    begun = asyncio.run(order_of.astart(7, id="by-name"))
    assert (begun.instance, order_of.handle("by-name").id) == ("by-name", begun.id)
    with pytest.raises(InstanceInUse):
        order_of.start(8, answer="x", id="by-name")
    assert order_of.using(on_conflict="ignore").start(8, id="by-name").id == begun.id
    with pytest.raises(BadId):
        order_of.start(8, id="")
    with pytest.raises(BadArguments, match="answr"):
        order_of.start(8, answr="x", id="other")


def test_an_argument_of_the_code_may_have_the_name_id() -> None:
    runs = own_id.start("a"), own_id.start(id="b"), own_id.using(id="c").start("c")
    named = any_names.start(id="d")
    run_worker()
    assert [run.result(timeout=0) for run in runs] == ["False a", "False b", "True c"]
    assert named.result(timeout=0) == {"id": "d"}
