"""Map-reduce methods: calls map, process and reduce on a new instance, with their dependencies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from functools import cached_property
from inspect import isasyncgen, isawaitable, isgenerator, signature
from typing import Any

from queueops.errors import BadArguments, BadDependency
from queueops.errors.results import BadResult
from queueops.results.types import ResultType, encoder_of
from queueops.tasks.depends import Dependencies, aenter_all, enter_all
from queueops.tasks.encoding import decode_result
from queueops.tasks.signature import ArgumentSpec


class Stages:
    """Dependencies (``Depends``) of map, process or reduce are opened at each call, and closed at its end."""

    def __init__(self, cls: type[Any], name: str) -> None:
        self._cls = cls
        self._name = name
        self._checked = False
        self._read: dict[str, Dependencies] = {}

    @contextmanager
    def map(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
        """The chunks of the map; the block's end closes the generator and its dependencies."""
        with ExitStack() as stack:
            given = enter_all(self._needs("map"), stack)
            chunks = self._cls().map(*args, **{**given, **kwargs})
            if isgenerator(chunks):
                stack.callback(chunks.close)
            yield chunks

    @asynccontextmanager
    async def amap(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> AsyncIterator[Any]:
        """The async form, for a ``map`` that is a coroutine function or an async generator function."""
        async with AsyncExitStack() as stack:
            given = await aenter_all(self._needs("map"), stack)
            chunks = self._cls().map(*args, **{**given, **kwargs})
            if isawaitable(chunks):
                chunks = await chunks
            if isasyncgen(chunks):
                stack.push_async_callback(chunks.aclose)
            elif isgenerator(chunks):
                stack.callback(chunks.close)
            yield chunks

    @cached_property
    def encode_chunk(self) -> Callable[[str, Any, str], bytes]:
        """How a chunk is stored, by the annotation of ``process``. Raises NotEncodable and PayloadTooLarge."""
        return self._chunk_type.encode_fitting if self._chunk_type else encoder_of(self._cls().process)

    @cached_property
    def encode_part(self) -> Callable[[str, Any, str], bytes]:
        """How the result of a chunk is stored, by the annotation of ``process``."""
        return self._part_type.encode_fitting if self._part_type else encoder_of(self._cls().process, "return")

    def decode_chunk(self, data: bytes) -> Any:
        """The chunk as ``process`` gets it: with values of the project's encoder. Raises BadArguments."""
        if self._chunk_type is None:
            return decode_result(self._name, data)
        try:
            return self._chunk_type.decode(data)
        except BadResult as error:
            raise BadArguments(name=f"{self._name}.process", reason=f"its chunk: {error.reason}") from error

    def decode_part(self, data: bytes) -> Any:
        """The result of a chunk as ``reduce`` gets it. Raises BadResult."""
        return self._part_type.decode(data) if self._part_type else decode_result(self._name, data)

    @cached_property
    def _chunk_type(self) -> ResultType | None:
        process = self._cls().process
        return ResultType.of_encoder(process, next(iter(signature(process).parameters), ""), f"{self._name}.process")

    @cached_property
    def _part_type(self) -> ResultType | None:
        return ResultType.of_encoder(self._cls().process, "return", f"{self._name}.process")

    def process(self, chunk: Any) -> Any:
        """The result of one chunk."""
        needs = self._needs("process")
        if not needs:
            return self._cls().process(chunk)
        with ExitStack() as stack:
            return self._cls().process(chunk, **enter_all(needs, stack))

    async def aprocess(self, chunk: Any) -> Any:
        """The result of one chunk whose ``process`` is a coroutine function."""
        async with AsyncExitStack() as stack:
            return await self._cls().process(chunk, **await aenter_all(self._needs("process"), stack))

    def reduce(self, results: Any, dropped: Sequence[int] = ()) -> Any:
        """The result of all."""
        instance = self._cls()
        instance.dropped = dropped
        with ExitStack() as stack:
            return instance.reduce(results, **enter_all(self._needs("reduce"), stack))

    async def areduce(self, results: Any, dropped: Sequence[int] = ()) -> Any:
        """The result of all, of a ``reduce`` that is a coroutine function."""
        instance = self._cls()
        instance.dropped = dropped
        async with AsyncExitStack() as stack:
            return await instance.reduce(results, **await aenter_all(self._needs("reduce"), stack))

    def check(self, async_stages: Collection[str]) -> None:
        """Check the dependencies of all stages once. Raises BadDependency."""
        if not self._checked:
            for method in ("map", "process", "reduce"):
                for depends in self._needs(method).values():
                    if depends.needs_loop() and method not in async_stages:
                        reason = f'it is async, and only an "async def" {method} can wait for it.'
                        raise BadDependency(dependency=repr(depends), name=f"{self._name}.{method}", reason=reason)
            self._checked = True

    def _needs(self, method: str) -> Dependencies:
        """The dependencies of a method; its signature is read at the first use."""
        if method not in self._read:
            spec = ArgumentSpec(getattr(self._cls(), method), f"{self._name}.{method}")
            self._read[method] = spec.dependencies
        return self._read[method]
