"""Code as users write it. It is never run: mypy and pyright check it, and each `assert_type` is an assertion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from collections.abc import Iterator as Iterates
from datetime import timedelta
from pathlib import Path
from typing import Any, assert_type

import queueops
from queueops import (
    Batch,
    Cancelled,
    Chain,
    Composite,
    Context,
    Depends,
    Iterator,
    MapReduce,
    Permanent,
    Progress,
    Results,
    RetryLater,
    Schedule,
    Signature,
    SoftTimeout,
    State,
    TaskFailed,
    TaskHandle,
    TaskStatus,
    activity,
    chain,
    control,
    current,
    group,
    schedules,
    task,
    task_failed,
    wf,
    workflow,
)
from queueops.conf import Settings
from queueops.contrib.once import once
from queueops.kinds.workflows.events import Entry
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.model.contracts import Settlement
from queueops.stores import PlainStore
from queueops.tasks.encoder import Encoder
from queueops.testing.conformance import EncoderConformance, ExecutorConformance, StoreConformance
from queueops.worker.execution.task_start import Order, TaskExecutor, TaskStart


@task
def add(a: int, b: int = 1) -> int:
    return a + b


@task(retries=3, timeout=timedelta(minutes=1), delay=60, tags=["a"])
async def add_later(a: int) -> str:
    context: Context = current()
    assert_type(context.cancelled, bool)
    try:
        context.extend(-1)
        context.set_deadline(timedelta(seconds=5))
        context.progress(1, 2)
    except SoftTimeout as error:
        return str(error)
    except ValueError as error:
        raise RetryLater(timedelta(minutes=1), error) from error
    except LookupError as error:
        raise RetryLater(0.5) from error
    except OSError:
        raise Permanent("no article") from None
    except Cancelled as error:
        return error.reason
    return str(a)


@task
def count(n: int) -> Iterates[int]:
    yield from range(n)


@task
def with_session(n: int, session: dict[str, int] = Depends(dict)) -> int:
    return session["n"]


handle = add.push(1, b=2)
assert_type(handle, TaskHandle[int])
assert_type(handle.result(timeout=1), int)
assert_type(handle.state, State | None)
assert_type(handle.progress, Progress | None)
assert_type(handle.status(), TaskStatus | None)
assert_type(add(1), int)
coroutine: Coroutine[Any, Any, str] = add_later(1)
assert_type(add_later.push(1).result(), str)
assert_type(count.push(1).result(), list[int])
assert_type(add.postpone(60, 1).result(), int)
assert_type(add.postpone(None, 1).result(), int)
assert_type(add.using(priority=1).push(1).result(), int)
assert_type(with_session.push(1).result(), int)
one: Signature[int] = add.s(1, b=2)
assert_type(add.s(b=2).push(), TaskHandle[int])
assert_type(count.si(1).using(priority=1).postpone(60).result(), list[int])
later: list[Signature] = [add.s(), with_session.s(), add_later.s(1)]
assert_type(chain(one, add_later.s()).push(), TaskHandle[str])
assert_type((one | add_later.s() | add.si(1)).push().result(), int)
assert_type(group(one, add_later.s(2)).push().result(), list[Any])
assert_type(chain(one, *later).push().result(), Any)
assert_type(chain(later).push(), TaskHandle[Any])
whole: Composite = chain(one, group(add.s(), add.s(2)), add.si(3))


@task(rate="10/m", limit=3, limit_key=lambda user_id, **_: user_id, expires=timedelta(hours=1), expected=(ValueError,))
def remind(user_id: int, text: str = "") -> str:
    return text


@task(limit=3, limit_key="{user_id}", throttle=60)
@once
def pay(user_id: int) -> str:
    current().add(remind.s(user_id))
    return "paid"


assert_type(remind.push(1, text=""), TaskHandle[str])
assert_type(pay.push(1), TaskHandle[str])
remind.using(expires=timedelta(hours=1), outbox=True).push(1)
remind.using(follow_up={"success": add.s(1), "failure": [add.si(1)]}).push(1)
schedules.create(remind.using(expires=60), Schedule("0 3 * * *", args=[1]), id="x")
assert_type(control.retry(["a"])[0].word, str)


class SqliteConformance(StoreConformance):
    def make_store(self, settings: Settings, directory: Path) -> PlainStore:
        return PlainStore(settings)


class WordCount(MapReduce):
    retries, timeout, max_parallel, delay = 2, 30, 8, 60

    def map(self, path: str) -> Iterates[str]:
        yield path

    def process(self, chunk: str) -> int:
        return len(chunk)

    def reduce(self, results: Results) -> dict[str, int]:
        return {"words": sum(results), "unread": len(self.dropped)}


class Limited(MapReduce):
    limit, rate = 3, "10/m"
    limit_key = lambda user_id, **_: user_id  # noqa: E731

    def map(self, user_id: int) -> Iterates[int]:
        yield user_id

    def process(self, chunk: int) -> int:
        return chunk


class LimitedByMethod(MapReduce):
    rate = 0.5

    def limit_key(self, user_id: int) -> int:
        return user_id

    def process(self, chunk: int) -> int:
        return chunk


class LimitedByTemplate(MapReduce):
    limit, limit_key = 3, "{user_id}"

    def map(self, user_id: int) -> Iterates[int]:
        yield user_id

    def process(self, chunk: int) -> int:
        return chunk


class WordCountLater(MapReduce):
    async def map(self, path: str) -> AsyncIterator[str]:
        yield path

    async def process(self, chunk: str) -> int:
        return len(chunk)

    async def reduce(self, results: Results) -> int:
        return sum([result async for result in results])


class Listed(MapReduce):
    async def map(self, path: str) -> list[str]:
        return [path]

    def process(self, chunk: str) -> str:
        return chunk


class Backfill(Iterator):
    window = 10

    def iterate(self, state: int | None, since: str) -> Batch | None:
        return Batch(state=(state or 0) + 1, tasks=[add.s(1)]) if state != 3 else None


class BackfillLater(Iterator):
    async def iterate(self, state: int | None, since: str) -> Batch | None:
        return None


class Report(Chain):
    def init(self, day: str) -> list[queueops.Composite]:
        return [chain(add.s(1))]


assert_type(WordCount.push("a"), TaskHandle[Any])
Backfill.postpone(None, since="2026-01-01")


def on_failure(sender: object, context: Context, error: BaseException, **kwargs: object) -> None:
    if isinstance(error, TaskFailed):
        assert_type(error.message, str)


task_failed.connect(on_failure)


@activity(name="types.charge", retries=5)
def charge(order: str, amount: int) -> str:
    return f"{order}: {amount}"


@activity
async def ship(order: str) -> list[str]:
    return [order]


@workflow(name="types.order", unique="order:{order}")
async def order_flow(order: str, amount: int = 1) -> list[str]:
    receipt = await wf.call(charge, order, amount)
    assert_type(receipt, str)
    assert_type(await wf.call(ship, order), list[str])
    assert_type(await wf.call(charge.using(lane="cards"), order, amount=2), str)
    assert_type(await wf.child(order_flow, order), list[str])
    assert_type(wf.patched("fee"), bool)
    return [receipt]


@workflow(
    name="types.nightly",
    pool="p",
    lane="l",
    priority=3,
    timeout=timedelta(seconds=3),
    cron="0 3 * * *",
    tags=["a"],
    keep=60,
    on_conflict="ignore",
    durable=True,
    meta={"a": 1},
    follow_up={"success": add.s(1)},
)
async def nightly(day: int = 1) -> int:
    both = await asyncio.gather(wf.call(charge, "a", 1), wf.call(add, 1))
    assert_type(both, tuple[str, int])
    assert_type(wf.info().length, int)
    return both[1]


@workflow
async def bare() -> int:
    return 1


def starts() -> None:
    run = order_flow.start("7", amount=3)
    assert_type(run, WorkflowHandle[list[str]])
    assert_type(run.result(timeout=5), list[str])
    assert_type(order_flow.using(id="order-7").start("7").signal("approve", True), None)
    assert_type(order_flow.start("7", amount=3, id="order-7"), WorkflowHandle[list[str]])
    assert_type(order_flow.handle("order-7"), WorkflowHandle[list[str]])
    assert_type(bare.start_on_commit().retry(), bool)
    assert_type(run.reset(3), WorkflowHandle[list[str]])


async def starts_later() -> None:
    run = await order_flow.astart("7")
    assert_type(await run.aresult(), list[str])
    assert_type(await order_flow.astart("7", id="order-7"), WorkflowHandle[list[str]])
    assert_type(await order_flow.ahandle("order-7"), WorkflowHandle[list[str]])
    assert_type(await bare.astart_on_commit(), WorkflowHandle[int])
    assert_type(await run.aterminate("wrong order"), bool)
    assert_type(await run.ahistory(), list[Entry])
    assert_type(await run.acustom_status(), Any)
    assert_type(await run.areset(3), WorkflowHandle[list[str]])


class Money:
    """A class of the project."""

    def __init__(self, cents: int) -> None:
        self.cents = cents


class MoneyEncoder:
    """Stores it."""

    types = (Money,)

    def encode(self, value: Money) -> int:
        return value.cents

    def decode(self, wanted: type[Money], data: int) -> Money:
        return wanted(data)


class Here:
    """Runs tasks in the threads of the worker."""

    def execute(self, start: TaskStart) -> Settlement:
        start.listen(self.heed)
        return start.run()

    def heed(self, order: Order) -> None:
        assert_type(order.interrupt, str)

    def close(self) -> None:
        """Nothing is left."""


encoder: Encoder = MoneyEncoder()
executor: TaskExecutor = Here()


class TestMoneyEncoder(EncoderConformance):
    """Its tests."""

    encoder = "shop.MoneyEncoder"
    values = (Money(7),)


class TestHere(ExecutorConformance):
    """Its tests."""

    executor = "shop.Here"
