"""Process supervisor: the parent process of a worker, which starts, watches, ends and replaces its child processes.

The supervisor has no threads and no connections, so that every fork is clean. It replaces a process that dies. A
back-off applies when processes keep dying at their start. A crash recovery process gives the dead process's tasks back.
Each event is one line in the log.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from functools import partial

from queueops.model import observers
from queueops.model.ports import Store
from queueops.worker import stack_file
from queueops.worker.options import WorkerOptions, worker_id
from queueops.worker.self_pipe import SelfPipe
from queueops.worker.shared_slot_table import Farewell, SlotTable
from queueops.worker.stack_file import StackFile
from queueops.worker.supervisor import crash_recovery, orphans
from queueops.worker.supervisor.child_handle import (
    EXIT_REFUSED,
    ChildProcess,
    describe_end,
    fork,
    log_stacks,
    settle_memory,
)
from queueops.worker.supervisor.crash_attribution import CrashAttribution
from queueops.worker.supervisor.lease_keeper import LeaseKeeper
from queueops.worker.supervisor.liveness import Liveness
from queueops.worker.supervisor.os_signals import AT_ONCE, DUMP, END, HANG_UP, CaughtSignals, is_default, is_ignored
from queueops.worker.supervisor.parent_watch import ParentWatch

TICK = 0.25
KILL_AFTER = 5.0
"""Seconds after the grace time; a process that is still alive then is killed."""
HEALTHY_AFTER = 10.0
"""A process that lived for this many seconds, or started a task, did not fail at its start."""
MAX_DELAY = 30.0

logger = logging.getLogger("queueops.worker")

ChildMain = Callable[[WorkerOptions, str, SlotTable, StackFile, ParentWatch], int]


class Supervisor:
    """Keeps ``options.processes`` processes alive until it is told to stop; ``run`` returns the exit status."""

    def __init__(
        self,
        options: WorkerOptions,
        child: ChildMain,
        connect: Callable[[], Store],
        changed: Callable[[], str] = lambda: "",
    ) -> None:
        self._options = options
        self._child = child
        self._connect = connect
        self._changed = changed
        self._parent_watch = ParentWatch()
        self._processes: dict[int, ChildProcess] = {}
        self._due: dict[int, float] = {}
        self._deaths: dict[int, int] = {}
        self._recoveries: set[int] = set()  # and other short-lived helpers
        self._blame = CrashAttribution()
        self._liveness = Liveness(options.lease, options.hung_after, self._keep_leases)
        self._self_pipe = SelfPipe()
        self._adopts_orphans = orphans.adopts_orphans()
        self._told = 0
        self._dumps = 0
        self._refused = False
        self._kill_at = float("inf")
        self._last_look = 0.0
        self._status = 0
        self.reload_wanted = False

    def run(self) -> int:
        """Run until all processes have ended. Returns 0 if all ended in order, 1 if one had to be killed."""
        observers.supervise()
        settle_memory()
        stack_file.allow()
        hang_up = () if is_ignored(HANG_UP) else (HANG_UP,)
        dump = (DUMP,) if is_default(DUMP) else ()
        signals = CaughtSignals(self._self_pipe, *END, *hang_up, *dump, signal.SIGCHLD)
        self._due = dict.fromkeys(range(self._options.processes), 0.0)
        logger.info("Worker started: processes %d, threads in each %d, pools %s",
                    self._options.processes, self._options.threads, ", ".join(self._options.pools))  # fmt: skip
        try:
            while self._processes or self._recoveries or self._due:
                self._start_due()
                self._self_pipe.wait(min([TICK, *(when - time.monotonic() for when in self._due.values())]))
                self._bury()
                self._relieve()
                self._enforce_limits()
                self._dump(signals.count(DUMP))
                self._obey(max(signals.count(*END), min(1, signals.count(HANG_UP)), int(self._refused)))
        finally:
            signals.close()
            self._self_pipe.close()
            self._parent_watch.close()
        self.reload_wanted = self.reload_wanted and not signals.count(
            *END, HANG_UP
        )  # from now on a signal ends the process
        logger.info("Worker ended with status %d", self._status)
        return self._status

    # Starting and ending

    def _start_due(self) -> None:
        now = time.monotonic()
        for number in [number for number, when in self._due.items() if when <= now]:
            del self._due[number]
            self._start(number)

    def _start(self, number: int) -> None:
        table = SlotTable(2 * self._options.threads, self._options.pools)
        process = ChildProcess(number=number, worker=worker_id(number), table=table, stacks=StackFile())
        main = partial(self._child, self._options, process.worker, table, process.stacks, self._parent_watch)
        process.start(partial(self._apart, main))
        self._processes[process.pid] = process
        logger.info("Process %d started as %s", process.pid, process.worker)

    def _apart(self, main: Callable[[], int]) -> int:
        """First step of a forked process: closes the parent watch's write end, which only the supervisor holds."""
        self._parent_watch.keep_reader()
        return main()

    def _bury(self) -> None:
        for pid in [pid for pid in self._recoveries if os.waitpid(pid, os.WNOHANG)[0]]:
            self._recoveries.discard(pid)
        for process in list(self._processes.values()):
            status = process.ended()
            if status is not None:
                del self._processes[process.pid]
                self._liveness.dismiss(process)
                self._ended(process, status)
                process.table.close()
                process.stacks.close()
        if self._adopts_orphans:
            keepers = (process.keeper for process in self._processes.values())
            orphans.reap({*self._processes, *self._recoveries, *keepers})

    def _ended(self, process: ChildProcess, status: int) -> None:
        orderly = process.table.farewell is not Farewell.NONE
        if status == EXIT_REFUSED:  # its tasks, if any, come back by their leases
            self._refused, self._status = True, 1
        elif not orderly:
            self._give_back(process, status)
        logger.log(logging.INFO if orderly else logging.ERROR, "Process %d (%s) ended: %s",
                   process.pid, process.worker, describe_end(status),
                   extra={"told": {"worker": process.worker, "process": process.pid, "status": status}})  # fmt: skip
        if self._refused or self._told or process.table.farewell is Farewell.DONE:
            self._status = self._status or int(not orderly)
        elif not process.relieved:
            self._due[process.number] = time.monotonic() + self._delay(process, orderly)

    def _relieve(self) -> None:
        """Start the successors of retiring processes, so that a long task does not delay other tasks.

        At most ``options.processes`` retiring processes have a successor at the same time. The next one gets its
        successor when one of them has ended.
        """
        if self._told:
            return
        ending = [process for process in self._processes.values() if process.table.retiring]
        room = self._options.processes - sum(process.relieved for process in ending)
        for process in [process for process in ending if not process.relieved][: max(0, room)]:
            process.relieved = True
            self._start(process.number)

    def _give_back(self, process: ChildProcess, status: int) -> None:
        running, crashed = process.table.running(), not process.killed or process.hung_for > 0
        if running:  # its own log has no line about their start, and may lack the lines of its last moment
            logger.error("Process %d ended while it ran %s", process.pid, ", ".join(task.id for task in running))
        reason = "it ran past a hard limit" if process.killed_for else describe_end(status)
        if process.hung_for:
            reason = f"it gave no sign of life for {process.hung_for:.0f} s and was killed"
        if crashed and not running:  # a task that ended a moment ago may have broken the process
            running = process.table.ended()
        company = self._blame.judge(running) if crashed else {}
        judged = crash_recovery.judge(running, process.killed_for, reason, crashed=crashed, company=company)
        main = partial(crash_recovery.give_back, self._connect, process.worker, self._options.pools, judged)
        self._recoveries.add(fork(partial(self._apart, main)))

    def _keep_leases(self, process: ChildProcess, sign: float) -> int:
        """Start a lease keeper for a process that does not respond."""
        stacks, options = partial(process.stacks.ask, process.pid), self._options
        keeper = LeaseKeeper(self._connect, process.worker, process.table, sign, stacks)
        return fork(partial(self._apart, partial(keeper.run, options.pools, options.lease, self._parent_watch)))

    def _delay(self, process: ChildProcess, orderly: bool) -> float:
        """Return the back-off before a replacement; 0 at first, longer when processes keep dying at their start."""
        lived = process.table.used or time.monotonic() - process.born > HEALTHY_AFTER
        if orderly or process.killed or lived:
            self._deaths[process.number] = 0
            return 0.0
        deaths = self._deaths[process.number] = self._deaths.get(process.number, 0) + 1
        delay = 0.0 if deaths == 1 else min(MAX_DELAY, 0.25 * 2.0**deaths)
        if delay:
            logger.warning("Process number %d died %d times in a row; the next starts in %.1f s",
                           process.number, deaths, delay)  # fmt: skip
        return delay

    # Watching

    def _enforce_limits(self) -> None:
        now = time.monotonic()
        if now - self._last_look < TICK:
            return
        frozen, self._last_look = now - self._last_look > 4 * TICK, now
        if frozen:
            self._liveness.begin_again(now)
        for process in [process for process in self._processes.values() if not process.killed]:
            self._liveness.look(process, now)
            late = process.past_hard_limit(now)
            # this process was stopped (SIGSTOP), and its children with it: they have until the next look to end
            if frozen:
                process.overdue.clear()
            elif late and not process.killed:
                told = {"task": late[0].id, "pool": late[0].pool, "process": process.pid}
                cause = "was cancelled hard and did not end" if late[0].cancelled else "is past its hard limit"
                logger.error("Task %s %s; killing process %d", late[0].id, cause, process.pid, extra={"told": told})
                process.kill(*late)
            elif now > self._kill_at and not process.killed:
                logger.error("Process %d did not end in time; killing it", process.pid)
                process.kill()
        for pid in self._recoveries if now > self._kill_at else ():
            os.kill(pid, signal.SIGKILL)  # not reaped yet, so the pid is still its own

    def _dump(self, asked: int) -> None:
        """Log the stacks of all processes, in a process that may wait for their answers."""
        if asked > self._dumps:
            self._dumps = asked
            main = partial(log_stacks, list(self._processes.values()))
            self._recoveries.add(fork(partial(self._apart, main)))

    def _obey(self, asked: int) -> None:
        """Stop at the first request; stop at once at the second, or to reload."""
        if not self._told and (path := self._changed()):
            logger.info("%s changed; reloading", path)
            self.reload_wanted = True
        if asked <= self._told and not (self.reload_wanted and not self._told):
            return
        self._told = max(1, asked)
        self._due.clear()
        grace = self._options.grace if self._told == 1 and not self.reload_wanted else 0.0
        self._kill_at = time.monotonic() + grace + KILL_AFTER
        logger.info("Stopping: %s", f"tasks may end within {grace:.0f} s" if grace else "tasks are released")
        for process in self._processes.values():
            process.signal(signal.SIGTERM if grace else AT_ONCE)
