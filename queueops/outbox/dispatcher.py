"""Commands on their way: what a transition in one pool means for a task of another is brought there, and told back.

A process that takes commands from a pool's outbox gives them to an ``Outbox``. A pool that can't be reached holds up
only itself: each has a line of its own.
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
from queueops.model.contracts import Broker, Command, Posted, Told
from queueops.model.endings import Ended

ROOM = 50
"""Commands that a process has taken at once: more would only wait here, where no other process may take them."""
BATCH = 25
"""Commands in one call: it takes less than a millisecond."""
REST = 0.05
"""Seconds between two looks into an outbox where most had no target any more: others need the server, too."""
USELESS = ("GONE", "OLD", "FAILED", "LATER")
LINES, LINES_APART = 8, 256
"""Pools that are called at the same time: of one server, and where one server may not answer while others do."""
STUCK_AFTER = 0.5
"""Seconds after which a call counts as unanswered: nothing more is taken for that pool meanwhile."""
LOOKED_AFTER = 120.0
"""Seconds in which an outbox is looked into after one of its commands was put off: twice the longest back-off."""

logger = logging.getLogger("queueops.outbox")


class PoolQueue:
    """What is to be said to one pool: how its own commands went, and those for its tasks."""

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
        """The next batch. After one that broke the script its commands come one by one."""
        size = 1 if self.one_by_one > 0 else BATCH
        self.one_by_one -= min(self.one_by_one, size)
        told = [self.told.popleft() for _ in range(min(BATCH, len(self.told)))]
        return told, self._some(size)

    def is_waiting(self) -> bool:
        """Whether there is something to say now."""
        return bool(self.told or self.apply or self.looks)

    def held(self, now: float) -> int:
        """How many commands wait for an answer of this pool that is overdue."""
        return self.called_with + len(self.apply) + len(self.told) if self.is_stuck(now) else 0

    def is_stuck(self, now: float) -> bool:
        """Whether the pool does not answer."""
        return now - self.called_at > STUCK_AFTER

    def _some(self, size: int) -> list[Command]:
        """All, or those that wait longest and, as many, those that came last: none waits behind a crowd."""
        apply = self.apply
        if len(apply) <= size:
            found = list(apply)
            apply.clear()
            return found
        oldest = [apply.popleft() for _ in range(size - size // 2)]
        return oldest + [apply.pop() for _ in range(size // 2)][::-1]


class Outbox:
    """Applies commands, in threads that exist as long as there is something to do. Safe for threads."""

    def __init__(
        self,
        broker: Broker,
        arrived: Callable[[str], object] = lambda pool: None,
        signal: Callable[[Sequence[Ended]], object] = endings.tell,
    ) -> None:
        """``arrived`` is called, in a thread, with a pool whose tasks got commands: some may be ready now.

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
        """How many commands may be taken now, beside those that are brought about now; none while a line rests.

        Those that wait for a pool which does not answer take no room: others are brought as before.
        """
        now, lines = time.monotonic(), list(self._lines.values())
        if self._closed or any(line.look_at > now for line in lines):
            return 0
        return max(0, min(BATCH, ROOM - self._taken + sum(line.held(now) for line in lines)))

    @property
    def busy(self) -> bool:
        """Whether something is under way."""
        with self._lock:
            return any(line.busy for line in self._lines.values())

    def take(self, commands: Iterable[Command]) -> None:
        """Bring these where they belong."""
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
        """Take what is due in the outbox of a pool."""
        with self._lock:
            self._line(pool).looks = True

    def look_again(self) -> None:
        """Take what is due where commands were put off lately: those pools may have no worker and no watchdog."""
        now = time.monotonic()
        with self._lock:
            self._put_off = {pool: until for pool, until in self._put_off.items() if until > now}
            for pool in self._put_off:
                self._line(pool).looks = True

    def close(self, within: float = 0.0) -> None:
        """End, after so many seconds at most. Another process takes what was not brought, a few seconds later."""
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
        """The line of a pool, which has something to do now."""
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
        except Exception:  # the line must not stand still for ever
            logger.exception("Commands for pool %s were given up for now", line.pool)
            with self._lock:
                line.busy = False

    def _step(self, line: PoolQueue) -> bool:
        """One call; False when there was nothing to say."""
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
        except Exception as error:  # whatever a call may meet: the commands are tried again later
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
            if unreachable:  # the others would wait as long for the same answer
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
