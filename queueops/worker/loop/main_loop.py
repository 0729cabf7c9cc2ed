"""Main loop of a worker process: settles, renews and claims in one round trip, submits tasks, waits.

The main thread sleeps in one ``select`` on the self-pipe (a task ended, a signal arrived), the wake-up listeners, and
other sources. While it sleeps with nothing to do, an idle thread of the executor watches the wake-up listeners
(`IdleListener`). While it sleeps, a thread of the executor can also make a turn in its place. The lock
``executor.awake`` permits one turn at a time.
"""

from __future__ import annotations

import logging
import selectors
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from queueops import signals
from queueops.errors import QueueOpsError
from queueops.model.contracts import Lease
from queueops.model.ports import Broker
from queueops.pool_messages.dispatcher import Outbox
from queueops.tasks import process_scope
from queueops.worker.execution.ending_thread import SignalThread
from queueops.worker.execution.idle_listener import Events, IdleListener
from queueops.worker.execution.task_start import executor_class
from queueops.worker.execution.thread_executor import ThreadExecutor
from queueops.worker.execution.time_limits import TimeLimits
from queueops.worker.heartbeat import Heartbeat, WorkDone
from queueops.worker.loop.lease_dispatcher import SHARES, Dispatcher
from queueops.worker.loop.pool_client import PoolClient
from queueops.worker.loop.prefetch import Prefetch
from queueops.worker.loop.progress_buffer import ProgressBuffer
from queueops.worker.loop.shutdown import FLUSH, NEVER, Ending, ShutdownSequence, StopOrder
from queueops.worker.loop.wakeup_listener import WakeupListener
from queueops.worker.loop.worker_signals import WorkerSignals
from queueops.worker.options import WorkerOptions
from queueops.worker.self_pipe import SelfPipe
from queueops.worker.shared_slot_table import SlotTable
from queueops.worker.stack_file import StackFile

LONGEST_PAUSE = 5.0
CLOSE_WITHIN = 0.5
"""Seconds for idle threads to end, so that they close their database connections, and for commands in progress."""

logger = logging.getLogger("queueops.worker")
_monotonic = time.monotonic


class Loop:
    """The work of one process until it is told to stop, has nothing left (burst), or is retired (its limits)."""

    def __init__(
        self, options: WorkerOptions, worker: str, broker: Broker, table: SlotTable, self_pipe: SelfPipe
    ) -> None:
        self._options = options
        self._worker = worker
        self._table = table
        self._broker = broker
        channel = ProgressBuffer(broker, lambda lease: self._executor.slot_of(lease))
        prefetch = Prefetch(options.threads, SHARES * options.batch)
        executor = executor_class(options.executor)() if options.executor else None
        self._executor = ThreadExecutor(options.threads, table, channel, self_pipe.ring, self._stand_in, executor)
        self._watch = TimeLimits(self._executor, prefetch.stuck_after_ms)
        self._self_pipe = self_pipe
        self._signals = SignalThread()
        self._commands = Outbox(broker, self._arrived, self._signals.send)
        self._dispatcher = Dispatcher(
            options,
            worker,
            broker,
            self._executor,
            self._watch,
            prefetch,
            channel,
            self._commands,
            self._signals.send,
            self_pipe.ring,
        )
        self._shutdown = ShutdownSequence(self._executor)
        self._worker_signals = WorkerSignals(worker, options.pools)
        self._heartbeat = Heartbeat(options, self._executor)
        self._selector = selectors.DefaultSelector()
        self._idle_listener = IdleListener(self._selector, self._heed)
        self._until = 0.0
        self._broken: BaseException | None = None
        self.watch_also(self_pipe, self_pipe.answer)
        self._lines = [self._line(client) for client in self._dispatcher.clients]
        self._listeners = [line for line, _ in self._lines]

    def watch_also(self, source: Any, call: Callable[[], object]) -> None:
        """Call ``call`` whenever ``source`` (an object with ``fileno``) is readable."""
        self._selector.register(source, selectors.EVENT_READ, call)

    def forget(self, source: Any) -> None:
        """Stop watching ``source``."""
        self._selector.unregister(source)

    def run(self, order: StopOrder | None = None) -> Ending:
        """Work until the end, or until ``order`` tells it to stop.

        Any process may send a signal. A process stopped by a signal therefore counts as retired: a supervisor that did
        not send the signal replaces it.
        """
        order = order or StopOrder()
        self._worker_signals.start()
        # liveness counts from here: the first turn may start a task that holds the interpreter
        self._table.expect(_monotonic())
        with self._executor.awake:
            while not self._is_over():
                if order.times > 1 or (order.times and self._shutdown.at == NEVER):
                    self.stop("stopped by a signal", grace=None if order.times == 1 else 0.0, retired=True)
                self._turn(_monotonic())
                self._pause()
            ending = self._finish()
        self._worker_signals.close(CLOSE_WITHIN, process_scope.CLOSE_WITHIN)
        if self._executor.close(0.0 if self._shutdown.released_all else CLOSE_WITHIN):
            self._idle_listener.close()
        return ending

    def stop(self, reason: str, *, grace: float | None = None, retired: bool = False) -> None:
        """Claim nothing more; end when the running tasks have ended, or after the grace time (seconds)."""
        grace = self._options.grace if grace is None else grace
        self._dispatcher.closed = True
        self._shutdown.begin(Ending(reason, retired), _monotonic() + grace)
        self._worker_signals.stop()

    def retire(self, reason: str) -> None:
        """Claim nothing more; end when every claimed task has ended. The supervisor starts the successor now."""
        self._dispatcher.closed = self._table.retiring = True
        self._shutdown.begin(Ending(reason, retired=True), NEVER)
        self._worker_signals.stop()

    def _turn(self, now: float) -> None:
        dispatcher, executor = self._dispatcher, self._executor
        if executor.epoch != self._table.epoch:
            self._start_epoch(now)
        dispatcher.collect(now)
        if now >= self._watch.look_at:
            self._watch.look(now)
        dispatcher.send_notes(now)
        if self._shutdown.at < NEVER:
            dispatcher.release(self._shutdown.step(now, dispatcher.held()), now)
        elif (now < executor.pause.failed_until or self._watch.stuck >= self._options.threads) and executor.queued():
            dispatcher.release(executor.take_back(), now)
        for line, client in self._lines:
            if now >= line.check_at and client.transport.is_reachable and line.check():
                client.ready = True
        dispatcher.exchange(now)
        for line in self._listeners:
            line.arm()
        if signals.worker_idle.receivers:
            self._worker_signals.look(dispatcher.finished, dispatcher.is_dry)
        if now >= self._heartbeat.due_at:
            self._beat()
        if self._table.has_ended and dispatcher.has_told_all():
            self._table.forget_ended()
        if self._options.burst or self._options.max_tasks is not None:
            self._stop_if_done(now)

    def _start_epoch(self, now: float) -> None:
        """Give back every task that was not started: a lease keeper acted for this process, and may have given it back.

        The process gave its sign of life before this turn. The lease keeper never gives back what is claimed after it.
        """
        epoch = self._table.epoch
        self._dispatcher.distrust(self._executor.take_back(), now)
        self._executor.epoch = epoch
        self._heartbeat.hurry()

    def _stop_if_done(self, now: float) -> None:
        limit, claimed = self._options.max_tasks, self._dispatcher.claimed
        if limit is not None and claimed >= limit:
            self.retire(f"it took {claimed} tasks")
        if self._options.burst and self._dispatcher.is_used_up(now):
            self.stop("nothing is left to do")

    def _beat(self) -> None:
        """Send a heartbeat to the pools that answer, even if they refuse the Lua library."""
        state = "stopping" if self._shutdown.ending else "quiet" if self._dispatcher.closed else "live"
        reached = (each for each in self._dispatcher.clients if each.transport.is_refused or not each.cut_off)
        clients = {client.pool: client for client in reached}

        def call(pool: str, beat: Callable[[], bool]) -> bool:
            return clients[pool].transport.call("heartbeat", beat)

        self._commands.look_again()
        dispatcher = self._dispatcher
        work = WorkDone(dispatcher.finished, dispatcher.failed, dispatcher.ran_ms)
        rss = self._heartbeat.send(self._broker, self._worker, clients, state, work, call)
        limit = self._options.max_memory
        if limit is not None and rss > limit * 1024 * 1024:
            self.retire(f"it takes {rss // (1024 * 1024)} MB of memory")

    def _pause(self) -> None:
        """Sleep until something happens. A task that ends meanwhile wakes the loop if there is little left to do."""
        executor = self._executor
        executor.waiting = True
        now = _monotonic()
        self._until = self._next_moment(now)
        self._table.expect(self._until)
        if self._until > now and self._dispatcher.is_calm() and executor.has_rest():
            self._idle_listener.man(self._listeners)
            executor.post(self._idle_listener)
        else:
            self._idle_listener.bring_home()
        executor.awake.release()
        events = self._selector.select(max(0.0, self._until - now))
        executor.awake.acquire()
        executor.waiting = False
        self._table.expect(_monotonic())  # before a task is handed over, which may hold the interpreter
        if (broken := self._broken or executor.broken) is not None:
            raise broken
        for key, _ in events:
            if key.fd in self._selector.get_map():  # else a thread took it over meanwhile, and hears of it
                key.data()

    def _next_moment(self, now: float) -> float:
        executor = self._executor
        if self._is_over() or (executor.done and executor.queued() <= executor.low):
            return now
        moments = [now + LONGEST_PAUSE, self._heartbeat.due_at, self._shutdown.at, self._dispatcher.next_moment(now)]
        for line, client in self._lines:
            if client.transport.is_reachable:
                moments.append(line.check_at)
        return min(moments)

    def _stand_in(self) -> None:
        """Make one turn in the thread of a task that ended while the loop sleeps.

        Wakes the loop if it would oversleep.
        """
        try:
            now = _monotonic()
            self._table.expect(now)
            self._turn(now)
            self._executor.waiting = True
            due = self._next_moment(now)
            self._table.expect(min(due, self._until))
            if due < self._until:
                self._self_pipe.ring()
        except Exception as error:  # the loop raises it, and the process ends
            self._broken = error
            self._self_pipe.ring()

    def _heed(self, events: Events) -> None:
        """Handle what an idle listener's thread received: keep the task that was handed over, or make a turn.

        An outage is left to the loop, whose calls end with the process.
        """
        listener, executor = self._idle_listener, self._executor
        stays = False
        self._table.expect(_monotonic())
        try:
            for key, _ in events:
                key.data()
            wanted = listener.manned and not (executor.kept is not None or self._is_over())
            if wanted and all(line.stands for line, _ in self._lines):
                executor.waiting = False
                self._stand_in()
                stays = not (executor.kept is not None or self._broken or self._is_over())
        except Exception as error:  # the loop raises it, and the process ends
            self._broken = error
            self._self_pipe.ring()
        if listener.manned and not stays:
            listener.manned = False

    def _line(self, client: PoolClient) -> tuple[WakeupListener, PoolClient]:
        connect = partial(self._broker.waker, client.pool, self._worker)
        call = None if client.transport.thread is None else client.transport.call
        return WakeupListener(connect, self._selector, client.pool, partial(self._token, client), call), client

    def _arrived(self, pool: str) -> None:
        self._dispatcher.arrived(pool)
        self._self_pipe.ring()

    def _token(self, client: PoolClient, token: str | Lease) -> None:
        if isinstance(token, Lease):
            self._dispatcher.take(client, token)
            return
        word, _, task_id = token.partition(" ")
        if word == "work":
            client.ready = True
        elif word == "commands":
            client.has_commands = True
        elif word == "cancel":
            client.ask_about(task_id)
        elif word == "quiet":
            self._dispatcher.closed = True
            self._heartbeat.due_at = 0.0
            logger.info("Quiet: an operator stopped this process from claiming more tasks")
        elif word == "stack":
            client.transport.call("stacks", partial(self._tell_stacks, client.pool))
        elif word == "stop":
            self.stop("an operator said so")

    def _tell_stacks(self, pool: str) -> bool:
        """Store the stacks of all threads, as an operator asked; without an answer of the store they are lost."""
        stacks = StackFile()
        try:
            return self._broker.keep_stack(pool, self._worker, stacks.write())
        except QueueOpsError as error:
            logger.warning("Pool %s: the stacks of this process could not be stored: %s", pool, error)
            return False
        finally:
            stacks.close()

    def _is_over(self) -> bool:
        return self._shutdown.ending is not None and (self._shutdown.released_all or self._dispatcher.is_empty())

    def _finish(self) -> Ending:
        """Send the last outcomes to Redis, and leave the registry. ``clean`` is False if that failed."""
        ending = self._shutdown.ending or Ending("?")
        clean = self._dispatcher.flush(_monotonic() + FLUSH)
        for line, _ in self._lines:
            line.close()
        self._selector.close()
        self._commands.close(CLOSE_WITHIN)
        self._signals.close(FLUSH)
        for client in self._dispatcher.clients:
            if clean and not client.cut_off:
                client.transport.call("leave", partial(self._heartbeat.leave, self._broker, self._worker, client.pool))
        for client in self._dispatcher.clients:
            client.transport.close(CLOSE_WITHIN)
        return ending._replace(clean=clean)
