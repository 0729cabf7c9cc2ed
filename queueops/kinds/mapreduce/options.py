"""Options of a map-reduce class, and the results of its chunks for the reduce."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from queueops.errors import BadOption
from queueops.kinds.mapreduce.chunk_store import ChunkStore
from queueops.model.contracts import Push
from queueops.model.durations import to_ms
from queueops.model.retry import Retry
from queueops.results import waiting
from queueops.tasks.limit_key import LimitKey

_POLICY = re.compile(r"fail|drop|drop:(\d{1,7})|drop:(\d{1,2}(?:\.\d{1,3})?|100)%")
_ANY = 10_000_000
_MOST_DROPPED = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions:
    """The limits of a class's chunks and of its reduce, checked."""

    async_stages: frozenset[str]
    max_parallel: int | None
    chunks_per_worker: int | None
    tolerated: str
    chunk_retries: int | None
    chunk_retry: str
    chunk_timeout_ms: int | None
    reduce_retries: int | None
    reduce_retry: str
    reduce_timeout_ms: int | None

    @classmethod
    def of(cls, kind: Any, name: str) -> ChunkOptions:
        """Read the options of a MapReduce class. Raises BadOption with the expected value."""
        _check_methods(kind, name)
        return cls(
            async_stages=frozenset(stage for stage in _SORTS if _is_async(getattr(kind, stage))),
            max_parallel=_whole("max_parallel", kind.max_parallel, 1),
            chunks_per_worker=_whole("chunks_per_worker", kind.chunks_per_worker, 1),
            tolerated=_tolerated(kind.on_chunk_failure),
            chunk_retries=_whole("chunk_retries", kind.chunk_retries, 0),
            chunk_retry=_retry("chunk_retry", kind.chunk_retry),
            chunk_timeout_ms=_ms("chunk_timeout", kind.chunk_timeout),
            reduce_retries=_whole("reduce_retries", kind.reduce_retries, 0),
            reduce_retry=_retry("reduce_retry", kind.reduce_retry),
            reduce_timeout_ms=_ms("reduce_timeout", kind.reduce_timeout),
        )

    def fields(self, push: Push) -> tuple[tuple[str, str | int], ...]:
        """The fields of the record; chunks and the reduce inherit the map's options of the push."""
        timeout = self.chunk_timeout_ms or push.timeout_ms
        found = {
            "mx": self.max_parallel,
            "xw": self.chunks_per_worker,
            "oc": self.tolerated,
            "xr": push.retries if self.chunk_retries is None else self.chunk_retries,
            "xp": self.chunk_retry or push.retry,
            "xt": timeout,
            "rr": self.reduce_retries,
            "rb": self.reduce_retry,
            "rt": self.reduce_timeout_ms,
        }
        return tuple((field, value) for field, value in found.items() if value not in (None, ""))


def limit_key_of(kind: Any, function: Callable[..., Any]) -> LimitKey | None:
    """The key of the limits of a class: a template, or a function or method of the arguments of its map.

    Raises BadOption.
    """
    given = kind.limit_key
    if given is None:
        return None
    if kind.limit is None and kind.rate is None:
        raise BadOption(name="limit_key", value=given, expected="given with limit or rate")
    if inspect.isfunction(given) and next(iter(inspect.signature(given).parameters), "") == "self":
        given = kind().limit_key
    return LimitKey(given, function)


class Results:
    """The results of the chunks in the order of the map, without those of dropped chunks.

    Each iteration reads them page by page, so that they need not fit into memory. An async reduce iterates them with
    ``async for``: then the event loop does not wait for the store. ``dropped`` are the numbers of the chunks without a
    result, the first 100,000 of them.
    """

    def __init__(self, broker: ChunkStore, pool: str, task_id: str, decode: Callable[[bytes], Any]) -> None:
        """``decode`` makes a result of what is stored."""
        self._broker, self._pool, self._id, self._decode = broker, pool, task_id, decode
        counts = broker.chunk_counts(pool, task_id)
        self._length = counts["done"]
        self._total = sum(counts.values())
        self.dropped: Sequence[int] = self._read_dropped(counts["failed"])

    def __len__(self) -> int:
        """The number of chunks with a result."""
        return self._length

    def __iter__(self) -> Iterator[Any]:
        """Each result, in the order of the map."""
        for result in self._broker.chunk_results(self._pool, self._id, self._total):
            yield self._decode(result)

    async def __aiter__(self) -> AsyncIterator[Any]:
        """The results in an async reduce."""
        pages = self._broker.chunk_result_pages(self._pool, self._id, self._total)
        while (page := await waiting.in_thread(partial(next, pages, None))) is not None:
            for result in page:
                yield self._decode(result)

    def _read_dropped(self, count: int) -> list[int]:
        found: list[int] = []
        while len(found) < min(count, _MOST_DROPPED):
            page = self._broker.chunk_numbers(self._pool, self._id, "failed", len(found))
            if not page:
                break
            found += page
        return sorted(found)


class ListedResults(list[Any]):
    """Results in memory, for an async reduce that is called directly."""

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Each of them."""
        for result in self:
            yield result


_SORTS = {
    "map": 'a "def" or "async def" that yields or returns chunks',
    "process": 'a "def" or "async def" that returns the result of a chunk, and no generator',
    "reduce": 'a "def" or "async def" that returns the result, and no generator',
}


def _check_methods(kind: Any, name: str) -> None:
    for method, expected in _SORTS.items():
        function = getattr(kind, method)
        generates = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
        if not callable(function) or (generates and method != "map"):
            raise BadOption(name=f"{name}.{method}", value=_sort_of(function), expected=expected)


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _sort_of(function: Any) -> Any:
    if not callable(function):
        return function
    if inspect.isasyncgenfunction(function):
        return "an async generator"
    return "a generator"


def _whole(name: str, value: Any, least: int) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= least):
        return value
    raise BadOption(name=name, value=value, expected=f"a whole number from {least} on, or None")


def _retry(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, Retry):
        raise BadOption(name=name, value=value, expected="a Retry, such as Retry(delay=60), or None")
    return value.explicit()


def _ms(name: str, value: Any) -> int | None:
    if value is None:
        return None
    found = to_ms(name, value)
    if not found:
        raise BadOption(name=name, value=value, expected="more than 0 seconds, or None")
    return found


def _tolerated(policy: Any) -> str:
    match = _POLICY.fullmatch(policy) if isinstance(policy, str) else None
    if match is None:
        raise BadOption(name="on_chunk_failure", value=policy, expected='"fail", "drop", "drop:20" or "drop:5%"')
    if match[1]:
        return match[1]
    if match[2]:
        return f"{match[2]}%"
    return str(_ANY) if policy == "drop" else ""
