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
from pathlib import Path

from django.contrib.auth.models import User

from queueops import activity, wf, workflow

total = 0
FOLDER = Path("folder")


@activity(name="checked.fetch")
def fetch() -> str:
    """Input and output belong here."""
    return str(time.time())


async def helper() -> float:
    """A function that a workflow calls."""
    return time.monotonic()  # in a helper


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
    from time import time_ns

    time_ns()  # an import in the function
    for _ in {"a", "b"}:  # the order of a set
        pass
    await helper()


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
