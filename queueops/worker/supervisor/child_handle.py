"""Child process handle: forks, signals and reaps one worker process for its supervisor."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from queueops.model import observers
from queueops.worker.shared_slot_table import Running, SlotTable
from queueops.worker.stack_file import StackFile
from queueops.worker.supervisor.os_signals import forget_signals, hold_signals, release_signals

EXIT_BROKEN = 70
"""The process could not continue: an error of the engine or of its environment, which is in the log."""
EXIT_REFUSED = 71
"""The store refuses the Lua library, so no process of this worker can begin."""

logger = logging.getLogger("queueops.worker")


@dataclass(slots=True, kw_only=True)
class ChildProcess:
    """A child process: its number among its siblings, its name in the registry, and the memory shared with it."""

    number: int
    worker: str
    table: SlotTable
    stacks: StackFile
    pid: int = 0
    born: float = field(default_factory=time.monotonic)
    overdue: dict[int, Running] = field(default_factory=dict)
    killed_for: tuple[Running, ...] = ()
    killed: bool = False
    relieved: bool = False
    pinged_at: float = 0.0
    keeper: int = 0
    hung_for: float = 0.0

    def start(self, main: Callable[[], int]) -> None:
        """Fork. The child runs ``main``, which releases signals, and always exits with its status."""
        self.pid = fork(main, holds=True)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; ignored if the process has already ended."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return

    def kill(self, *offenders: Running) -> None:
        """Kill the process at once; ``offenders`` are the tasks that caused this."""
        self.killed, self.killed_for = True, offenders
        self.signal(signal.SIGKILL)

    def ended(self) -> int | None:
        """The exit status of the process (negative: the signal that killed it), or None while it lives."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def past_hard_limit(self, now: float) -> list[Running]:
        """Tasks past their hard limit at this look and the previous one, since one look may meet a half-written record.

        For a task of a silent process that an operator has cancelled hard, the limit is now.
        """
        condemned = self.table.condemned()
        if condemned is not None:
            return [condemned._replace(deadline=now, cancelled=True)]
        before, seen = self.overdue, {running.fence: running for running in self.table.overdue(now)}
        self.overdue = seen
        return [running for fence, running in seen.items() if fence in before]


def fork(main: Callable[[], int], *, holds: bool = False) -> int:
    """Run ``main`` in a forked process and return its pid. Only for a process without threads and connections.

    With ``holds``, an early SIGTERM waits until ``main`` has installed its handlers and releases signals.
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: it was closed when Python started
        stream.flush()
    hold_signals()
    pid = os.fork()
    if pid:
        release_signals()
        return pid
    status = EXIT_BROKEN
    try:
        forget_signals()
        if not holds:
            release_signals()
        status = main()
    except BaseException:  # the last frame of the process: an error that arrives here would otherwise be lost
        logger.exception("A worker process ends because of an error")
    finally:
        observers.close()
        logging.shutdown()
        os._exit(status)


def log_stacks(processes: Iterable[ChildProcess]) -> int:
    """Log the stacks of the threads of these processes. A process that is stopped does not answer."""
    for process in processes:
        try:
            stacks = process.stacks.ask(process.pid).strip() or "It does not answer."
        except ProcessLookupError:
            continue
        for thread in stacks.split("\n\n"):
            logger.warning("Stacks of process %d (%s): %s", process.pid, process.worker, thread)
    return 0


def settle_memory() -> None:
    """Before the first fork: freezes the garbage collector's objects, so that all children share their memory."""
    gc.collect()
    gc.freeze()


def describe_end(status: int) -> str:
    """Describe in words how a process ended."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
