"""Dispatcher: moves leases and outcomes between the executor of a process and its pool clients, one per pool."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from queueops.model.contracts import Exchange, Lease
from queueops.model.endings import Ended
from queueops.model.ports import Broker
from queueops.pool_messages.dispatcher import Outbox
from queueops.worker.execution import settlements
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.execution.time_limits import TimeLimits
from queueops.worker.loop.matching_lanes import closed_by_kinds
from queueops.worker.loop.pool_client import LINGER, PoolClient
from queueops.worker.loop.pool_thread import PoolThread
from queueops.worker.loop.prefetch import Prefetch
from queueops.worker.loop.progress_buffer import EVERY as NOTES_EVERY
from queueops.worker.loop.progress_buffer import ProgressBuffer
from queueops.worker.options import WorkerOptions

NOT_OURS = "its lease is no longer this worker's"
SHARES = 3
CUT_OFF = "its lease ended while Redis could not be reached"
BACK_OFF_S = 1.0
"""With `--burst`, the worker still runs a task that becomes due within this many seconds of the last end."""
FLUSH_LOOK = 0.005
"""Seconds between two checks of the last round trips of several pools."""

logger = logging.getLogger("queueops.worker")


class Dispatcher:
    """Makes each pool client's round trip when `PoolClient.due_at` says so.

    Decides how many tasks it may claim, and passes on the reply.
    """

    def __init__(
        self, options: WorkerOptions, worker: str, broker: Broker, executor: ThreadExecutor, watch: TimeLimits,
        prefetch: Prefetch, channel: ProgressBuffer, commands: Outbox,
        signal: Callable[[Sequence[Ended]], object], ring: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """``ring`` is called, in any thread, when the thread of a pool has received something."""
        self.finished = self.failed = 0
        self.ran_ms = 0.0
        self.claimed = 0
        self.closed = False
        self._last_end = float("-inf")
        self._options = options
        self._is_alone = options.is_alone
        self._executor = executor
        self._watch = watch
        self._prefetch = prefetch
        self._ahead = 0  # unstarted tasks to hold, as of the latest turn
        self._channel = channel
        self._commands = commands
        self._signal = signal
        self._arrived: deque[str] = deque()
        self._notes_at = 0.0
        self._lost: deque[Lease] = deque()
        self._apart = broker.spread and len(options.pools) > 1
        self.clients = deque(self._station(pool, worker, broker, ring) for pool in options.pools)
        self._by_pool = {client.pool: client for client in self.clients}

    def _station(self, pool: str, worker: str, broker: Broker, ring: Callable[[], None]) -> PoolClient:
        thread = PoolThread(pool, ring) if self._apart else None
        options = self._options
        return PoolClient(
            pool, worker, broker, options.lease, self._watch.left_ms, thread,
            pipelined=self._is_alone, lanes=options.lanes, kinds=options.kinds, closed=closed_by_kinds(),
        )  # fmt: skip

    def collect(self, now: float) -> None:
        """Pass ended tasks from the executor to their pool clients."""
        done = self._executor.done
        total, count, failed = 0.0, 0, 0
        while done:
            lease, settlement, run_ms = done.popleft()
            self._by_pool[lease.pool].ended(lease, settlement, run_ms, now)
            total += run_ms
            count += 1
            if settlement.fingerprint:
                failed += 1
        if count:
            self.finished += count
            self.failed += failed
            self.ran_ms += total
            self._last_end = now
            self._prefetch.ran(total, count)

    def arrived(self, pool: str) -> None:
        """Commands arrived for tasks of this pool: some tasks may be ready. Called in any thread."""
        self._arrived.append(pool)

    def exchange(self, now: float) -> None:
        """Make the round trips that are due now."""
        while self._arrived:
            if (client := self._by_pool.get(self._arrived.popleft())) is not None:
                client.ready, client.dry = True, False
        executor = self._executor
        self._ahead = self._prefetch.ahead(self._watch.stuck)
        executor.low = self._ahead // SHARES
        hungry = executor.queued() <= executor.low
        for client in tuple(self.clients):
            want = self._room()
            if client.due_at(now, want, hungry=hungry) <= now:
                self._round(client, now, want)
            elif client.transport.under_way:
                self._receive(client)
            if client.transport.failures:
                self._cancel(client.overstayed(now), CUT_OFF, lost=True)
        if len(self.clients) > 1:
            self.clients.rotate(1)

    def take(self, client: PoolClient, lease: Lease) -> None:
        """Accept a task that was handed to this process, or give it back with the next round trip."""
        now, room = time.monotonic(), self._room()
        self.claimed += 1
        if client.hold(lease, now) and room > 0:
            self._executor.submit([lease])
            client.ask_about(lease.id)
            if self._executor.kept is None:
                self._round(client, now, room - 1)
        else:
            self.release([lease], now)

    def release(self, leases: Iterable[Lease], now: float, reason: str = settlements.NOT_STARTED) -> None:
        """Give leases back. Tasks that do not run yet may still expire."""
        for lease in leases:
            client = self._by_pool[lease.pool]
            if client.forget(lease):
                self.claimed -= 1
                runs = self._executor.slot_of(lease) is not None
                end = settlements.released if runs else settlements.unstarted
                client.settle(end(lease, reason), now)

    def distrust(self, unstarted: Iterable[Lease], now: float) -> None:
        """Give back unstarted tasks, and those that pending round trips bring. Other workers may already have them."""
        self.release(unstarted, now, settlements.TAKEN_OVER)
        for client in self.clients:
            client.distrust()

    def send_notes(self, now: float, *, before_settling: bool = False) -> None:
        """Send progress and log lines of tasks, when they are due or before a settlement."""
        if self._channel.notes and (before_settling or now >= self._notes_at):
            self._notes_at = now + NOTES_EVERY
            for client in self.clients if self._apart else ():
                client.transport.call("notes", partial(self._send_notes, client.pool))
            self._lost.extend(() if self._apart else self._channel.send())
        while self._lost:
            self._cancel([self._lost.popleft()], NOT_OURS, lost=True)

    def _send_notes(self, pool: str) -> None:
        """Called in the pool's own thread, before the settlements that are sent after it."""
        self._lost.extend(self._channel.send(self._channel.take(pool)))

    def held(self) -> list[Lease]:
        """Every lease in this process."""
        return [lease for client in self.clients for lease, _ in client.held.values()]

    def is_dry(self) -> bool:
        """Whether the last claims found no task, and nothing is left to run, settle or deliver here."""
        if self._commands.busy or self._arrived:
            return False
        return self.is_empty() and all(client.dry and not client.to_settle for client in self.clients)

    def is_used_up(self, now: float) -> bool:
        """Whether nothing is left or due soon, such as the back-off of a task that just failed here."""
        soon = self._last_end + BACK_OFF_S
        return self.is_dry() and (now > soon or all(client.next_at > soon for client in self.clients))

    def has_told_all(self) -> bool:
        """Whether the store knows the outcome of every task that has ended here."""
        for client in self.clients:
            if client.to_settle or client.transport.under_way:
                return False
        return not self._executor.done

    def is_calm(self) -> bool:
        """Whether this process stays to wait for tasks, and the last claims found none."""
        for client in self.clients:
            if not client.dry or client.transport.failures:
                return False
        return not (self.closed or self._options.burst)

    def is_empty(self) -> bool:
        """Whether this process holds no lease, and no reply can bring one."""
        return not any(client.held or client.transport.under_way for client in self.clients)

    def next_moment(self, now: float) -> float:
        """When ``exchange`` or ``send_notes`` may have something to do because of time alone."""
        room = self._room()
        queued, moments = self._executor.queued(), []
        hungry = queued <= self._executor.low
        for client in self.clients:
            transport = client.transport
            if transport.under_way and transport.has_answer():
                return now
            moments.append(client.due_at(now, room, hungry=hungry))
            if transport.under_way and (slow := transport.slow_at) > now:
                moments.append(slow)
            if client.held or transport.under_way:
                moments.append(self._watch.look_at)
        if queued:
            moments.append(now + LINGER)
        if self._channel.notes:
            moments.append(self._notes_at)
        if now < self._executor.pause.until:
            moments.append(self._executor.pause.until)
        return min(moments)

    def flush(self, deadline: float) -> bool:
        """Send the last outcomes to Redis; False if it could not be reached before ``deadline``."""
        if self._apart:
            return self._flush_apart(deadline)
        for client in self.clients:
            client.metrics.hurry()
            while client.to_settle or (client.metrics.waiting() and not client.cut_off):
                now = time.monotonic()
                if now >= deadline:
                    return False
                if now < client.transport.retry_at:
                    time.sleep(min(0.1, client.transport.retry_at - now))
                else:
                    self._round(client, now, 0)
        return True

    def _flush_apart(self, deadline: float) -> bool:
        """The same for all pools in parallel: an unreachable pool delays no other."""
        for client in self.clients:
            client.metrics.hurry()
        while left := [client for client in self.clients if not client.is_flushed(time.monotonic())]:
            now = time.monotonic()
            if now >= deadline:
                return False
            for client in left:
                if now >= client.transport.retry_at and client.transport.accepts(flows=False):
                    self._round(client, now, 0)
                self._receive(client)
            time.sleep(FLUSH_LOOK)
        return True

    def _round(self, client: PoolClient, now: float, want: int) -> None:
        """Make one round trip. While work flows, a process without siblings reads the reply of the previous one."""
        if client.transport.thread is not None and not client.transport.accepts(flows=client.flows):
            return
        self.send_notes(now, before_settling=bool(client.to_settle))
        take = -1 if self.closed else self._commands.room
        client.send(now, want, idle=want > 0 and not self._options.burst, take=take)
        self._receive(client, leave=1 if want > 0 and self._is_alone and client.flows else 0)

    def _receive(self, client: PoolClient, leave: int = 0) -> None:
        while client.transport.has_answer(leave):
            reply = client.receive()
            if reply is not None:
                self._take(client, reply)

    def _take(self, client: PoolClient, reply: Exchange) -> None:
        if reply.leases:
            self.claimed += len(reply.leases)
            self._executor.submit(reply.leases)
        if reply.commands:
            self._commands.take(reply.commands)
        if reply.ended:
            self._signal(reply.ended)
        for task_id, reason in reply.cancels:
            self._cancel(client.lease_of(task_id), reason)
        for task_id in reply.hard:
            for lease in client.lease_of(task_id):
                self._executor.end(lease)
        for task_id in reply.lost:
            logger.warning("The lease of %s is no longer ours; its outcome will not count", task_id)
            self._cancel(client.lease_of(task_id), NOT_OURS, lost=True)

    def _cancel(self, leases: Iterable[Lease], reason: str, *, lost: bool = False) -> None:
        for lease in leases:
            self._executor.cancel(lease, reason, lost=lost)

    def _room(self) -> int:
        """How many more tasks this process would accept now.

        It requests its prefetched tasks in shares: one share runs, one is on its way, one is being read or sent.
        """
        if self.closed:
            return 0
        options, ahead = self._options, self._ahead
        now = time.monotonic() if self._apart else 0.0
        outstanding = 0
        for client in self._by_pool.values():
            outstanding += len(client.held)
            if client.transport.under_way and not client.transport.is_slow(now):
                outstanding += client.wanted
        room = min(options.threads + ahead - outstanding, options.threads + ahead // SHARES, options.batch)
        if options.max_tasks is not None:
            room = min(room, options.max_tasks - self.claimed - sum(client.wanted for client in self.clients))
        if self._executor.pause.failures:
            room = min(room, self._executor.pause.room())
        return max(0, room)
