"""Dependency injection: `Depends` passes a value to a task at each start, and closes it at the end.

    def session():
        with Session() as it:
            yield it

    @task()
    def sync_user(pk: int, session: Session = Depends(session)): ...

The function may be a plain one, a generator (the task gets what it yields), or one made by `contextmanager`. It may
also be a class whose instances are context managers, or a context manager itself. For async tasks only, it may be any
of these in its async form. Its own parameters may be dependencies too. In one start, each function is called once. Its
value is closed whatever the task's outcome.

With `scope="process"`, the first task that needs it opens it, once per worker process. It is closed at the end of the
process. All threads and the event loop share its value. See `process_scope`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncContextDecorator,
    AsyncExitStack,
    ContextDecorator,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from typing import Any

from queueops.errors import BadDependency, BadOption
from queueops.tasks import process_scope

SCOPES = TASK, PROCESS = "task", "process"


class Depends:
    """Marks a parameter that is not an argument of the task: it gets the value of `func`."""

    __slots__ = ("_call", "func", "is_async", "parts", "scope")

    def __init__(self, func: Any, *, scope: str = TASK) -> None:
        if scope not in SCOPES:
            raise BadOption(name="scope", value=scope, expected=" or ".join(f'"{each}"' for each in SCOPES))
        self.func = func
        self.scope = scope
        self.is_async, self._call = _opened(func)
        self.parts = dict(_parts(func))
        for name, part in self.parts.items():
            if scope == PROCESS and part.scope != PROCESS:
                reason = f"its parameter {name!r} has the scope of a task, which ends before the process does."
                raise BadDependency(dependency=_name(func), name="Depends()", reason=reason)

    def __repr__(self) -> str:
        return f"Depends({_name(self.func)})"

    def needs_loop(self) -> bool:
        """Whether it, or one of its own dependencies, is async."""
        return self.is_async or any(part.needs_loop() for part in self.parts.values())

    def enter(self, stack: ExitStack, given: dict[int, Any]) -> Any:
        """The value of the function; `given` stores it for this start of the task."""
        if self.scope == PROCESS and (scope := process_scope.active()) is not None:
            return scope.value(self)
        key = id(self.func)
        if key not in given:
            given[key] = self.open(stack, given)
        return given[key]

    async def aenter(self, stack: AsyncExitStack, given: dict[int, Any]) -> Any:
        """The same in an async task."""
        if self.scope == PROCESS and (scope := process_scope.active(asyncio.get_running_loop())) is not None:
            return await scope.avalue(self, is_async=self.needs_loop())
        key = id(self.func)
        if key not in given:
            given[key] = await self.aopen(stack, given)
        return given[key]

    def open(self, stack: ExitStack, given: dict[int, Any] | None = None) -> Any:
        """Call the function, and open its value."""
        known = {} if given is None else given
        found = self._call(**{name: part.enter(stack, known) for name, part in self.parts.items()})
        return stack.enter_context(found) if _is_opened(self.func, found) else found

    async def aopen(self, stack: AsyncExitStack, given: dict[int, Any] | None = None) -> Any:
        """The same in async code."""
        known = {} if given is None else given
        found = self._call(**{name: await part.aenter(stack, known) for name, part in self.parts.items()})
        if inspect.isawaitable(found):
            found = await found
        return await self._aenter(stack, found)

    async def _aenter(self, stack: AsyncExitStack, found: Any) -> Any:
        if _is_opened_async(self.func, found):
            return await stack.enter_async_context(found)
        return stack.enter_context(found) if _is_opened(self.func, found) else found


Dependencies = dict[str, Depends]


def enter_all(dependencies: Dependencies, stack: ExitStack) -> dict[str, Any]:
    """The values of all dependencies of one start of a sync task; the stack closes them."""
    given: dict[int, Any] = {}
    return {name: depends.enter(stack, given) for name, depends in dependencies.items()}


async def aenter_all(dependencies: Dependencies, stack: AsyncExitStack) -> dict[str, Any]:
    """The same for an async task."""
    given: dict[int, Any] = {}
    return {name: await depends.aenter(stack, given) for name, depends in dependencies.items()}


def _opened(func: Any) -> tuple[bool, Callable[..., Any]]:
    """Whether it is async, and the callable that makes a value or a context manager."""
    if inspect.isgeneratorfunction(func):
        return False, contextmanager(func)
    if inspect.isasyncgenfunction(func):
        return True, asynccontextmanager(func)
    if not isinstance(func, type) and isinstance(func, (AbstractContextManager, AbstractAsyncContextManager)):
        return not isinstance(func, AbstractContextManager), lambda: func
    if not callable(func):
        raise BadDependency(
            dependency=repr(func), name="Depends()", reason="it is neither a function nor a context manager."
        )
    wrapped = inspect.unwrap(func)
    return inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(wrapped), func


def _is_opened(func: Any, found: Any) -> bool:
    """Whether to open the value. A context manager that a plain function returns is not opened: it may be shared."""
    if isinstance(found, ContextDecorator):
        return isinstance(found, AbstractContextManager)
    return isinstance(found, AbstractContextManager) and (found is func or isinstance(func, type))


def _is_opened_async(func: Any, found: Any) -> bool:
    if isinstance(found, AsyncContextDecorator):
        return isinstance(found, AbstractAsyncContextManager)
    return isinstance(found, AbstractAsyncContextManager) and (found is func or isinstance(func, type))


def _parts(func: Any) -> Iterator[tuple[str, Depends]]:
    try:
        parameters = inspect.signature(func).parameters.values() if callable(func) else ()
    except ValueError:  # a built-in without a signature does not have dependencies
        return
    for parameter in parameters:
        if isinstance(parameter.default, Depends):
            yield parameter.name, parameter.default
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            reason = f"its parameter {parameter.name!r} has no default, and it is called without arguments."
            raise BadDependency(dependency=_name(func), name="Depends()", reason=reason)


def _name(func: Any) -> str:
    return getattr(func, "__qualname__", None) or repr(func)
