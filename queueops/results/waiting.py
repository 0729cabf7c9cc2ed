"""Result waiting: all waits of a process at one server share one thread and one pub/sub connection.

A wait first subscribes to the task's channel. Then it asks the store to publish the end, and reads the state. So an end
between the two is never missed. Messages may be lost with the connection. After an outage, and every RECHECK seconds, a
wait reads the state again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from typing import Any, NamedTuple, TypeVar

from queueops import conf
from queueops.errors import BrokerUnavailable, ResultTimeout, TaskGone
from queueops.model.capabilities import Capability
from queueops.model.durations import to_ms
from queueops.model.states import TERMINAL
from queueops.redis import call_limits
from queueops.results.result_listener import ResultListener

RECHECK = 10.0
"""Seconds after which a wait reads the state again, even without a message."""
OUTAGE_PAUSE = 0.25
POLL_S = 0.1
"""Seconds between two reads of a wait at a store that tells of no end."""
NEW_S = 0.005
"""A task that was pushed less than this many seconds ago has rarely ended: its wait subscribes before it reads."""
SUBSCRIBED_WITHIN = 0.05
"""Seconds that such a wait gives its subscription. Without it, it reads the state, as every other wait does first."""
SUPERSEDED = "superseded"
"""The store's reply in place of a state if another generation has the id."""
ENDED = "ended"
"""What a wait notes in place of a state when there is nothing more to wait for."""

GOES_ON = "The task has not ended; ask again later."

Answer = TypeVar("Answer")
Call = Callable[[], Any]
Step = Call | tuple[Future[bool], float]
Steps = Generator[Step, Any, None]

explain: Callable[[str, str], tuple[str, str]] | None = None
"""A function that returns the state of a task and what delays it, as a sentence, by pool and id. The app sets it.

The result is empty if this is unknown.
"""

_listeners: dict[tuple[str, str], ResultListener] = {}
"""The result listeners, by store and server: a server that does not answer affects no wait at another one."""
_lock = threading.Lock()
logger = logging.getLogger("queueops.waiting")


class Patience(NamedTuple):
    """How long a caller waits: this many seconds (None: for ever), until this moment of the monotonic clock."""

    seconds: float | None
    end: float

    @classmethod
    def of(cls, seconds: float | None) -> Patience:
        """Starts now. Raises BadOption for an invalid duration."""
        if seconds is None:
            return cls(None, float("inf"))
        return cls(seconds, time.monotonic() + to_ms("timeout", seconds) / 1000)

    def left(self) -> float:
        """The remaining seconds, never negative."""
        return max(0.0, self.end - time.monotonic())


class Generation(NamedTuple):
    """Which push of an id is meant: the push that made this generation (0: any push), or the push after it."""

    uid: int = 0
    after: bool = False

    def is_it(self, uid: int) -> bool:
        """Whether that generation is meant."""
        return not self.uid or (uid > self.uid if self.after else uid == self.uid)


def wait(
    broker: Any, pool: str, task_id: str, patience: Patience, generation: Generation, *, is_new: bool = False
) -> None:
    """Return when the generation has ended, or was superseded: the record shows which.

    ``is_new``: it was pushed a moment ago. Raises ResultTimeout, TaskGone, or BrokerUnavailable at the first read.
    """
    steps = _steps(broker, pool, task_id, patience, generation, is_new)
    answer: Any = None
    try:
        while True:
            step = steps.send(answer) if not isinstance(answer, Exception) else steps.throw(answer)
            answer = _called(step, patience) if callable(step) else _heard(*step)
    except StopIteration:
        return
    finally:
        steps.close()


async def await_end(
    broker: Any, pool: str, task_id: str, patience: Patience, generation: Generation, *, is_new: bool = False
) -> None:
    """The same for async code: calls run in a thread, waiting uses no thread."""
    steps = _steps(broker, pool, task_id, patience, generation, is_new)
    answer: Any = None
    try:
        while True:
            step = steps.send(answer) if not isinstance(answer, Exception) else steps.throw(answer)
            if callable(step):
                answer = await in_thread(partial(_called, step, patience))
            else:
                answer = bool((await asyncio.wait({asyncio.wrap_future(step[0])}, timeout=step[1]))[0])
    except StopIteration:
        return
    finally:
        steps.close()


async def in_thread(call: Callable[[], Answer]) -> Answer:
    """Run a blocking call beside the event loop."""
    return await asyncio.to_thread(call)


def close() -> None:
    """End the thread and close the connection, as at the end of a test; the next wait makes new ones."""
    while _listeners:
        _listeners.popitem()[1].close()


def _steps(broker: Any, pool: str, task_id: str, patience: Patience, generation: Generation, is_new: bool) -> Steps:
    """The wait, step by step: yields a call, or a future and the seconds to wait for it.

    Receives the call's result, or whether the future is done.
    """
    channel = broker.done_channel(pool, task_id)
    look = partial(_look, broker, pool, task_id, generation, patience)
    state: str | None = None if is_new and patience.left() else (yield from look(None))
    while state != ENDED:
        if state is not None and not patience.left():
            now, reason = yield partial(_reason, pool, task_id) if patience.seconds else _no_reason
            raise ResultTimeout(id=task_id, seconds=patience.seconds, state=now or state, reason=reason or GOES_ON)
        if Capability.ENDS not in broker.capabilities:
            if state is not None:
                yield Future(), min(POLL_S, patience.left())
            state = yield from look(state)
            continue
        listener = _listener(broker, pool)
        subscription = listener.listen(channel)
        try:
            within = min(SUBSCRIBED_WITHIN if state is None else RECHECK, patience.left())
            heard = (yield subscription.subscribed, within) and subscription.subscribed.result()
            state = yield from look(state)
            if heard and state != ENDED and (yield subscription.news, min(RECHECK, patience.left())):
                # the message may be about the end of the previous generation
                if subscription.news.result() and not generation.after:
                    return
                state = yield from look(state)
        finally:
            listener.forget(subscription)


def _reason(pool: str, task_id: str) -> tuple[str, str]:
    """The current state, and what delays the task. Errors are dropped: the caller only gets the timeout."""
    try:
        return explain(pool, task_id) if explain is not None else ("", "")
    except Exception:
        logger.debug("The reason why %s waits could not be read", task_id, exc_info=True)
        return "", ""


def _no_reason() -> tuple[str, str]:
    """Return no reason for a single read (a timeout of 0), which must not cost more."""
    return "", ""


def _look(
    broker: Any, pool: str, task_id: str, generation: Generation, patience: Patience, before: str | None
) -> Generator[Step, Any, str]:
    """The current state, or ENDED; during an outage ``before``, until the timeout. The first read raises its error."""
    try:
        state: str = yield partial(broker.wait, pool, task_id, generation.uid, after=generation.after)
    except BrokerUnavailable:
        if before is None or patience.left() <= OUTAGE_PAUSE:
            raise
        yield Future(), OUTAGE_PAUSE
        return before
    if not state:
        raise TaskGone(id=task_id, pool=pool)
    return ENDED if state in TERMINAL or state == SUPERSEDED else state


def _called(call: Call, patience: Patience) -> Any:
    """The result, or the error as a value: the steps receive and handle it."""
    try:
        if patience.seconds is None:
            return call()
        with call_limits.at_most(patience.left()):
            return call()
    except BrokerUnavailable as error:
        return error


def _heard(future: Future[bool], seconds: float) -> bool:
    try:
        future.result(seconds)
    except FutureTimeout:
        return False
    return True


def _listener(broker: Any, pool: str) -> ResultListener:
    place = conf.store_name(), broker.server(pool)
    with _lock:
        listener = _listeners.get(place)
        if listener is None or listener.broker is not broker:
            listener = _listeners[place] = ResultListener(broker, pool)
    return listener


def _forget() -> None:
    """Drop the thread and the connection in a child process, which has neither."""
    global _lock
    _listeners.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)
