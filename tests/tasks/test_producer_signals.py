"""Signals of the producer's side: `task_pushed`, `task_expired`, `task_cancelled` of waiting tasks, and `on_push`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from queueops import (
    Batch,
    TaskHandle,
    chain,
    control,
    current,
    group,
    schedules,
    task,
    task_cancelled,
    task_expired,
    task_pushed,
)
from queueops import Iterator as Iterates
from queueops.errors import IdInUse
from queueops.redis.broker import get_broker
from queueops.tasks.push_hooks import PushInfo
from queueops.testing import eager, recorder, run_worker
from tests.support.tasks_for_tests import add
from tests.support.waiting import wait_until

Told = list[tuple[str, str, dict[str, Any]]]


@task
def parent() -> str:
    """Push a child."""
    return current().push(add, 1, 2).id


@task
def look() -> dict[str, Any]:
    """Its metadata."""
    return current().meta


class Numbers(Iterates):
    """Emits one task."""

    def iterate(self, state):
        return None if state else Batch(state=1, tasks=[add.s(1)])


@pytest.fixture
def told() -> Iterator[Told]:
    """What the signals told: the name of the signal and of the task, and the metadata."""
    found: Told = []
    signals = {"pushed": task_pushed, "expired": task_expired, "cancelled": task_cancelled}
    receivers = []
    for word, signal in signals.items():

        def receiver(sender, task, handle, meta, word=word, **more):
            assert sender is task
            assert isinstance(handle, TaskHandle)
            found.append((word, getattr(task, "name", task), meta))

        signal.connect(receiver)
        receivers.append((signal, receiver))
    yield found
    for signal, receiver in receivers:
        signal.disconnect(receiver)


class Tracing:
    """Adds a trace to each push."""

    def __init__(self, get_result):
        self.get_result = get_result

    def __call__(self, run):
        return self.get_result(run)

    def on_push(self, push: PushInfo) -> None:
        push.meta["trace"] = f"{push.name.rpartition('.')[2]}:{getattr(push.task, 'name', push.task)}"


class Broken:
    """Its hook raises, or adds what is no JSON."""

    def __init__(self, get_result): ...

    def on_push(self, push: PushInfo) -> None:
        push.meta["half"] = object()
        if push.meta.get("raises"):
            raise ValueError("no trace")


def test_each_push_is_told_once_with_its_task_handle_and_metadata(namespace: str, told: Told) -> None:
    add.using(meta={"tenant": 7}, priority=1).push(1, 2)
    add.postpone(60, 1, 2)
    add.push_many([(1, 2), (3, 4)])
    assert told == [("pushed", add.name, {"tenant": 7}), *[("pushed", add.name, {})] * 3]
    told.clear()
    parent.using(id="p", meta={"tenant": 8}).push()
    parent.using(id="p").push()  # it is there already
    with pytest.raises(IdInUse):
        parent.using(id="p", on_conflict="reject").push()
    parent.using(id="p", on_conflict="run_after", follow_up={"success": add.si(1, 2)}).push()
    chain(add.s(1, 2), group(add.s(1), add.s(2))).push()
    Numbers.push()
    assert [name for _, name, _ in told] == [parent.name, parent.name, "chain", Numbers.name]
    told.clear()
    run_worker()
    assert sorted(told, key=str) == [  # two children, and a follow-up; the tasks of an iterator are parts of it
        ("pushed", add.name, {"tenant": 8}),
        ("pushed", add.name, {}),
        ("pushed", add.name, {}),
    ]


def test_runs_of_schedules_are_told_by_the_process_that_creates_them(namespace: str, told: Told, settings: Any) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "MIDDLEWARE": [f"{__name__}.Tracing"]}
    schedules.create(look, "0 3 * * *", id="nightly")
    run = control.run_schedule("nightly")
    assert told == [("pushed", look.name, {"trace": f"look:{look.name}"})]
    run_worker()
    record = get_broker().record("default", run)
    assert record is not None
    assert b"look:" in record.result


@pytest.mark.django_db(transaction=True)
def test_a_push_on_commit_is_told_when_it_is_made(namespace: str, told: Told) -> None:
    with transaction.atomic():
        add.push_on_commit(1, 2)
        assert told == []
    assert [word for word, *_ in told] == ["pushed"]


def test_a_receiver_that_raises_is_logged_and_loses_no_push(namespace: str, caplog: pytest.LogCaptureFixture) -> None:
    def receiver(**_: Any) -> None:
        raise ValueError("receiver is broken")

    task_pushed.connect(receiver)
    try:
        handles = [add.push(1, 2), *add.push_many([(1, 2)]), chain(add.s(1, 2)).push()]
    finally:
        task_pushed.disconnect(receiver)
    run_worker()
    assert [handle.result(timeout=5) for handle in handles] == [3, 3, 3]
    assert "receiver is broken" in caplog.text


def test_the_process_that_cancels_a_waiting_task_tells_it(namespace: str, told: Told) -> None:
    waiting = add.using(meta={"tenant": 1}).postpone(60, 1, 2)
    ids = [add.push(1, 2).id, chain(add.s(1, 2)).push().id]
    told.clear()
    waiting.cancel("not needed")
    control.cancel(ids, "not needed")
    assert told == [("cancelled", add.name, {"tenant": 1}), ("cancelled", add.name, {})]
    assert not waiting.cancel("again")
    assert len(told) == 2


def test_a_task_that_is_cancelled_while_it_runs_has_the_same_facts(told: Told) -> None:
    @task(name="tests.producer_signals.stops")
    def stops() -> None:
        current().cancel("enough")

    with eager():
        stops.using(meta={"tenant": 2}).push()
    assert told == [("cancelled", stops.name, {"tenant": 2}), ("pushed", stops.name, {"tenant": 2})]


def store_time() -> float:
    seconds, micros = get_broker().client.time()
    return float(seconds + micros / 1e6)


def test_a_task_that_expires_is_told(namespace: str, told: Told) -> None:
    handle = add.using(expires=0.001, meta={"tenant": 3}).push(1, 2)
    told.clear()
    pushed_at = store_time()
    wait_until(lambda: store_time() > pushed_at + 0.002)  # before that, it would succeed

    def expired() -> bool:
        run_worker()
        return handle.state == "cancelled"

    wait_until(expired)
    assert told == [("expired", add.name, {"tenant": 3})]


def test_on_push_adds_metadata_for_the_task_and_its_descendants(namespace: str, settings: Any) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "MIDDLEWARE": [f"{__name__}.Tracing"]}
    own = {"trace": f"look:{look.name}"}
    handles = [look.push(), *look.push_many([()]), look.using(meta={"tenant": 7}).push()]
    whole = chain(look.s(), group(look.si().using(meta={"trace": "mine"}))).push()
    run_worker()
    assert [handle.result(timeout=5) for handle in handles] == [own, own, {"tenant": 7} | own]
    assert whole.result(timeout=5) == [{"trace": "mine"}]
    inherited = chain(look.s(), look.si()).push()
    run_worker()
    assert inherited.result(timeout=5) == {"trace": "chain:chain"}
    with recorder() as pushed:
        look.push()
    assert b"look:" in pushed.calls[0].push.meta


def test_on_push_that_fails_is_logged_and_loses_no_push(
    namespace: str, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.QUEUEOPS = {**settings.QUEUEOPS, "MIDDLEWARE": [f"{__name__}.Broken", f"{__name__}.Tracing"]}
    with caplog.at_level(logging.ERROR, "queueops.signals"), recorder() as pushed:
        look.using(meta={"raises": True}).push()
        look.push()
    assert [b"half" in call.push.meta for call in pushed.calls] == [False, False]
    assert all(b"trace" in call.push.meta for call in pushed.calls)
    assert caplog.text.count("is pushed without what it adds") == 2


def test_the_recorder_tells_of_pushes(told: Told) -> None:
    with recorder():
        add.push(1, 2)
        chain(add.s(1, 2)).push()
    assert [name for _, name, _ in told] == [add.name, "chain"]
