"""Django's ORM in activities of the test environment: in synchronous and in async tests, with the test's connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections
from django.test import TestCase

from console.models import AuditEntry
from queueops import activity, current, wf, workflow
from queueops.errors import TaskFailed
from queueops.testing import WorkflowEnvironment


@activity(name="orm.add", retries=0)
def add(verb: str) -> str:
    """Writes a row."""
    AuditEntry.objects.create(verb=verb)
    return current().id


@activity(name="orm.count", retries=0)
async def count() -> int:
    """Reads with the async ORM."""
    return await AuditEntry.objects.acount()


@activity(name="orm.bridge", retries=0)
def bridge() -> int:
    """Reads with the async ORM in synchronous code."""
    return async_to_sync(_count)()


async def _count() -> int:
    return await AuditEntry.objects.acount()


@activity(name="orm.list", retries=0)
def verbs() -> list[str]:
    """Reads rows one after the other."""
    for entry in AuditEntry.objects.order_by("pk"):
        yield entry.verb  # type: ignore[misc]  # a worker lists what a generator gives, too


@activity(name="orm.stops", retries=0)
def stops() -> None:
    """Fails as only a generator should."""
    raise StopIteration("no more")


@workflow(name="orm.all")
async def everything() -> tuple[int, int, list[str]]:
    """Uses the ORM in each way."""
    assert (await wf.call(add, "two")).endswith(".1")
    return await wf.call(count), await wf.call(bridge), await wf.call(verbs)


@workflow(name="orm.fails")
async def fails() -> None:
    """Calls an activity that fails."""
    await wf.call(stops)


EXPECTED = (2, 2, ["one", "two"])
"""With the row of the test and that of the activity."""


class OrmTest(TestCase):
    """Each test sees its own rows alone, and those of its activities."""

    def test_a_synchronous_test(self) -> None:
        AuditEntry.objects.create(verb="one")
        assert WorkflowEnvironment().run(everything) == EXPECTED

    async def test_an_async_test(self) -> None:
        await AuditEntry.objects.acreate(verb="one")
        assert WorkflowEnvironment().run(everything) == EXPECTED
        assert await AuditEntry.objects.acount() == 2

    async def test_a_task_of_an_async_test(self) -> None:
        await AuditEntry.objects.acreate(verb="one")

        async def run() -> object:
            return await WorkflowEnvironment().start(everything).aresult()

        assert await asyncio.create_task(run()) == EXPECTED

    async def test_an_async_test_with_the_environment_in_synchronous_code(self) -> None:
        await AuditEntry.objects.acreate(verb="one")
        assert await sync_to_async(WorkflowEnvironment().run)(everything) == EXPECTED

    async def test_a_replacement_of_an_activity(self) -> None:
        env = WorkflowEnvironment()
        env.mock(verbs, lambda: [entry.verb for entry in AuditEntry.objects.all()])
        assert env.run(everything) == (1, 1, ["two"])

    async def test_an_error_of_an_activity(self) -> None:
        with pytest.raises(TaskFailed, match="StopIteration"):
            WorkflowEnvironment().run(fails)


async def _plain() -> object:
    await AuditEntry.objects.acreate(verb="one")
    return WorkflowEnvironment().run(everything)


async def _in_synchronous_code() -> object:
    await AuditEntry.objects.acreate(verb="one")
    return await sync_to_async(WorkflowEnvironment().run)(everything)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("test", [_plain, _in_synchronous_code])
def test_a_loop_that_django_has_not_begun(test: Callable[[], object]) -> None:
    async def run() -> object:
        try:
            return await test()  # type: ignore[misc]
        finally:
            await sync_to_async(connections.close_all)()

    assert asyncio.run(run()) == EXPECTED
