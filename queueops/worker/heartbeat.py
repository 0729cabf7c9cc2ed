"""Heartbeat: reports the state of a worker process to the registry of workers."""

from __future__ import annotations

import logging
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from hashlib import sha1
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import msgspec

from queueops import conf
from queueops.errors import BrokenPool, QueueOpsError
from queueops.errors.refusals import LibraryRefused
from queueops.model import encryption, kinds
from queueops.model.memory_line import MemoryLine
from queueops.model.ports import Broker
from queueops.tasks import registry
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.options import WorkerOptions

EVERY = 5.0
AT_REST = 60.0
"""Seconds between heartbeats of an idle process without news. Its round trips show the store that it is alive."""
MAX_NAMES = 200
MAX_RUNNING = 50
MAX_FACTS, MAX_FACT = 10, 100
_STATM = Path("/proc/self/statm")

Fields = dict[str, str | int | bytes]
Call = Callable[[str, Callable[[], bool]], bool]
logger = logging.getLogger("queueops.worker")


def _at_once(pool: str, call: Callable[[], bool]) -> bool:
    return call()


class WorkDone(NamedTuple):
    """What a process has done since its start."""

    done: int = 0
    failed: int = 0
    """Those that ended with an error."""
    ran_ms: float = 0.0
    """The time of ended tasks; that of running tasks is added."""


class Heartbeat:
    """Reports the state of a process to its pools; fields that do not change are made at the start."""

    def __init__(self, options: WorkerOptions, executor: ThreadExecutor) -> None:
        self.due_at = 0.0
        self._lanes = options.lanes
        self._told: object = None
        self._told_at = 0.0
        self._executor = executor
        self._memory = MemoryLine()
        known = {name for kind in kinds.registered() for name in kind.work.names}
        names = sorted(known.union(name for _, name in registry.handlers()))
        self._fixed: Fields = {
            "host": os.uname().nodename,
            "pid": os.getpid(),
            "version": _version(),
            "python": platform.python_version(),
            "pools": ",".join(options.pools),
            "lanes": ",".join(options.lanes),
            "kinds": ",".join(options.kinds),
            "slots": options.threads,
            "names": ",".join(names[:MAX_NAMES]),
            "names_hash": sha1("\n".join(names).encode(), usedforsecurity=False).hexdigest()[:12],
            "started": round(time.time() * 1000),
            "keys": ",".join(encryption.ids_of(conf.current().encryption)),
        }

    def send(
        self, broker: Broker, worker: str, pools: Iterable[str], state: str, work: WorkDone, call: Call = _at_once
    ) -> int:
        """Send a heartbeat to ``pools`` if one is needed; return the process's memory in bytes.

        An idle process without news sends none before AT_REST seconds have passed. A store that does not answer
        ends the round. The pools after it get none, unless each pool has its own thread.
        """
        fields, pools, now = self._fields(state, work), list(pools), time.monotonic()
        self.due_at = now + EVERY
        tells = fields | {"rss": 0, "memory": "", "pools": ",".join(pools)}
        if state != "live" or fields["busy"] or fields["held"] or tells != self._told or now - self._told_at >= AT_REST:
            self._told, self._told_at = tells, now
            for pool in pools:
                if not call(pool, partial(self._beat, broker, worker, pool, fields)):
                    break
        return int(fields["rss"])

    def _beat(self, broker: Broker, worker: str, pool: str, fields: Fields) -> bool:
        """Send a heartbeat to one pool; False if the store does not answer, so that the next pools are skipped."""
        try:
            broker.beat(pool, worker, fields | {"clock": round(time.time() * 1000)})
        except BrokenPool as error:  # the other pools still get theirs
            self._told = None
            logger.error("Pool %s did not take the heartbeat: %s", pool, error)
        except LibraryRefused as error:  # this heartbeat says so; the transport has logged it
            self._told = None
            logger.debug("Pool %s: the heartbeat says that the store refuses the Lua library: %s", pool, error)
        except QueueOpsError as error:
            self._told = None
            logger.debug("The heartbeat did not reach the store: %s", error)
            return False
        return True

    def hurry(self) -> None:
        """Send the next heartbeat with the next turn, even without news."""
        self.due_at, self._told = 0.0, None

    def leave(self, broker: Broker, worker: str, pool: str) -> None:
        """Leave the registry of the pool. If the store does not answer, the entry expires by itself."""
        try:
            broker.leave(pool, worker)
        except QueueOpsError as error:
            logger.debug("The worker could not be removed from the registry: %s", error)

    def _fields(self, state: str, work: WorkDone) -> Fields:
        """``running`` is JSON: [[task id, name, epoch ms of its start, pool], ...]."""
        now, size = time.time(), memory_bytes()
        self._memory.note(now, size)
        known = [(lease, slot.seconds()) for slot, lease in self._executor.running()]
        running = [(lease.id, lease.name, round((now - seconds) * 1000), lease.pool) for lease, seconds in known]
        return self._fixed | {
            "busy": len(running),
            "held": self._executor.queued(),
            "done": work.done,
            "failed": work.failed,
            "used_ms": round(work.ran_ms + 1000 * sum(seconds for _lease, seconds in known)),
            "rss": size,
            "memory": str(self._memory),
            "state": state,
            "executor": self._executor.pause.told(),
            "running": msgspec.json.encode(running[:MAX_RUNNING]),
            "facts": msgspec.json.encode(self._facts()),
        }

    def _facts(self) -> dict[str, str]:
        """What the kinds say of this worker. One that fails says nothing; the log has the reason."""
        found: dict[str, str] = {}
        for of_kind in kinds.roles("work.facts"):
            try:
                found |= of_kind(self._lanes)
            except Exception:  # such as an error of a storage; the heartbeat is more important
                logger.debug("Facts for the heartbeat are missing", exc_info=True)
        return {name[:MAX_FACT]: value[:MAX_FACT] for name, value in list(found.items())[:MAX_FACTS]}


def memory_bytes() -> int:
    """The resident set size of this process, in bytes."""
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _version() -> str:
    try:
        return version("queueops")
    except PackageNotFoundError:
        return "0"
