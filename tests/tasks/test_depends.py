"""What a task depends on is given to it, and closed whatever its outcome."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager, contextmanager

import pytest

from queueops.errors import BadDependency, Cancelled
from queueops.model.contracts import Lease
from queueops.tasks.context import Context
from queueops.tasks.depends import Depends, enter_all
from queueops.tasks.handlers import handler_for


class Quiet:
    """A channel that hears nothing."""

    def progress(self, lease, done, total): ...

    def log(self, lease, text): ...

    def extend(self, lease, seconds): ...

    set_deadline = extend


def run(func):
    handler = handler_for(func, "t", (Exception,))
    context = Context(Lease(id="x", fence=1, name="t"), handler, Quiet())
    return asyncio.run(handler.run(context)) if handler.is_async else handler.run(context)


@pytest.fixture
def events():
    return []


@pytest.fixture
def session(events):
    def open_session():
        events.append("open")
        try:
            yield "session"
        finally:
            events.append("close")

    return open_session


def test_a_plain_function_gives_its_value():
    def func(value=Depends(lambda: 5)):
        return value

    assert run(func) == 5


def test_a_generator_is_closed_after_the_task(events, session):
    def func(it=Depends(session)):
        events.append("run")
        return it

    assert run(func) == "session"
    assert events == ["open", "run", "close"]


@pytest.mark.parametrize("error", [ValueError("x"), Cancelled(reason="x"), SystemExit(1)])
def test_it_is_closed_when_the_task_does_not_succeed(events, session, error):
    def func(it=Depends(session)):
        raise error

    with pytest.raises(type(error)):
        run(func)
    assert events == ["open", "close"]


def test_a_context_manager_is_entered_and_left(events):
    @contextmanager
    def manager():
        events.append("enter")
        yield 1
        events.append("exit")

    class Manager:
        def __enter__(self):
            events.append("class enter")
            return 2

        def __exit__(self, *_):
            events.append("class exit")

    ready = Manager()

    def func(a=Depends(manager), b=Depends(Manager), c=Depends(ready)):
        return [a, b, c]

    assert run(func) == [1, 2, 2]
    assert events == ["enter", "class enter", "class enter", "class exit", "class exit", "exit"]


def test_an_open_thing_that_a_plain_function_gives_is_not_closed(tmp_path):
    shared = (tmp_path / "file").open("w")

    def func(file=Depends(lambda: shared)):
        return file.closed

    assert run(func) is False
    assert not shared.closed
    shared.close()


def test_a_dependency_of_dependencies_is_made_once_a_start(events, session):
    def user(it=Depends(session)):
        return f"user of {it}"

    def func(a=Depends(session), b=Depends(user), c=Depends(session)):
        return [a, b, c]

    assert run(func) == ["session", "user of session", "session"]
    assert events == ["open", "close"]


def test_each_start_has_its_own(session, events):
    depends = {"it": Depends(session)}
    with ExitStack() as first, ExitStack() as second:
        enter_all(depends, first)
        enter_all(depends, second)
        first.close()
        assert events == ["open", "open", "close"]


def test_async_tasks_take_async_and_sync_ones(events, session):
    @asynccontextmanager
    async def manager():
        events.append("aenter")
        yield 1
        events.append("aexit")

    async def generator():
        yield 2
        events.append("aclose")

    async def plain():
        return 3

    async def func(a=Depends(manager), b=Depends(generator), c=Depends(plain), d=Depends(session)):
        return [a, b, c, d]

    assert run(func) == [1, 2, 3, "session"]
    assert events == ["aenter", "open", "close", "aclose", "aexit"]


def test_generators_have_their_dependencies_until_their_end(events, session):
    def func(it=Depends(session)):
        yield it
        events.append("between")
        yield it

    async def later(it=Depends(session)):
        yield it

    assert run(func) == ["session", "session"]
    assert events == ["open", "between", "close"]
    assert run(later) == ["session"]


def test_an_async_dependency_of_a_sync_task_is_refused():
    async def plain():
        return 1

    def func(a=Depends(plain)): ...

    with pytest.raises(BadDependency, match='only an "async def" task can wait for it'):
        run(func)


@pytest.mark.parametrize("func", [5, lambda needed: needed])
def test_what_cannot_be_called_without_arguments_is_refused(func):
    with pytest.raises(BadDependency):
        Depends(func)
