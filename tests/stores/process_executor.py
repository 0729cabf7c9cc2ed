"""Example executors: `QUEUEOPS = {"EXECUTOR": "tests.stores.process_executor.ProcessExecutor"}`.

The first one runs each task in a process of its own. The process ends with its worker, and is killed if it obeys no
interrupt: the other tasks of the worker go on. The second one runs tasks in the worker's own threads.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import django
import msgspec

from queueops.errors.executors import ExecutorUnavailable
from queueops.model.contracts import Lease, Settlement
from queueops.worker.execution.task_start import Order, TaskStart

KILL_AFTER_S = 0.5
LOOK_EVERY_S = 0.05
_encode = msgspec.msgpack.encode


class ProcessLost(Exception):
    """The process of a task ended without an outcome."""


class ProcessExecutor:
    """Starts a program for each task. Lease, orders, notes and settlement go through a pair of sockets."""

    def execute(self, start: TaskStart) -> Settlement:
        """Run one task."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True)
        with Connection(ours.detach()) as connection:
            try:
                return self._served(start, process, connection)
            finally:
                process.kill()
                process.wait()

    def close(self) -> None:
        """Nothing is left: each process has ended with its task."""

    def _served(self, start: TaskStart, process: subprocess.Popen[bytes], connection: Connection) -> Settlement:
        connection.send_bytes(_encode(start.lease))
        kill_at: list[float] = []

        def obey(order: Order) -> None:
            if order.interrupt:
                kill_at.append(time.monotonic() + KILL_AFTER_S)
            with contextlib.suppress(BrokenPipeError):  # it has just ended
                connection.send_bytes(_encode(order))

        start.listen(obey)
        has_begun = False
        while True:
            if connection.poll(LOOK_EVERY_S):
                try:
                    word, *values = msgspec.msgpack.decode(connection.recv_bytes())
                except (EOFError, ConnectionResetError):
                    how = _how(process.wait())
                    if not has_begun and not kill_at:
                        raise ExecutorUnavailable(reason=f"before the task had begun, {how}") from None
                    raise ProcessLost(how) from None
                if word == "begin":
                    has_begun = True
                elif word == "end":
                    return msgspec.convert(values[0], Settlement)
                else:
                    getattr(start.channel, word)(start.lease, *values)
            elif kill_at and time.monotonic() > kill_at[0]:
                return start.killed()


def _how(status: int) -> str:
    return f"its process ended with {signal.Signals(-status).name if status < 0 else f'the status {status}'}"


class DirectExecutor:
    """Runs a task in the thread of the worker that starts it."""

    def execute(self, start: TaskStart) -> Settlement:
        """Run one task."""
        return start.run()

    def close(self) -> None:
        """Nothing is left."""


class PipeChannel:
    """Sends the notes of the task to the worker."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        """Send one message, whole, from any thread."""
        with self._lock:
            self._connection.send_bytes(_encode(message))

    def progress(self, lease: Lease, done: float, total: float | None) -> None:
        self.send("progress", done, total)

    def log(self, lease: Lease, text: str) -> None:
        self.send("log", text)

    def extend(self, lease: Lease, seconds: float) -> None:
        self.send("extend", seconds)

    def set_deadline(self, lease: Lease, seconds: float) -> None:
        self.send("set_deadline", seconds)


def _hear(connection: Connection, start: TaskStart) -> None:
    """Pass on the orders. The end of the connection is that of the worker."""
    try:
        while True:
            start.obey(msgspec.msgpack.decode(connection.recv_bytes(), type=Order))
    except (EOFError, OSError):
        os._exit(1)


def main(descriptor: int) -> None:
    """Run one task in this process."""
    django.setup()
    connection = Connection(descriptor)
    channel = PipeChannel(connection)
    start = TaskStart(msgspec.msgpack.decode(connection.recv_bytes(), type=Lease), channel)
    channel.send("begin")
    threading.Thread(target=partial(_hear, connection, start), daemon=True).start()
    channel.send("end", start.run())
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
