"""Function handlers: run a plain function, a coroutine function, a generator or an async generator."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from functools import cached_property
from typing import Any

from queueops import conf
from queueops.errors import BadDependency, Cancelled, PayloadTooLarge
from queueops.results.types import ResultType
from queueops.tasks.context import Context
from queueops.tasks.depends import Dependencies, aenter_all, enter_all
from queueops.tasks.hooks import Middleware
from queueops.tasks.signature import ArgumentSpec


class FunctionHandler:
    """Runs a function with its dependencies and the lease's arguments, converted by its annotations."""

    kind = "task"
    is_async = False

    def __init__(self, func: Callable[..., Any], name: str, retry_on: tuple[type[BaseException], ...]) -> None:
        self.func = func
        self.name = name
        self.retry_on = retry_on
        self.expected: tuple[type[BaseException], ...] = ()
        self.middleware: tuple[Middleware, ...] = ()
        self.encoder: Callable[[Any], Any] | None = None
        self.on_yield: Callable[[Any], Any] | None = None
        self.task: Any = self

    @cached_property
    def plan(self) -> ArgumentSpec:
        """The argument specification of the function; made at the first use."""
        plan = ArgumentSpec(self.func, self.name)
        for depends in plan.dependencies.values():
            if depends.needs_loop() and not self.is_async:
                reason = 'it is async, and only an "async def" task can wait for it.'
                raise BadDependency(dependency=repr(depends), name=self.name, reason=reason)
        return plan

    @cached_property
    def result_type(self) -> ResultType:
        """The type of its results; made at the first use."""
        return ResultType(self.name) if self.encoder else ResultType.of(self.func, self.name)

    @cached_property
    def encode_result(self) -> Callable[[str, Any], bytes]:
        """How its result is stored. Raises NotEncodable and PayloadTooLarge."""
        return self.result_type.encode

    def run(self, context: Context) -> Any:
        """Run the function and return its result."""
        args, kwargs = self.plan.decode(context.lease.args)
        return self.call(*args, **kwargs)

    @cached_property
    def call(self) -> Callable[..., Any]:
        """What calls the function here and now; its dependencies are given and closed.

        Returns what the function returns: a value, a coroutine or a generator.
        """
        return self._with_dependencies if self.plan.dependencies else self.func

    def _with_dependencies(self, /, *args: Any, **kwargs: Any) -> Any:
        """The call with the dependencies."""
        with ExitStack() as stack:
            return self.func(*args, **kwargs, **enter_all(self._wanted(kwargs), stack))

    def _wanted(self, given: dict[str, Any]) -> Dependencies:
        """The dependencies that the caller did not pass, as a test may."""
        return {name: depends for name, depends in self.plan.dependencies.items() if name not in given}


class GeneratorHandler(FunctionHandler):
    """Runs a generator to its end: each yield is a step of its progress, and a point for a cancel."""

    @cached_property
    def result_type(self) -> ResultType:
        """The type that the generator returns, or the list of the yielded types."""
        is_plain = self.encoder or self.on_yield
        return ResultType(self.name) if is_plain else ResultType.of_generator(self.func, self.name)

    def run(self, context: Context) -> Any:
        """Run the generator; return what it returned, or the list of what it yielded."""
        args, kwargs = self.plan.decode(context.lease.args)
        generator = self.call(*args, **kwargs)
        yields = _Yields(self.name, context)
        try:
            while True:
                value = next(generator)
                yields.add(value if self.on_yield is None else self.on_yield(value))
        except StopIteration as stop:
            return yields.result(stop.value)
        finally:
            generator.close()

    def _with_dependencies(self, /, *args: Any, **kwargs: Any) -> Any:
        """The generator; the dependencies are closed with it."""
        with ExitStack() as stack:
            given = enter_all(self._wanted(kwargs), stack)
            return (yield from self.func(*args, **kwargs, **given))


class CoroutineHandler(FunctionHandler):
    """Runs an `async def` function in the worker's event loop."""

    is_async = True

    async def run(self, context: Context) -> Any:
        """Run the function and return its result."""
        args, kwargs = self.plan.decode(context.lease.args)
        return await self.call(*args, **kwargs)

    async def _with_dependencies(self, /, *args: Any, **kwargs: Any) -> Any:
        async with AsyncExitStack() as stack:
            given = await aenter_all(self._wanted(kwargs), stack)
            return await self.func(*args, **kwargs, **given)


class AsyncGeneratorHandler(GeneratorHandler):
    """Runs an async generator to its end."""

    is_async = True

    async def run(self, context: Context) -> Any:
        """Run the generator; return the list of what it yielded."""
        args, kwargs = self.plan.decode(context.lease.args)
        generator = self.call(*args, **kwargs)
        yields = _Yields(self.name, context)
        try:
            async for value in generator:
                yields.add(value if self.on_yield is None else await _awaited(self.on_yield(value)))
        finally:
            await generator.aclose()
        return yields.result(None)

    async def _with_dependencies(self, /, *args: Any, **kwargs: Any) -> Any:
        """The async generator; the dependencies are closed with it."""
        async with AsyncExitStack() as stack:
            given = await aenter_all(self._wanted(kwargs), stack)
            generator = self.func(*args, **kwargs, **given)
            try:
                async for value in generator:
                    yield value
            finally:
                await generator.aclose()


def handler_for(func: Callable[..., Any], name: str, retry_on: tuple[type[BaseException], ...]) -> FunctionHandler:
    """The handler for the kind of a function."""
    if inspect.isasyncgenfunction(func):
        return AsyncGeneratorHandler(func, name, retry_on)
    if inspect.iscoroutinefunction(func):
        return CoroutineHandler(func, name, retry_on)
    if inspect.isgeneratorfunction(func):
        return GeneratorHandler(func, name, retry_on)
    return FunctionHandler(func, name, retry_on)


class _Yields:
    """The yields of a generator, while they can be a result: a list over the payload limit cannot."""

    def __init__(self, name: str, context: Context) -> None:
        self._name = name
        self._context = context
        self._values: list[Any] = []
        self._count = 0
        self._limit = conf.current().payload_limit
        self._most = self._limit // 2  # the shortest element takes two bytes, with its comma

    def add(self, value: Any) -> None:
        """Add one yield. Raises Cancelled if a cancel was requested."""
        self._count += 1
        if self._count <= self._most:
            self._values.append(value)
        else:
            self._values.clear()
        self._context.progress(self._count)
        if self._context.cancelled:
            raise Cancelled(reason=self._context.cancel_reason)

    def result(self, returned: Any) -> Any:
        """The return value, or else the list of the yields."""
        if returned is not None:
            return returned
        if self._count > self._most:
            raise PayloadTooLarge(what="result", name=self._name, size=f"over {2 * self._count}", limit=self._limit)
        return self._values


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
