"""Child process entry point: what a worker process does between its fork and its exit."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time

from queueops import log_handler
from queueops.errors.refusals import LibraryRefused
from queueops.redis import call_limits
from queueops.redis.broker import get_broker
from queueops.tasks import process_scope
from queueops.worker.loop.main_loop import Loop
from queueops.worker.loop.shutdown import StopOrder
from queueops.worker.options import WorkerOptions
from queueops.worker.self_pipe import SelfPipe
from queueops.worker.shared_slot_table import Farewell, SlotTable
from queueops.worker.stack_file import StackFile
from queueops.worker.supervisor.child_handle import EXIT_BROKEN, EXIT_REFUSED
from queueops.worker.supervisor.os_signals import AT_ONCE, END, HANG_UP, PING, CaughtSignals, release_signals
from queueops.worker.supervisor.parent_watch import ParentWatch

SWITCH_INTERVAL = 0.0005
"""Thread switch interval in seconds: how long a busy thread may keep the main loop waiting."""


logger = logging.getLogger("queueops.worker")


def main(options: WorkerOptions, worker: str, table: SlotTable, stacks: StackFile, parent_watch: ParentWatch) -> int:
    """Work until the end; return the exit status. SIGTERM: end in order. SIGQUIT, sent by a supervisor: end at once.

    Several SIGTERMs count as one. A service manager (systemd, Heroku) often sends SIGTERM to all processes of a
    service. The supervisor passes on its own, too. To end at once, send a second SIGTERM to the supervisor.

    An orderly end is recorded in the slot table, because a task may exit the process with any status.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    work_in_the_background()
    self_pipe = SelfPipe()
    term, interrupt = END
    order = StopOrder()

    def stop(number: int) -> None:
        order.times = max(order.times, 2 if number == AT_ONCE else 1)
        call_limits.run_out()

    # the supervisor passes on Ctrl-C (SIGINT) and the end of a terminal (SIGHUP)
    CaughtSignals(self_pipe, term, AT_ONCE, ignore=(interrupt, HANG_UP), then=stop)
    signal.signal(PING, lambda number, frame: table.answer(time.monotonic()))
    stacks.serve()
    release_signals()
    log_handler.write_in_batches()
    loop = Loop(options, worker, get_broker(), table, self_pipe)

    def orphaned() -> None:
        loop.forget(parent_watch)
        loop.stop("the supervisor is gone")

    loop.watch_also(parent_watch, orphaned)
    with process_scope.opened():
        try:
            ending = loop.run(order)
        except LibraryRefused as error:
            logger.error("The worker cannot begin: %s", error)
            return EXIT_REFUSED
    if not ending.clean:
        return EXIT_BROKEN
    table.farewell = Farewell.RETIRED if ending.retired else Farewell.DONE
    return 0


def work_in_the_background() -> None:
    """Use the policy SCHED_BATCH, if the kernel knows it: a waking thread then preempts no running one.

    The store, web servers and running tasks on the same machine continue undisturbed. That saves a tenth of the time of
    a drain. The share of the processor stays the same. A policy that the operator has chosen is kept.
    """
    if not hasattr(os, "SCHED_BATCH") or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError as error:  # not permitted here, as in some containers: only an optimisation
        logger.debug("The processes keep the usual scheduling policy: %s", error)
