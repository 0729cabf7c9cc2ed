"""Map-reduce: a task splits its work into chunks, workers process them in parallel, and a reduce joins the results.

The scripts keep the state of the chunks (``lua/lib/chunk_sets.lua``); this module runs the three methods.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterable, Awaitable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from asgiref.sync import async_to_sync

from queueops.errors import BadChunks, TooManyChunks
from queueops.kinds.mapreduce.chunk_store import get_chunk_store
from queueops.kinds.mapreduce.chunk_writer import awrite_chunks, write_chunks
from queueops.kinds.mapreduce.methods import Stages
from queueops.kinds.mapreduce.options import ChunkOptions, ListedResults, Results, limit_key_of
from queueops.model.contracts import Push
from queueops.model.ids import check_id
from queueops.model.ports import Handler
from queueops.model.retry import Retry
from queueops.results import waiting
from queueops.results.handle import TaskStatus, get
from queueops.results.types import ResultType
from queueops.tasks import registry
from queueops.tasks.class_based import ClassTask, RunClass, options_of, place_of, require, unique_of
from queueops.tasks.context import Context
from queueops.tasks.handlers import FunctionHandler
from queueops.tasks.hooks import middlewares_of
from queueops.tasks.limit_key import LimitBy
from queueops.tasks.limited import refuse
from queueops.tasks.options import OF_IDS

if TYPE_CHECKING:
    from queueops.schedules.schedule import Schedule


class MapReduce(RunClass, abstract=True):
    """Base class of map-reduce tasks: define ``map``, ``process`` and ``reduce``; ``push`` hands the task to workers.

    ``map(*args)`` yields chunks: any number of encodable values. ``process(chunk)`` runs for each chunk on any free
    worker. ``reduce(results)`` gets their results in the order of the map, read on demand; ``len(results)`` is known.
    ``self.dropped`` lists the numbers of the chunks without a result. Each of the three may be `async def`, and map an
    async generator.

    ``retries``, ``retry``, ``retry_on`` and ``timeout`` (seconds) hold for the map, each chunk and the reduce.
    ``chunk_retries``, ``reduce_timeout`` and so on override them for one of these. ``max_parallel``: chunks of one task
    at once; ``chunks_per_worker``: of those, in one worker process; None = no limit. ``limit``: chunks of all tasks of
    the class at once; ``rate``: how many of them begin, such as "10/m"; ``limit_key``: a function of the arguments or a
    template such as "{user_id}", for each value of which limit and rate hold. ``on_chunk_failure``: "fail",
    "drop", "drop:20" (up to 20) or "drop:5%". ``cron``: when it runs by itself, a line or a `Schedule`; not inherited.
    """

    _options_of_all = (*RunClass._options_of_all, "limit", "rate", "limit_key")
    _options_of_kind = (
        *("max_parallel", "chunks_per_worker", "on_chunk_failure", "chunk_retries", "chunk_retry", "chunk_timeout"),
        *("reduce_retries", "reduce_retry", "reduce_timeout"),
    )
    max_parallel: ClassVar[int | None] = None
    chunks_per_worker: ClassVar[int | None] = None
    limit: ClassVar[int | None] = None
    rate: ClassVar[str | float | None] = None
    limit_key: LimitBy | None = None  # no ClassVar: type checkers refuse a method in its place
    on_chunk_failure: ClassVar[str] = "fail"
    chunk_retries: ClassVar[int | None] = None
    chunk_retry: ClassVar[Retry | None] = None
    chunk_timeout: ClassVar[float | None] = None
    reduce_retries: ClassVar[int | None] = None
    reduce_retry: ClassVar[Retry | None] = None
    reduce_timeout: ClassVar[float | None] = None
    dropped: Sequence[int] = ()

    def map(
        self, *args: Any, **kwargs: Any
    ) -> Iterable[Any] | AsyncIterable[Any] | Awaitable[Iterable[Any] | AsyncIterable[Any]]:
        """Yield or return the chunks; the default is one chunk, the first argument."""
        return args[:1]

    @abstractmethod
    def process(self, chunk: Any) -> Any:
        """Return the result of one chunk. A class that does not define it is refused."""

    def reduce(self, results: Results) -> Any:
        """Return the result of the task."""
        return None

    @classmethod
    def status(cls, task_id: str) -> TaskStatus | None:
        """The status of the task of this id in any pool, its chunks counted by state. None if it is gone."""
        found = get(check_id(task_id))
        return None if found is None else found.status()

    @classmethod
    def cancel(cls, task_id: str, reason: str = "", *, hard: bool = False) -> bool:
        """Cancel the task of this id in any pool, as its handle does. False if it is gone or has ended.

        No further chunk and no reduce begins. Running code is asked to stop; with `hard` it is interrupted.
        """
        found = get(check_id(task_id))
        return found is not None and found.cancel(reason, hard=hard)

    @classmethod
    async def acancel(cls, task_id: str, reason: str = "", *, hard: bool = False) -> bool:
        """The async form of `cancel`."""
        return await waiting.in_thread(partial(cls.cancel, task_id, reason, hard=hard))

    @classmethod
    def _register(cls, name: str, schedule: Schedule | None) -> None:
        require(cls, "process", "the result of one chunk", "def process(self, chunk): return ...")
        chunk_options = ChunkOptions.of(cls, name)
        is_async = chunk_options.async_stages
        handler = (AsyncMapHandler if "map" in is_async else MapHandler)(cls, name)
        options = options_of(cls).but(limit=cls.limit, rate=cls.rate)
        task = MapReduceTask(handler, options, unique_of(cls), schedule, limit_key_of(cls, handler.func))
        task.chunk_options = chunk_options
        handler.task = cls.task = task
        handler.reduce = (AsyncReduceHandler if "reduce" in is_async else ReduceHandler)(handler)
        registry.register(handler, place_of(cls))
        registry.register((AsyncChunkHandler if "process" in is_async else ChunkHandler)(handler), place_of(cls))


_OF_CHUNKS = {"lk": "ck", "lm": "cl", "lr": "cq"}
"""The fields of a record that limit the chunks of a task, by those that limit a task."""


class MapReduceTask(ClassTask):
    """The task of a MapReduce class: its pushes hold the limits of the chunks."""

    chunk_options: ChunkOptions

    def _limit(self, push: Push, key: str | None) -> None:
        refuse(self.options, *OF_IDS)
        if key is not None:
            push.own += tuple((_OF_CHUNKS[field], value) for field, value in self.options.limit_fields(key))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run map, process and reduce in this process, one chunk after the other."""
        stages: Stages = self.handler.stages  # type: ignore[attr-defined]
        is_async = self.chunk_options.async_stages
        process = async_to_sync(stages.aprocess) if "process" in is_async else stages.process
        if "map" in is_async:
            results = [process(chunk) for chunk in async_to_sync(_listed)(stages, args, kwargs)]
        else:
            with stages.map(args, kwargs) as chunks:
                results = [process(chunk) for chunk in chunks]
        return async_to_sync(stages.areduce)(ListedResults(results)) if "reduce" in is_async else stages.reduce(results)

    def own_fields(self, push: Push) -> tuple[tuple[str, str | int], ...]:
        """The limits of the chunks. Checks the dependencies of the three methods; raises BadDependency."""
        stages: Stages = self.handler.stages  # type: ignore[attr-defined]
        stages.check(self.chunk_options.async_stages)
        return self.chunk_options.fields(push)


async def _listed(stages: Stages, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """All chunks of an async map."""
    async with stages.amap(args, kwargs) as chunks:
        return [chunk async for chunk in chunks] if isinstance(chunks, AsyncIterable) else list(chunks)


class MapHandler(FunctionHandler):
    """Runs the map of a class; its reduce has a handler of its own."""

    kind = "mapreduce"
    reduce: ReduceHandler

    def __init__(self, cls: type[MapReduce], name: str) -> None:
        super().__init__(cls().map, name, tuple(cls.retry_on))
        self.middleware = middlewares_of(cls.middleware)
        self.cls = cls
        self.stages = Stages(cls, name)

    @cached_property
    def result_type(self) -> ResultType:
        """The type that ``reduce`` returns."""
        return ResultType.of(self.cls.reduce, self.name)

    def is_unfit(self, error: BaseException) -> bool:
        """Whether an error says that the chunks which ``map`` gave cannot be stored."""
        return isinstance(error, BadChunks | TooManyChunks) and error.name == self.name

    is_result_open = True  # the number of chunks, which the store reads

    def in_phase(self, phase: str) -> Handler:
        """The method that runs this phase of a task."""
        return self.reduce if phase == "reduce" else self

    def run(self, context: Context) -> Any:
        """Run the map, and return the number of chunks."""
        args, kwargs = self.plan.decode(context.lease.args)
        with self.stages.map(args, kwargs) as chunks:
            return write_chunks(get_chunk_store(), context, self.name, chunks, self.stages.encode_chunk)


class AsyncMapHandler(MapHandler):
    """Runs a map that is a coroutine function or an async generator function."""

    is_async = True

    async def run(self, context: Context) -> Any:
        """Run the map, and return the number of chunks."""
        args, kwargs = self.plan.decode(context.lease.args)
        async with self.stages.amap(args, kwargs) as chunks:
            return await awrite_chunks(get_chunk_store(), context, self.name, chunks, self.stages.encode_chunk)


class StageHandler:
    """Runs a method of the class whose map a handler runs: the reduce, or one chunk."""

    kind = "mapreduce"
    is_async = False

    def __init__(self, map_handler: MapHandler) -> None:
        self.name, self.retry_on, self.stages = map_handler.name, map_handler.retry_on, map_handler.stages
        self.middleware, self.task = map_handler.middleware, map_handler.task


class ReduceHandler(StageHandler):
    """Runs the reduce of a class."""

    def encode_result(self, name: str, value: Any) -> bytes:
        """The result as it is stored. Raises NotEncodable and PayloadTooLarge."""
        data: bytes = self.task.handler.encode_result(name, value)
        return data

    def run(self, context: Context) -> Any:
        """The result of all chunks."""
        results = self._results(context)
        return self.stages.reduce(results, results.dropped)

    def _results(self, context: Context) -> Results:
        return Results(get_chunk_store(), context.lease.pool, context.lease.id, self.stages.decode_part)


class AsyncReduceHandler(ReduceHandler):
    """Runs a reduce that is a coroutine function."""

    is_async = True

    async def run(self, context: Context) -> Any:
        """The result of all chunks."""
        results = await waiting.in_thread(partial(self._results, context))
        return await self.stages.areduce(results, results.dropped)


class ChunkHandler(StageHandler):
    """Runs one chunk."""

    kind = "chunk"

    def encode_result(self, name: str, value: Any) -> bytes:
        """The result as it is stored. Raises NotEncodable and PayloadTooLarge."""
        return self.stages.encode_part(name, value, "result")

    def run(self, context: Context) -> Any:
        """The result of the chunk."""
        return self.stages.process(self.stages.decode_chunk(context.lease.args))


class AsyncChunkHandler(ChunkHandler):
    """Runs one chunk whose ``process`` is a coroutine function."""

    is_async = True

    async def run(self, context: Context) -> Any:
        """The result of the chunk."""
        return await self.stages.aprocess(self.stages.decode_chunk(context.lease.args))
