"""Map-reduce: a task that splits itself into chunks, which workers process side by side, and reduces their results.

Source of the rules: seed 0. The kernel does the bookkeeping (``redis/lua/include/chunks.lua``); here is what runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from asgiref.sync import async_to_sync

from queueops import registry
from queueops.context import Context
from queueops.contracts import Push
from queueops.encoding import decode_result
from queueops.handle import TaskStatus, get
from queueops.ids import check_id
from queueops.kinds.chunked import ChunkOptions, Results
from queueops.kinds.classes import RunClass, options_of, place_of, unique_of
from queueops.kinds.function import FunctionHandler
from queueops.kinds.mapping import write_chunks
from queueops.kinds.pushable import Task
from queueops.kinds.stages import Stages
from queueops.redis import broker as brokers
from queueops.retry import Retry
from queueops.schedule import Schedule


class MapReduce(RunClass, abstract=True):
    """Subclass it and give it ``map``, ``process`` and ``reduce``; ``push`` leaves it to workers.

    ``map(*args)`` yields chunks: any number of any encodable values. ``process(chunk)`` is run for each by whichever
    worker is free. ``reduce(results)`` gets their results in the order of the map, read as they are asked for;
    ``len(results)`` is known, and ``self.dropped`` lists the numbers of the chunks without one.

    ``retries``, ``retry``, ``retry_on`` and ``timeout`` (seconds) hold for the map, each chunk and the reduce;
    ``chunk_retries``, ``reduce_timeout`` and so on say otherwise for one of them. ``max_parallel``: chunks of one task
    at once; ``chunks_per_worker``: of those, in one worker process; None = no limit. ``on_chunk_failure``: "fail",
    "drop", "drop:20" (up to 20) or "drop:5%". ``cron``: when it runs by itself, a line or a `Schedule`; not inherited.
    """

    max_parallel: ClassVar[int | None] = None
    chunks_per_worker: ClassVar[int | None] = None
    on_chunk_failure: ClassVar[str] = "fail"
    chunk_retries: ClassVar[int | None] = None
    chunk_retry: ClassVar[Retry | None] = None
    chunk_timeout: ClassVar[float | None] = None
    reduce_retries: ClassVar[int | None] = None
    reduce_retry: ClassVar[Retry | None] = None
    reduce_timeout: ClassVar[float | None] = None
    dropped: Sequence[int] = ()

    def map(self, *args: Any, **kwargs: Any) -> Iterable[Any]:
        """The chunks. By default one: the first argument."""
        return args[:1]

    def process(self, chunk: Any) -> Any:
        """The result of one chunk."""
        return chunk

    def reduce(self, results: Results) -> Any:
        """The result of all."""
        return None

    @classmethod
    def status(cls, task_id: str) -> TaskStatus | None:
        """The task of this id now, in whichever pool it is, its chunks counted by state; None when it is gone."""
        found = get(check_id(task_id))
        return None if found is None else found.status()

    @classmethod
    def _register(cls, name: str, schedule: Schedule | None) -> None:
        chunk_options = ChunkOptions.of(cls, name)
        handler = MapReduceHandler(cls, name)
        task = MapReduceTask(handler, options_of(cls), unique_of(cls), schedule)
        task.chunk_options = chunk_options
        handler.task = cls.task = task
        registry.register(handler, place_of(cls))
        chunk_handler = AsyncChunkHandler if chunk_options.asynchronous else ChunkHandler
        registry.register(chunk_handler(cls, name), place_of(cls))


class MapReduceTask(Task[Any, Any, Any]):
    """The task of a MapReduce class: what is pushed knows its chunks' limits."""

    chunk_options: ChunkOptions

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Map, process and reduce here and now, one chunk after the other."""
        stages: Stages = self.handler.stages  # type: ignore[attr-defined]
        process = async_to_sync(stages.aprocess) if self.chunk_options.asynchronous else stages.process
        with stages.map(args, kwargs) as chunks:
            results = [process(chunk) for chunk in chunks]
        return stages.reduce(results)

    def _made(self, args: Sequence[Any], kwargs: dict[str, Any], *, after: bool = False) -> Push:
        push = super()._made(args, kwargs, after=after)
        push.kind = "mapreduce"
        push.own = self._own_fields(push)
        return push

    def _own_fields(self, push: Push) -> tuple[tuple[str, str | int], ...]:
        stages: Stages = self.handler.stages  # type: ignore[attr-defined]
        stages.check(asynchronous=self.chunk_options.asynchronous)
        return self.chunk_options.fields(push)


class MapReduceHandler(FunctionHandler):
    """Runs the map of a class, and its reduce: which of them, the lease's phase says."""

    kind = "mapreduce"

    def __init__(self, cls: type[MapReduce], name: str) -> None:
        super().__init__(cls().map, name, tuple(cls.retry_on))
        self.stages = Stages(cls, name)

    def run(self, context: Context) -> Any:
        """Map and answer the number of chunks, or reduce and answer the result."""
        return self._reduce(context) if context.lease.phase == "reduce" else self._map(context)

    def _map(self, context: Context) -> int:
        args, kwargs = self.plan.decode(context.lease.args)
        with self.stages.map(args, kwargs) as chunks:
            return write_chunks(brokers.get_broker(), context, self.name, chunks)

    def _reduce(self, context: Context) -> Any:
        results = Results(brokers.get_broker(), context.lease.pool, context.lease.id, self.name)
        return self.stages.reduce(results, results.dropped)


class ChunkHandler:
    """Runs one chunk."""

    kind = "chunk"
    is_async = False

    def __init__(self, cls: type[MapReduce], name: str) -> None:
        self.name = name
        self.task = cls.task
        self.stages = Stages(cls, name)
        self.retry_on = tuple(cls.retry_on)

    def run(self, context: Context) -> Any:
        """The result of the chunk."""
        return self.stages.process(decode_result(self.name, context.lease.args))


class AsyncChunkHandler(ChunkHandler):
    """Runs one chunk whose ``process`` is a coroutine function."""

    is_async = True

    async def run(self, context: Context) -> Any:
        """The result of the chunk."""
        return await self.stages.aprocess(decode_result(self.name, context.lease.args))
