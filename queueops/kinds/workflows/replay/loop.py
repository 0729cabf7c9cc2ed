"""Deterministic event loop: runs the code of a workflow until all of it waits.

The loop has no clock, no sockets and no threads. Callbacks run in the order in which they were scheduled. Its time is
the time of the decision step, and its timers are commands of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import math
import re
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from itertools import count
from types import FrameType
from typing import Any, NoReturn, Protocol

from queueops.errors import BadOption, Interrupt
from queueops.errors.workflows import RefusedInWorkflow
from queueops.kinds.workflows.replay import code_context, quiet_replay, refused_io
from queueops.kinds.workflows.replay.refused_io import ADVICE, PROCESS, SOCKET, THREAD, ReplayedLoop, install
from queueops.model.durations import MAX_MS

_REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            *("create_connection", "create_server", "create_unix_connection", "create_unix_server", "getaddrinfo"),
            *("create_datagram_endpoint", "connect_accepted_socket", "start_tls", "sock_recv", "sock_recv_into"),
            *("sock_recvfrom", "sock_recvfrom_into", "sock_sendall", "sock_sendto", "sock_connect", "sock_accept"),
            *("sock_sendfile", "sendfile", "getnameinfo", "add_reader", "remove_reader", "add_writer"),
            *("remove_writer", "connect_read_pipe", "connect_write_pipe"),
        ),
        (SOCKET, ADVICE),
    ),
    **dict.fromkeys(("subprocess_exec", "subprocess_shell"), (PROCESS, ADVICE)),
    **dict.fromkeys(("run_in_executor", "set_default_executor"), (THREAD, ADVICE)),
    "call_soon_threadsafe": ("Another thread", ADVICE),
    **dict.fromkeys(("add_signal_handler", "remove_signal_handler"), ("A signal of the process", "Use wf.signal().")),
    **dict.fromkeys(("run_forever", "run_until_complete"), ("A second event loop", "Use await.")),
    **dict.fromkeys(("stop", "close"), ("An end of the event loop", "Return from the code of the workflow.")),
    **dict.fromkeys(
        ("set_task_factory", "set_exception_handler"),
        ("A change of the event loop", "Leave it out: the loop of a run stays as it is, in each replay."),
    ),
}


_FOREIGN = re.compile(r"attached to a different loop|^The future belongs to a different loop|^Task got bad yield")
"""What asyncio says of them."""
_NESTED = re.compile(r"from a running event loop|^You cannot use AsyncToSync|while another loop is running")
"""What asyncio and asgiref say of a loop within a loop."""


class Timers(Protocol):
    """Keeps the timers of a run."""

    replaying: bool
    """Whether the code repeats a step that is recorded."""

    def set_timer(self, handle: WorkflowTimer, at_ms: int) -> None:
        """Fire a handle at a time."""

    def drop_timer(self, handle: WorkflowTimer) -> None:
        """The handle was cancelled."""


class WorkflowTimer(asyncio.TimerHandle):
    """A timer with the number of its command, 0 without one."""

    __slots__ = ("number",)
    number: int


class WorkflowFuture(asyncio.Future[Any]):
    """A future that hashes by its number, so that sets have the same order in each replay."""

    def __init__(self, number: int, *, loop: asyncio.AbstractEventLoop) -> None:
        self.number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class WorkflowTask(asyncio.Task[Any]):
    """A task that hashes by its number: a task group cancels in the same order in each replay."""

    def __init__(self, number: int, coro: Any, code: str = "", **options: Any) -> None:
        self.number = number
        self.code = code
        super().__init__(coro, **options)
        self._log_destroy_pending = False  # a run may be dropped while its code waits, and replayed elsewhere
        asyncio._unregister_task(self)  # tasks of all kept runs have the same few hashes: a set of them is slow

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def error(self) -> BaseException | None:
        """Its error. `exception()` gives it too, and then it counts as taken by the code."""
        found: BaseException | None = self._exception
        return found


class WorkflowLoop(ReplayedLoop):
    """The loop of one run. ``timers`` keeps its timers."""

    def __init__(self, timers: Timers) -> None:
        install()
        quiet_replay.install()
        self.timers = timers
        self.now_ms = 0
        self.problems: list[str] = []
        self.interrupt: Interrupt | None = None
        self.exit: SystemExit | None = None
        self.tasks: dict[int, WorkflowTask] = {}
        self._failed: dict[int, WorkflowTask] = {}
        self._told: set[int] = set()
        self._ready: deque[asyncio.Handle] = deque()
        self._numbers = count(1)

    def run_until_quiet(self) -> None:
        """Run callbacks until all code waits. Raises an interrupt of the worker, if one came, and what was refused."""
        with self.running():
            while self._ready and self.exit is None:
                self._call()
                if self.interrupt is not None:
                    raise self.interrupt
                if self.refused is not None:
                    raise self.refused

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Around code of the run: it is the running loop of this thread."""
        before = asyncio._get_running_loop()
        task = _swap_current_task(before, None) if before is not None else None
        asyncio._set_running_loop(None)
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(before)
            if before is not None:
                _swap_current_task(before, task)

    def _call(self) -> None:
        """Run the next callback. A SystemExit of the code ends the run: no other callback runs.

        An error of the code may keep this frame, which must not keep the task of the error.
        """
        handle = self._ready.popleft()
        try:
            if not handle.cancelled():
                handle._run()
        except SystemExit as error:
            self.exit = error
        finally:
            del handle

    def fire(self, handle: asyncio.Handle) -> None:
        """A timer of the run is due."""
        self._ready.append(handle)

    def time(self) -> float:
        """The time of the decision step, in epoch seconds."""
        return self.now_ms / 1000

    def call_soon(  # type: ignore[override]  # the arguments go to the callback as they are
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Run a callback in this step, after those that were scheduled before it."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]  # the arguments go to the callback as they are
        self, delay: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback when a timer of the run fires."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]  # the arguments go to the callback as they are
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback when a timer of the run fires."""
        handle = WorkflowTimer(when, callback, args, self, context)
        handle.number = 0
        if not math.isfinite(when) or (at_ms := round(when * 1000)) > self.now_ms + MAX_MS:
            expected = "at most a hundred years; asyncio.timeout(None) has no limit"
            raise BadOption(name="delay", value=when - self.time(), expected=expected)
        if at_ms <= self.now_ms:
            self._ready.append(handle)
        else:
            self.timers.set_timer(handle, at_ms)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if isinstance(handle, WorkflowTimer):
            self.timers.drop_timer(handle)

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this run."""
        return WorkflowFuture(next(self._numbers), loop=self)

    def create_task(  # newer Pythons pass more options
        self,
        coro: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        **options: Any,
    ) -> asyncio.Task[Any]:
        """A task of this run."""
        _refuse_unordered()
        self.refuse_in_effect()
        number = next(self._numbers)
        options = {"loop": self, "name": name or f"task {number}", "context": context}
        task = WorkflowTask(number, self._guarded(coro), getattr(coro, "__qualname__", ""), **options)
        self.tasks[number] = task
        task.add_done_callback(self._forget)
        return task

    async def _guarded(self, coro: Any) -> Any:
        """Keep an interrupt of the worker, which a task would hold as its own outcome.

        Raises RefusedInWorkflow if the code has awaited what is not of this loop.
        """
        code_context.enter()
        try:
            return await coro
        except Interrupt as interrupt:
            self.interrupt = interrupt
            raise
        except (RuntimeError, ValueError) as error:
            if _NESTED.search(str(error)):
                raise RefusedInWorkflow(what="Another event loop", advice="Await the coroutine itself.") from error
            if not _FOREIGN.search(str(error)):
                raise
            what = "What another event loop or another library waits for"
            raise RefusedInWorkflow(what=what, advice="Await what wf.* and asyncio's functions give.") from error

    def _forget(self, task: Any) -> None:
        self.tasks.pop(task.number, None)
        if task._log_traceback:
            self._failed[task.number] = task

    def failed_tasks(self) -> list[WorkflowTask]:
        """The tasks that have failed, and whose errors no code has taken so far."""
        self._failed = {number: task for number, task in self._failed.items() if task._log_traceback}
        return list(self._failed.values())

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep a problem that no code awaits, for the log of the run."""
        error = context.get("exception")
        if isinstance(error, Interrupt):
            self.interrupt = error
        self.problems.append(f"{context.get('message', '')}: {error!r}" if error else str(context.get("message", "")))

    default_exception_handler = call_exception_handler

    def take_problems(self) -> list[str]:
        """The problems that were kept since the last call, and the errors of tasks that no code has awaited."""
        found, self.problems = self.problems, []
        for task in self.failed_tasks():
            if task.number not in self._told:
                self._told.add(task.number)
                found.append(f"{type(task).__name__} exception was never retrieved: {task.error!r}")
        return found

    def is_replaying(self) -> bool:
        """Whether the code repeats a step that is recorded."""
        return self.timers.replaying

    def get_debug(self) -> bool:
        """Debug mode of asyncio is off: it reads a clock."""
        return False

    def is_running(self) -> bool:
        """While the code of the workflow runs, its loop does."""
        return True

    def is_closed(self) -> bool:
        """A run that is dropped is only forgotten."""
        return False

    async def shutdown_asyncgens(self) -> None:
        """Nothing is kept of async generators."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is no executor."""

    def set_debug(self, enabled: bool) -> None:
        """Debug mode stays off."""

    def get_task_factory(self) -> None:
        """No factory: libraries such as anyio ask before they make a task."""

    def get_exception_handler(self) -> None:
        """No handler: the log of the run has the problems."""


def _swap_current_task(loop: asyncio.AbstractEventLoop, task: Any) -> Any:
    """Set the current task of a running loop, and return the one before. From Python 3.14 on a thread has only one."""
    swap = getattr(asyncio.tasks, "_swap_current_task", None)  # Python 3.11 does not have it, and does not need it
    return swap(loop, task) if swap is not None else None


def _refuse_unordered() -> None:
    """Refuse asyncio.as_completed() with coroutines: it makes a set of them, whose order differs in each replay."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == asyncio.tasks.__file__:
        if frame.f_code.co_name in ("as_completed", "__init__"):  # from Python 3.13 on it is a class
            what = "asyncio.as_completed() with coroutines"
            raise RefusedInWorkflow(what=what, advice="Give it tasks: asyncio.ensure_future(...) for each.")
        frame = frame.f_back


def _refusal(name: str, what: str, advice: str) -> Callable[..., NoReturn]:
    def refuse(self: WorkflowLoop, *args: Any, **options: Any) -> NoReturn:
        refused_io.refuse(what, advice)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name, (_what, _advice) in _REFUSED.items():
    setattr(WorkflowLoop, _name, _refusal(_name, _what, _advice))
