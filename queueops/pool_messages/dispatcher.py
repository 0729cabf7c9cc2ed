"""Outbox dispatcher: delivers commands from one pool's transitions to tasks in other pools, and reports back.

A process that takes commands from a pool's outbox passes them to an ``Outbox``. An unreachable pool delays only itself,
because each pool has its own queue.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from queueops.errors import BrokerUnavailable, StoreFull
from queueops.model import endings
from queueops.model.contracts import Command, Posted, Told
from queueops.model.endings import Ended
from queueops.model.ports import Broker

ROOM = 50
"""Commands that a process takes at once; more would only wait here, where no other process may take them."""
BATCH = 25
"""Commands in one call, which then takes less than a millisecond."""
REST = 0.05
"""Seconds between two reads of an outbox whose commands mostly had no effect: other clients need the server too."""
USELESS = ("GONE", "OLD", "FAILED", "LATER")
LINES, LINES_APART = 8, 256
"""Pools that are called at the same time: of one server, and of several, where one may not answer."""
STUCK_AFTER = 0.5
"""Seconds after which a call counts as unanswered; meanwhile nothing more is taken for that pool."""
LOOKED_AFTER = 120.0
"""Seconds for which an outbox is read after one of its commands was deferred: twice the longest back-off."""

logger = logging.getLogger("queueops.outbox")


class PoolQueue:
    """The queue of one pool: the outcomes of its own commands, and the commands for its tasks."""

    def __init__(self, pool: str) -> None:
        self.pool = pool
        self.told: deque[Told] = deque()
        self.apply: deque[Command] = deque()
        self.looks = False
        self.look_at = 0.0
        self.busy = False
        self.one_by_one = 0
        self.called_at = math.inf
        self.called_with = 0

    def next(self) -> tuple[list[Told], list[Command]]:
        """The next batch. After a batch that made the script fail, its commands are sent one by one."""
        size = 1 if self.one_by_one > 0 else BATCH
        self.one_by_one -= min(self.one_by_one, size)
        told = [self.told.popleft() for _ in range(min(BATCH, len(self.told)))]
        return told, self._some(size)

    def is_waiting(self) -> bool:
        """Whether there is something to send now."""
        return bool(self.told or self.apply or self.looks)

    def held(self, now: float) -> int:
        """How many commands wait for an overdue reply of this pool."""
        return self.called_with + len(self.apply) + len(self.told) if self.is_stuck(now) else 0

    def is_stuck(self, now: float) -> bool:
        """Whether the pool does not answer."""
        return now - self.called_at > STUCK_AFTER

    def _some(self, size: int) -> list[Command]:
        """All commands, or the oldest and equally many of the newest, so that none waits behind a backlog."""
        apply = self.apply
        if len(apply) <= size:
            found = list(apply)
            apply.clear()
            return found
        oldest = [apply.popleft() for _ in range(size - size // 2)]
        return oldest + [apply.pop() for _ in range(size // 2)][::-1]


class Outbox:
    """Applies commands, in threads that exist while there is something to do. Thread-safe."""

    def __init__(
        self,
        broker: Broker,
        arrived: Callable[[str], object] = lambda pool: None,
        signal: Callable[[Sequence[Ended]], object] = endings.tell,
    ) -> None:
        """``arrived`` is called, in a thread, with a pool whose tasks received commands: tasks may be ready now.

        ``signal`` is called with the composites that a command has ended.
        """
        self._broker = broker
        self._arrived = arrived
        self._signal = signal
        self._lock = threading.Condition()
        self._lines: dict[str, PoolQueue] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._taken = 0
        self._put_off: dict[str, float] = {}
        self._closed = False

    @property
    def room(self) -> int:
        """How many commands may be taken now, beside those in progress; none while a pool's queue rests.

        Commands for a pool that does not answer take no room: the others are delivered as before.
        """
        now, lines = time.monotonic(), list(self._lines.values())
        if not lines:
            return 0 if self._closed else max(0, min(BATCH, ROOM - self._taken))
        if self._closed or any(line.look_at > now for line in lines):
            return 0
        return max(0, min(BATCH, ROOM - self._taken + sum(line.held(now) for line in lines)))

    @property
    def busy(self) -> bool:
        """Whether any command is in progress."""
        with self._lock:
            return any(line.busy for line in self._lines.values())

    def take(self, commands: Iterable[Command]) -> None:
        """Deliver these commands."""
        now = time.monotonic()
        with self._lock:
            for command in commands:
                self._taken += 1
                if (line := self._line(command.to)).is_stuck(now):
                    self._put_off[command.pool] = now + LOOKED_AFTER
                    told = Told(command.id, command.version, "LATER", b"its pool does not answer")
                    self._line(command.pool).told.append(told)
                else:
                    line.apply.append(command)

    def look(self, pool: str) -> None:
        """Take the due commands from the outbox of a pool."""
        with self._lock:
            self._line(pool).looks = True

    def look_again(self) -> None:
        """Take due commands where some were deferred recently: those pools may have neither worker nor watchdog."""
        now = time.monotonic()
        with self._lock:
            self._put_off = {pool: until for pool, until in self._put_off.items() if until > now}
            for pool in self._put_off:
                self._line(pool).looks = True

    def close(self, within: float = 0.0) -> None:
        """Stop, after this many seconds at most. Another process takes the undelivered commands a few seconds later."""
        deadline = time.monotonic() + within
        while self.busy and time.monotonic() < deadline:
            time.sleep(0.005)
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _line(self, pool: str) -> PoolQueue:
        """The queue of a pool, which has something to do now."""
        line = self._lines.get(pool)
        if line is None:
            line = self._lines[pool] = PoolQueue(pool)
        self._lock.notify_all()
        if not line.busy and not self._closed:
            line.busy = True
            if self._threads is None:
                lines = LINES_APART if self._broker.spread else LINES
                self._threads = ThreadPoolExecutor(lines, "queueops-outbox")
            self._threads.submit(self._run, line)
        return line

    def _run(self, line: PoolQueue) -> None:
        try:
            while self._step(line):
                pass
        except Exception:  # the pool's queue must not stop for ever
            logger.exception("Commands for pool %s were given up for now", line.pool)
            with self._lock:
                line.busy = False

    def _step(self, line: PoolQueue) -> bool:
        """Make one call; False if there was nothing to send."""
        with self._lock:
            rest = line.look_at - time.monotonic()
            if rest > 0 and not line.is_waiting():
                self._lock.wait_for(lambda: line.is_waiting() or self._closed, rest)
            rests = line.look_at > time.monotonic()
            told, apply = line.next()
            if self._closed or not (told or apply or line.looks or line.look_at):
                line.busy = False
                return False
            line.looks, line.look_at = False, line.look_at if rests else 0.0
            self._taken -= len(told)
            room = self.room
        try:
            posted = self._post(line, told, apply, room)
        except Exception as error:  # any error of a call: the commands are tried again later
            self._failed(line, apply, error)
            return True
        self._tell(apply, [command.went(*answer) for command, answer in zip(apply, posted.answers, strict=True)])
        self.take(posted.taken)
        if posted.ended:
            self._signal(posted.ended)
        if apply:
            self._arrived(line.pool)
        if posted.more:
            useless = sum(each.word in USELESS for each in told)
            line.look_at = time.monotonic() + (REST if useless > len(told) / 2 else 0.0)
        return True

    def _post(self, line: PoolQueue, told: list[Told], apply: list[Command], room: int) -> Posted:
        line.called_at, line.called_with = time.monotonic(), len(apply)
        try:
            return self._broker.post(line.pool, told=told, apply=apply, take=room)
        finally:
            line.called_at = math.inf

    def _failed(self, line: PoolQueue, apply: list[Command], error: Exception) -> None:
        unreachable = isinstance(error, (BrokerUnavailable, StoreFull))
        logger.log(logging.DEBUG if unreachable else logging.ERROR, "Pool %s took no commands: %s", line.pool, error)
        with self._lock:
            if unreachable:  # the others would wait as long for the same reply
                apply += line.apply
                line.apply.clear()
                self._taken -= len(line.told)
                line.told.clear()
            elif len(apply) > 1:
                line.apply.extendleft(reversed(apply))
                line.one_by_one = len(apply)
                return
            until = time.monotonic() + LOOKED_AFTER
            self._put_off.update((command.pool, until) for command in apply)
        word, reason = "LATER" if unreachable else "FAILED", str(error).encode()[:500]
        self._tell(apply, [Told(command.id, command.version, word, reason) for command in apply])

    def _tell(self, commands: Sequence[Command], answers: Sequence[Told]) -> None:
        with self._lock:
            for command, told in zip(commands, answers, strict=True):
                self._line(command.pool).told.append(told)
