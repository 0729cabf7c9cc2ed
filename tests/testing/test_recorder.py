"""The recorder notes what code under test pushes, and runs nothing of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.db import transaction
from django.test import TestCase

from queueops import IdInUse, chain, group, inspect, jobs, workflow
from queueops.errors.kinds import NeedsStore
from queueops.redis.broker import runs_here
from queueops.testing import recorder
from tests.support import tasks_for_tests as tasks


@workflow
async def order(number: str, urgent: bool = False) -> str:
    """Do nothing."""
    return number


@pytest.fixture(autouse=True)
def nowhere(settings: Any) -> None:
    """A store that does not answer: nothing may ask it."""
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}


def test_it_notes_each_push_with_its_arguments_and_runs_nothing() -> None:
    with recorder() as recorded:
        handle = tasks.fail.using(tags=["a"], priority=3).push("oh")
        tasks.add.push_many([(1,), ((2,), {"b": 3})])
        tasks.Letters.push("one")
        asyncio.run(tasks.add_later.apush(4))
    assert [(each.kind, each.name, each.args, each.kwargs) for each in recorded.calls] == [
        ("task", tasks.fail.name, ["oh"], {}),
        ("task", tasks.add.name, [1], {}),
        ("task", tasks.add.name, [2], {"b": 3}),
        ("mapreduce", tasks.Letters.name, ["one"], {}),
        ("task", tasks.add_later.name, [4], {}),
    ]
    assert [each.args for each in recorded.of(tasks.add)] == [[1], [2]]
    first = recorded.calls[0]
    assert (first.id, first.push.tags, first.push.priority) == (handle.id, ("a",), 3)
    assert handle.state == "pending"
    assert not runs_here()


def test_it_notes_a_composite_with_its_parts() -> None:
    with recorder() as recorded:
        chain(tasks.add.s(1), group(tasks.add.s(2), tasks.add_later.s(3))).push()
    (whole,) = recorded.calls
    assert (whole.kind, [part.kind for part in whole.parts]) == ("chain", ["task", "group"])
    assert [each.args for each in recorded.of(tasks.add)] == [[1], [2]]
    assert [each.args for each in recorded.of(tasks.add_later.name)] == [[3]]


def test_it_notes_jobs_and_starts_of_workflows() -> None:
    with recorder() as recorded:
        jobs.submit(aggregation="shop", handler="resize", url="https://a.example", callback_url="https://b.example")
        order.start("7", urgent=True)
        started = order.start("8", id="order-8")
    job, first, second = recorded.calls
    assert (job.kind, job.name, job.kwargs["url"]) == ("job", "resize", "https://a.example")
    assert (first.kind, first.args, first.kwargs, first.instance) == ("workflow", ["7"], {"urgent": True}, "")
    assert (second.instance, second.id) == ("order-8", started.id)
    assert recorded.of(order) == [first, second]


@pytest.mark.django_db(transaction=True)
def test_a_push_on_commit_is_noted_at_the_commit() -> None:
    with recorder() as recorded:
        with transaction.atomic():
            tasks.add.push_on_commit(1)
            order.start_on_commit("7", id="order-7")
            assert recorded.calls == []
        with transaction.atomic():
            tasks.add.push_on_commit(1)
            transaction.set_rollback(True)
    assert [each.name for each in recorded.calls] == [tasks.add.name, order.name]


@pytest.mark.django_db
def test_a_test_case_notes_them_with_djangos_own_help() -> None:
    with recorder() as recorded:
        with TestCase.captureOnCommitCallbacks(execute=True):
            order.start_on_commit("7", id="order-7")
        assert [each.instance for each in recorded.of(order)] == ["order-7"]


def test_an_id_that_was_pushed_is_known() -> None:
    with recorder() as recorded:
        words = [tasks.add.using(id="a").push(1).word for _ in range(2)]
        with pytest.raises(IdInUse):
            tasks.add.using(id="a", on_conflict="reject").push(1)
    assert (words, len(recorded.calls)) == (["OK", "EXISTS"], 1)


def test_what_needs_a_store_is_refused_with_advice() -> None:
    with recorder():
        handle = tasks.add.push(1)
        for call in (handle.result, handle.cancel, inspect.snapshot):
            with pytest.raises(NeedsStore, match=r"does not work in eager\(\) and recorder\(\)"):
                call()
