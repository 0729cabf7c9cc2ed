"""Workflows with what the static check finds, and one without."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import threading
import time
import uuid
from datetime import UTC, datetime
from os import environ, urandom
from pathlib import Path
from random import random as randomly

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection, connections
from django.shortcuts import get_object_or_404

import queueops
from queueops import activity, control, group, wf, workflow

total = 0
FOLDER = Path("folder")


@activity(name="checked.fetch")
def fetch() -> str:
    """Input and output belong here."""
    return str(time.time())


async def helper() -> float:
    """A function that a workflow calls."""
    return time.monotonic()  # in a helper


@workflow(name="checked.sets")
async def sets(orders: set[str], names: list[str]) -> None:
    """Uses the order of sets."""
    urgent = set(names)
    for _ in urgent:  # a name
        pass
    await asyncio.gather(*(wf.call(fetch) for _ in orders))  # an argument
    await asyncio.gather(*{wf.call(fetch) for _ in names})  # values as arguments
    [len(name) for name in urgent - orders]  # a difference
    list(orders.union(names))  # a list
    {name: len(name) for name in frozenset(names)}  # a dictionary


@workflow(name="checked.ordered")
async def ordered(orders: set[str], names: list[str]) -> None:
    """Uses sets without their order."""
    urgent = set(names)
    for name in sorted(urgent | orders):
        await wf.call(fetch.using(lane=name))
    sorted(len(name) for name in urgent)
    {len(name) for name in urgent}
    sum(len(name) for name in orders)
    names = sorted(urgent)
    [len(name) for name in names]
    either = set(names)
    either = sorted(either)  # type: ignore[assignment]
    for _ in either:
        pass


@workflow(name="checked.wrong")
async def wrong() -> None:
    """Does all that a replay does not repeat."""
    global total  # state of the module
    print(datetime.now(UTC))  # a clock
    time.sleep(1)  # waits
    random.random()  # randomness
    uuid.uuid4()  # randomness, too
    open("file")  # noqa: SIM115, PTH123  # input and output
    (Path("folder") / "file").with_suffix(".txt").read_text()  # a file by its path
    (FOLDER / "file").parent.mkdir()  # a folder
    os.environ["HOME"]  # the environment
    threading.Thread()  # a thread
    await asyncio.to_thread(len, ())  # another thread
    subprocess.run(["true"])  # a process
    User.objects.count()  # the database
    fetch.push()  # a push
    fetch.using(priority=1).push()  # a push with options
    fetch()  # a call
    wf.call(fetch)  # a call that is not awaited
    from time import time_ns

    time_ns()  # an import in the function
    for _ in {"a", "b"}:  # the order of a set
        pass
    await helper()


class Prices:
    """Functions of a class."""

    @staticmethod
    def of_today() -> float:
        """Without an object."""
        return time.time()  # in a function of a class

    @classmethod
    def of_hour(cls) -> float:
        """Of the class."""
        return time.time()  # in a function with the class


@workflow(name="checked.imported")
async def imported() -> None:
    """Does the same by names that it imported."""
    urandom(8)  # a function of the system
    environ["HOME"]  # the environment
    environ.get("HOME")  # the environment, too
    randomly()  # randomness
    connection.cursor()  # a connection
    connections["default"].cursor()  # a connection by its name
    cache.get("key")  # the cache
    get_object_or_404(User, pk=1)  # a shortcut
    User._base_manager.count()  # another manager
    Prices.of_today()
    Prices.of_hour()
    queueops.get("id")  # a handle
    control.cancel(["id"])  # an action
    group(fetch.s(), fetch.s()).push()  # a push of a group
    queueops.chain(fetch.s()).push()  # a push of a chain
    imported.start_on_commit()  # a start
    imported.handle("id")  # the handle of a run


@workflow(name="checked.right")
async def right() -> float:
    """Does the same as it should."""
    wf.random().random()
    wf.uuid4()
    await wf.sleep(1)
    await wf.call(fetch)
    str(FOLDER / "file").replace("a", "b")
    time.time()  # checkworkflows: ignore
    for _ in sorted({"a", "b"}):
        pass
    return (
        float(wf.side_effect(lambda: time.time())) + wf.now().timestamp() + datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    )
