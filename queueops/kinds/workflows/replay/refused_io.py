"""Refusal of sockets, subprocesses, threads, the ORM and calls of the store in the code of a workflow.

Python tells an audit hook of each of them, before it happens. Django refuses its ORM itself, as in each event loop. The
hook stays for the life of the process. It does nothing unless the code of a workflow runs in the thread.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, wraps
from types import FrameType
from typing import Any, NoReturn

from django.utils import asyncio as django_asyncio

from queueops.errors.workflows import RefusedInWorkflow

ADVICE = "Do it in an activity, and await wf.call(...)."
SOCKET, PROCESS, THREAD = "A socket or a pipe", "A subprocess", "A thread or an executor"
ORM = "Django's ORM"
REFUSED = {
    **dict.fromkeys(
        (
            *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"),
            *("socket.getaddrinfo", "socket.getnameinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
        ),
        SOCKET,
    ),
    **dict.fromkeys(
        (
            *("subprocess.Popen", "os.system", "os.posix_spawn", "os.spawn", "os.exec", "os.fork", "os.forkpty"),
            "pty.spawn",
        ),
        PROCESS,
    ),
    **dict.fromkeys(("_thread.start_new_thread", "_thread.start_joinable_thread"), THREAD),
    "sqlite3.connect": "A database",
}
"""Audit events, and what they are about."""
OBSERVERS = frozenset(("logging", "opentelemetry", "sentry_sdk", "importlib"))
"""Packages that may do all this below the code: what they tell of it, and what they load, is no part of its result."""


LOOP = "queueops.kinds.workflows.replay.loop"
"""The module that calls the code."""


class ReplayedLoop(asyncio.AbstractEventLoop):
    """An event loop of code that is replayed. While it runs in a thread, the thread may do nothing that has effects."""

    allows_effects = False
    """Whether the code is in a function whose value is recorded."""
    refused: RefusedInWorkflow | None = None
    """The first refusal of a step. It blocks the run, also if the code has caught it."""

    @contextmanager
    def effects(self) -> Iterator[None]:
        """Around a function whose value is recorded, and which is not called in a replay."""
        self.allows_effects = True
        try:
            yield
        finally:
            self.allows_effects = False

    def refuse_in_effect(self, what: str = "A call, a timer or a task") -> None:
        """Called before what a replay would not have or not repeat. Raises RefusedInWorkflow."""
        if self.allows_effects:
            what = f"{what} in the function of wf.side_effect()"
            raise RefusedInWorkflow(what=what, advice="Put it beside the function.")

    def refuse_store(self) -> None:
        """Called before each call of the store. Raises RefusedInWorkflow."""
        _refuse("The store (a push, a handle, a control)")

    def is_replaying(self) -> bool:
        """Whether the code repeats a step that is recorded."""
        return False


@cache
def install() -> None:
    """Watch from now on; once for each process."""
    sys.addaudithook(_hear)
    for executor in (ThreadPoolExecutor, ProcessPoolExecutor):  # one with an idle thread starts none
        _guard(executor, "submit")
    if sys.version_info < (3, 12):  # it has no event for a new thread
        _guard(threading.Thread, "start")
    _hear_of_the_orm()


def _hear_of_the_orm() -> None:
    """Note each use of the ORM. Django asks for the running loop, and raises an error, which the code may catch."""
    ask: Callable[[], asyncio.AbstractEventLoop] = vars(django_asyncio)["get_running_loop"]

    @wraps(ask)
    def get_running_loop() -> asyncio.AbstractEventLoop:
        loop = ask()
        if isinstance(loop, ReplayedLoop) and not loop.allows_effects and not _is_observed():
            loop.refused = loop.refused or RefusedInWorkflow(what=ORM, advice=ADVICE)
        return loop

    vars(django_asyncio)["get_running_loop"] = get_running_loop


def _guard(owner: type, name: str) -> None:
    """Let a method refuse first."""
    method = getattr(owner, name)

    @wraps(method)
    def refusing(*args: Any, **options: Any) -> Any:
        _refuse(THREAD)
        return method(*args, **options)

    setattr(owner, name, refusing)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event in REFUSED:
        _refuse(REFUSED[event])


def _refuse(what: str) -> None:
    """Raise RefusedInWorkflow if the code of a workflow runs here."""
    loop = asyncio._get_running_loop()
    if isinstance(loop, ReplayedLoop) and not loop.allows_effects and not _is_observed():
        refuse(what, ADVICE)


def refuse(what: str, advice: str) -> NoReturn:
    """Raise RefusedInWorkflow. It blocks the run whose code runs here, also if the code catches it."""
    refusal, loop = RefusedInWorkflow(what=what, advice=advice), asyncio._get_running_loop()
    if isinstance(loop, ReplayedLoop):
        loop.refused = loop.refused or refusal
    raise refusal


def _is_observed() -> bool:
    """Whether an observer does it, between the loop and here. What is below the loop is the worker's own."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (module := str(frame.f_globals.get("__name__", ""))) != LOOP:
        if module.partition(".")[0] in OBSERVERS:
            return True
        frame = frame.f_back
    return False
