"""What a worker process does between its fork and its end."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time

from queueops.redis import deadlines
from queueops.redis.broker import get_broker
from queueops.tasks import process_scope
from queueops.worker.loop.main_loop import Loop
from queueops.worker.loop.self_pipe import SelfPipe
from queueops.worker.options import WorkerOptions
from queueops.worker.supervisor.child_handle import EXIT_BROKEN
from queueops.worker.supervisor.os_signals import AT_ONCE, END, HANG_UP, PING, CaughtSignals, release_signals
from queueops.worker.supervisor.parent_watch import ParentWatch
from queueops.worker.supervisor.shared_slot_table import Farewell, SlotTable

SWITCH_INTERVAL = 0.0005
"""How long a busy thread may keep the others waiting, in seconds: the exchange loop must not wait long for its turn."""


logger = logging.getLogger("queueops.worker")


def main(options: WorkerOptions, worker: str, table: SlotTable, lifeline: ParentWatch) -> int:
    """Work until the end; answers the exit status. SIGTERM: end in order; SIGQUIT, which a supervisor sends: at once.

    Any number of SIGTERMs is one: what ends a service (systemd, Heroku, a process manager) often sends it to all of its
    processes, and the supervisor passes on its own. Who is in a hurry tells the supervisor so, by a second one.
    That the end was in order is said in the table: a task may end the process with any status.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    work_in_the_background()
    bell = SelfPipe()
    term, interrupt = END
    # Ctrl-C, and the end of a terminal, reach us through the supervisor
    signals = CaughtSignals(bell, term, AT_ONCE, ignore=(interrupt, HANG_UP), then=deadlines.run_out)
    signal.signal(PING, lambda number, frame: table.answer(time.monotonic()))
    release_signals()
    loop = Loop(options, worker, get_broker(), table, bell)

    def orphaned() -> None:
        loop.forget(lifeline)
        loop.stop("the supervisor is gone")

    loop.watch_also(lifeline, orphaned)
    with process_scope.opened():
        ending = loop.run(lambda: min(1, signals.count(term)) + 2 * signals.count(AT_ONCE))
    if not ending.clean:
        return EXIT_BROKEN
    table.farewell = Farewell.RETIRED if ending.retired else Farewell.DONE
    return 0


def work_in_the_background() -> None:
    """Use the policy SCHED_BATCH, if the kernel knows it: a thread that wakes up takes no processor from a running one.

    The store and web servers on the same machine go on, and so does a running task when its neighbour has news: that
    is a tenth of a drain. The share of the processors stays as it is. A policy that the operator has chosen is kept.
    """
    if not hasattr(os, "SCHED_BATCH") or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError as error:  # forbidden here, as some containers do: it is no more than a wish
        logger.debug("The processes run as any others do: %s", error)
