"""Tasks that share what their worker process opened once, and a file that tells of each opening and closing."""

from __future__ import annotations

import os
import time

from queueops import Depends, task
from tests.faults.ledger import note


def tell(what: str) -> None:
    """One line: what happened, and in which process."""
    path = f"{os.environ['QUEUEOPS_TESTS_LEDGER']}.scope"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{what} {os.getpid()}\n".encode())
    finally:
        os.close(descriptor)


def connection():
    """A sync dependency that takes a moment to open."""
    time.sleep(0.05)
    tell("opened")
    yield os.getpid()
    tell("closed")


async def stream(connection: int = Depends(connection, scope="process")):
    """An async one."""
    tell("streaming")
    yield connection
    tell("ended")


@task()
def use_connection(connection: int = Depends(connection, scope="process")) -> int:
    note("start")
    time.sleep(0.05)
    return connection


@task()
async def use_stream(stream: int = Depends(stream, scope="process")) -> int:
    note("start")
    return stream
