"""Effects in the code of a workflow: sockets, subprocesses, threads and the store are refused, also without asyncio."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sqlite3
import subprocess
import threading
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection

from queueops import task, wf, workflow
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.model.states import State
from queueops.redis.broker import get_broker, get_role
from queueops.results.handle import TaskHandle
from queueops.testing import WorkflowEnvironment, run_worker
from tests.workflows.test_endings import reason_of

pytestmark = pytest.mark.usefixtures("memory")

_done: list[str] = []


@task(name="effects.pushed")
def pushed() -> None:
    """Is pushed by the code of a workflow."""


def _note() -> None:
    _done.append("done")


def _thread() -> None:
    threading.Thread(target=_note).start()


def _executor() -> None:
    with ThreadPoolExecutor(1) as executor:
        executor.submit(_note).result()


def _socket() -> None:
    socket.create_connection(("127.0.0.1", 9), timeout=1)


def _request() -> None:
    urllib.request.urlopen("http://127.0.0.1:9/", timeout=1)


def _process() -> None:
    subprocess.run(["touch", os.environ["EFFECT_FILE"]], check=True)


def _shell() -> None:
    os.system('touch "$EFFECT_FILE"')


def _database() -> None:
    sqlite3.connect(os.environ["EFFECT_FILE"]).close()


def _push() -> None:
    pushed.push()


def _push_many() -> None:
    pushed.push_many([()] * 3)


def _read() -> None:
    TaskHandle[None]("01M8D5E7650RK38A1E4P8ZH0FE").status()


def _server() -> None:
    get_broker().server("default")


EFFECTS: dict[str, tuple[Callable[[], None], str]] = {
    "thread": (_thread, "A thread or an executor"),
    "executor": (_executor, "A thread or an executor"),
    "socket": (_socket, "A socket or a pipe"),
    "request": (_request, "A socket or a pipe"),
    "process": (_process, "A subprocess"),
    "shell": (_shell, "A subprocess"),
    "database": (_database, "A database"),
    "push": (_push, "The store"),
    "push_many": (_push_many, "The store"),
    "read": (_read, "The store"),
    "server": (_server, "The store"),
}


@workflow(name="effects.direct")
async def direct(how: str) -> None:
    """Has an effect in its code."""
    EFFECTS[how][0]()


@workflow(name="effects.recorded")
async def recorded(how: str) -> None:
    """Has the effect in a function whose value is recorded."""
    wf.side_effect(EFFECTS[how][0])


@workflow(name="effects.caught")
async def caught(how: str) -> str:
    """Catches the refusal, and goes on."""
    try:
        EFFECTS[how][0]()
    except Exception as error:
        return type(error).__name__
    return "done"


@workflow(name="effects.logged")
async def logged() -> str:
    """Logs to a handler that starts a thread."""
    logging.getLogger("effects").warning("hello")
    return "logged"


@pytest.fixture(autouse=True)
def effect_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a refused effect would make."""
    monkeypatch.setenv("EFFECT_FILE", str(tmp_path / "effect"))
    _done.clear()
    return tmp_path / "effect"


@pytest.mark.parametrize("how", EFFECTS)
def test_an_effect_in_the_code_blocks_the_run_and_does_not_happen(how: str, effect_file: Path) -> None:
    run = direct.start(how)
    run_worker()
    row = get_role(WorkflowCalls).run_row("default", run.id)
    assert row is not None
    assert (row.fields["s"], "vb" in row.fields) == (State.POSTPONED, True)
    assert row.fields["y"].startswith(EFFECTS[how][1])
    assert row.fields["y"].endswith("Do it in an activity, and await wf.call(...).")
    assert _done == []
    assert not effect_file.exists()
    broker = get_broker()
    assert broker.client.zcard(f"{broker.keys('default').prefix}:name:effects.pushed") == 0


@pytest.mark.parametrize("how", ["thread", "socket", "push"])
def test_a_refusal_that_the_code_catches_blocks_the_run_too(how: str) -> None:
    run = caught.start(how)
    run_worker()
    assert run.state == State.POSTPONED


@pytest.mark.parametrize("is_allowed", ["", "1"], ids=["refused by Django", "allowed by Django"])
@pytest.mark.parametrize("code", [direct, caught], ids=["raised", "caught"])
def test_the_orm_blocks_the_run(code: Any, is_allowed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", is_allowed)
    monkeypatch.setitem(EFFECTS, "orm", (lambda: connection.cursor().close(), "Django's ORM"))
    run = code.start("orm")
    run_worker()
    assert run.state == State.POSTPONED
    assert reason_of(run).startswith("Django's ORM cannot be used in the code of a workflow")


@pytest.mark.django_db
def test_the_orm_of_an_observer_and_of_activities_is_none_of_the_code() -> None:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            try:
                connection.cursor().close()
            except SynchronousOnlyOperation:
                _note()

    logger, handler = logging.getLogger("effects"), Handler()
    logger.addHandler(handler)
    try:
        run = logged.start()
        run_worker()
    finally:
        logger.removeHandler(handler)
    assert run.result(timeout=0) == "logged"
    assert _done == ["done"]


def test_an_executor_with_an_idle_thread_is_refused_too() -> None:
    with ThreadPoolExecutor(1) as executor:
        executor.submit(int).result()

        def submits() -> None:
            executor.submit(_note)

        EFFECTS["warm"] = submits, "A thread or an executor"
        try:
            run = direct.start("warm")
            run_worker()
        finally:
            del EFFECTS["warm"]
    assert run.state == State.POSTPONED
    assert _done == []


def test_an_observer_below_the_worker_permits_nothing() -> None:
    observer: dict[str, Any] = {"__name__": "sentry_sdk.integrations.threading", "work": run_worker}
    exec("def below():\n    work()", observer)
    run = direct.start("thread")
    observer["below"]()
    assert run.state == State.POSTPONED
    assert _done == []


@pytest.mark.parametrize("how", ["thread", "executor", "process", "shell", "database"])
def test_an_effect_in_a_recorded_function_happens(how: str) -> None:
    run = recorded.start(how)
    run_worker()
    assert run.state == State.SUCCEEDED


@pytest.mark.parametrize("how", ["thread", "push", "read"])
def test_the_test_environment_refuses_an_effect_too(how: str) -> None:
    run = WorkflowEnvironment().start(direct, how)
    with pytest.raises(Exception, match=rf"{EFFECTS[how][1]}.* cannot be used .* Do it in an activity"):
        run.result()
    assert _done == []


def test_a_log_handler_may_do_what_it_needs() -> None:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            thread = threading.Thread(target=_note)
            thread.start()
            thread.join()

    handler = Handler()
    logging.getLogger("effects").addHandler(handler)
    try:
        run = logged.start()
        run_worker()
    finally:
        logging.getLogger("effects").removeHandler(handler)
    assert run.result(timeout=0) == "logged"
    assert _done == ["done"]


def test_other_code_of_the_process_is_not_concerned() -> None:
    direct.start("thread")
    run_worker()
    _thread()
    _executor()
    assert _done == ["done", "done"]
    assert pushed.push().state == State.PENDING


def _task() -> asyncio.Future[None]:
    waits = wf.sleep(1)
    try:
        return asyncio.ensure_future(waits)
    finally:
        waits.close()


INNER: dict[str, Callable[[], Any]] = {
    "side": lambda: wf.side_effect(lambda: 1),
    "timer": lambda: asyncio.get_running_loop().call_later(60, print),
    "task": _task,
    "random": lambda: wf.random().random(),
    "uuid4": lambda: str(wf.uuid4()),
    "patched": lambda: wf.patched("new"),
    "status": lambda: wf.set_status("new"),
}


@workflow(name="effects.inner")
async def inner(how: str) -> int:
    """Gives a command in a function that a replay does not call."""
    wf.side_effect(INNER[how])
    return int(await wf.signal("go"))


@pytest.mark.parametrize("how", INNER)
def test_a_recorded_function_gives_no_command(how: str) -> None:
    run = inner.start(how)
    run_worker()
    assert "in the function of wf.side_effect() cannot be used" in reason_of(run)
