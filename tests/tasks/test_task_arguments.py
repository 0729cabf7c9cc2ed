"""Pushes at the edges of what a call can be: names of arguments, ids that are none, many calls that are none."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from queueops import task
from queueops.errors import BadOption
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.support import tasks_for_tests as tasks


def test_none_is_no_unique_id_and_each_call_gets_one_of_its_own(namespace):
    @task(unique=lambda text: f"x:{text}" if text else None)
    def sometimes(text): ...

    one, other = sometimes.push(""), sometimes.push("")
    assert one != other
    assert sometimes.push("a").id == "x:a"
    registry.unregister("task", sometimes.name)


@pytest.mark.parametrize(
    "unique",
    [
        lambda **kwargs: f"{kwargs['user']}:{kwargs.get('tenant', 'none')}",
        lambda user, tenant="none", **_: f"{user}:{tenant}",
        lambda user, **kwargs: f"{user}:{kwargs.get('tenant', 'none')}",
    ],
    ids=["all by name", "one of them named", "all but one by name"],
)
def test_what_makes_the_id_sees_the_named_arguments_that_the_task_takes_as_its_rest(namespace, unique):
    @task(unique=unique)
    def of_tenant(user, **rest): ...

    assert of_tenant.push(1, tenant="a").id == "1:a"
    assert of_tenant.push(1, tenant="b", more=True).id == "1:b"
    assert of_tenant.push(user=1).id == "1:none"
    registry.unregister("task", of_tenant.name)


def test_any_name_can_be_that_of_an_argument(namespace):
    @task
    def takes_all(*args, **kwargs):
        return kwargs

    names = {"self": 1, "cls": 2, "task": 3, "args": 4, "delay": 5}
    handles = [takes_all.push(0, **names), asyncio.run(takes_all.apush(0, **names)), takes_all.postpone(0, **names)]
    handles += takes_all.push_many([((0,), names)])
    run_worker()
    assert [handle.result(timeout=0) for handle in handles] == [names] * 4
    assert takes_all(**names) == takes_all.s(**names).kwargs == takes_all.si(**names).kwargs == names
    registry.unregister("task", takes_all.name)


@pytest.mark.parametrize("wrong", [None, 5])
def test_many_calls_are_something_to_go_through(wrong):
    with pytest.raises(BadOption, match="calls, such as"):
        tasks.add.push_many(wrong)


@pytest.mark.django_db(transaction=True)
def test_a_push_on_commit_from_async_code(namespace):
    async def push():
        handles = [await tasks.add.apush_on_commit(1), await tasks.add.s(2).apush_on_commit()]
        await sync_to_async(connections.close_all)()  # its thread is there for others
        return handles

    handles = asyncio.run(push())
    assert run_worker() == 2
    assert [handle.result(timeout=0) for handle in handles] == [2, 3]
