"""Store queries: read-only scripts and commands, each one round trip to each server for all requested pools.

No call scans a whole key. Lists are read by key set within a budget, counts from the sizes of indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import redis
from redis.exceptions import ResponseError

from queueops import __version__
from queueops.errors import BrokenPool, BrokerUnavailable
from queueops.model.samples import sample_of
from queueops.model.states import State
from queueops.redis.broker import RedisBroker
from queueops.redis.keys import Keys
from queueops.redis.query_replies import Beat, Detail, read_beats, read_begun, read_detail, text
from queueops.redis.scripts import is_missing
from queueops.redis.wrong_types import executed, right

_BRIEF = (b"log", (), b"conf", (), b"workers", ())
"""What a brief detail has none of."""
T = TypeVar("T")
Argument = str | int | bytes


class Glance(NamedTuple):
    """What one look at a pool tells: its snapshot (None if none is readable), and INFO of its server (if permitted)."""

    snapshot: bytes | None
    beats: list[Beat]
    info: dict[str, Any]
    alarms: dict[str, int]  # that a watchdog reports, by key: when each began, in ms


class PoolList:
    """The list of pools, read once for several readers. It is empty until the first of them reads it."""

    def __init__(self) -> None:
        """Begin without a reading."""
        self.reading: tuple[list[str], str, tuple[str, ...]] | None = None
        """Names, why the list is not readable, broken keys."""


class Reader:
    """Queries about one namespace. A query does not register a pool."""

    def __init__(self, broker: RedisBroker, pool_list: PoolList | None = None) -> None:
        """Use a broker's connection and settings, and perhaps a list of pools that other readers use too."""
        self._pool_list = pool_list or PoolList()
        self._is_shared = pool_list is not None
        self.broker = broker.hasty()
        """The broker that makes the queries, with short timeouts."""
        self._fan_out = self.broker.fan_out
        self.settings = self.broker.settings
        self.silent: dict[str, str] = {}
        """Pools whose server did not answer a query so far, with the reason. Results omit these pools."""
        self.broken: dict[str, tuple[str, ...]] = {}
        """Keys of a wrong type (WRONGTYPE) that queries met so far, by pool. They count as empty."""
        self.slowest_s = 0.0
        """The longest time that the servers needed for one query so far, in seconds."""

    def pools(self) -> list[str]:
        """The pools that were ever used or are declared, sorted by name."""
        if not self._is_shared or self._pool_list.reading is None:
            self._pool_list.reading = (*self.broker.registry.seen(), self.broker.registry.broken)
        names, reason, broken = self._pool_list.reading
        if reason:
            self.silent["*"] = reason
        if broken:
            self.broken["*"] = broken
        return list(names)

    def knows(self, pool: str) -> bool:
        """Whether a pool exists, as far as the list of pools is readable."""
        return pool in self.pools() or "*" in self.silent or "*" in self.broken

    def ensure_all(self) -> None:
        """Raise BrokerUnavailable if a server has not answered: it may hold a task that was not found."""
        for reason in self.silent.values():
            raise self._fan_out.unavailable(reason)

    def has_lane(self, pool: str, lane: str) -> bool:
        """Whether a task was ever pushed to the lane, or the lane was configured or declared.

        Of very many lanes, only the most recent and those with tasks are known.
        """
        key = Keys(self.settings.namespace, pool)
        known = self._explained(pool, lambda client: client.zscore(key.lanes, lane)) is not None
        return known or bool(self.broker.ask(pool, lambda client: client.exists(key.lane_conf(lane), key.lane(lane))))

    def lanes(self, pool: str, most: int) -> list[str]:
        """The most recently used lanes of a pool."""
        key = Keys(self.settings.namespace, pool)
        found = self._explained(pool, lambda client: client.zrevrange(key.lanes, 0, most - 1))
        return [text(lane) for lane in found]

    def names(self, pools: Sequence[str], name: str, most: int) -> tuple[bool, set[str]]:
        """Whether a pool has tasks of this name, and the names that these pools used last."""
        keys = {pool: Keys(self.settings.namespace, pool) for pool in pools}
        asked = {
            pool: [("EXISTS", key.name(name)), ("ZREVRANGE", key.names, 0, most - 1)] for pool, key in keys.items()
        }
        found = list(self._read(asked).values())
        recent = {text(each) for _, names in found for each in right(names) or ()}
        return any(right(here) for here, _ in found), recent

    def ask(self, script: str, arguments: Mapping[str, Sequence[Argument]]) -> dict[str, Any]:
        """The reply of a read-only script for each pool, as its file in `lua/` describes it.

        Keys that the script found wrong are remembered in `broken`.
        """
        return {
            pool: reply
            for pool, (reply,) in self.ask_each(script, {pool: (each,) for pool, each in arguments.items()}).items()
        }

    def ask_each(self, script: str, arguments: Mapping[str, Sequence[Sequence[Argument]]]) -> dict[str, list[Any]]:
        """The same with several calls of each pool, all in one round trip to each server: a reply for each call."""
        found: dict[str, list[Any]] = {}
        for pool, replies in self._answers(script, arguments).items():
            wrong = tuple(text(key) for each, _ in replies for key in each or ())
            if wrong:
                self.broken[pool] = tuple(dict.fromkeys((*self.broken.get(pool, ()), *wrong)))
            found[pool] = [reply for _, reply in replies]
        return found

    def rows(self, wanted: Mapping[str, Sequence[tuple[str, str]]]) -> dict[tuple[str, str], Sequence[Any]]:
        """Tasks of several pools, by pool and id, each with the parents that its record names; see `lua/rows.lua`.

        Tasks that are gone are omitted, and so are pools that do not answer.
        """
        asked = {pool: [part for pair in pairs for part in pair] for pool, pairs in wanted.items()}
        try:
            replies = self.ask("rows", asked)
        except BrokerUnavailable as error:
            if not self.broker.servers.is_cluster:
                raise
            self.silent |= dict.fromkeys(wanted, error.reason)
            return {}
        return {
            (pool, id): row
            for pool, pairs in wanted.items()
            if pool in replies
            for (id, _), (gone, *row) in zip(pairs, replies[pool], strict=True)
            if not gone
        }

    def details(self, names: Iterable[str], task_id: str, late_ms: int) -> list[Detail]:
        """What each of these pools has under an id; usually all but one have nothing."""
        asked = dict.fromkeys(names, (task_id, late_ms))
        found = [read_detail(pool, task_id, reply) for pool, reply in self.ask("detail", asked).items()]
        for detail in found:
            detail.broken = self.broken.get(detail.pool, ())
        return found

    def briefs(self, names: Iterable[str], task_id: str, fields: Sequence[str]) -> list[Detail]:
        """These fields of the record in each pool that has one, and whether it is in quarantine; nothing else."""
        keys = {pool: Keys(self.settings.namespace, pool) for pool in names}
        asked = {
            pool: [("HMGET", key.task(task_id), "s", *fields), ("ZSCORE", key.state(State.QUARANTINED), task_id)]
            for pool, key in keys.items()
        }
        found: list[Detail] = []
        for pool, (values, quarantined) in self._read(asked).items():
            known = dict(zip(("s", *fields), right(values) or (), strict=False))
            if known.get("s") is not None:
                flat = [part for name, value in known.items() if value is not None for part in (name.encode(), value)]
                states = () if (at := right(quarantined)) is None else (State.QUARANTINED.encode(), at)
                reply = (b"record", flat, b"states", states, b"lane", known.get("l") or b"default", *_BRIEF)
                found.append(read_detail(pool, task_id, reply))
        return found

    def workers(self, names: Iterable[str], limit: int) -> tuple[int, list[tuple[str, Beat]]]:
        """Redis' time in ms, and the workers, once for each pool that they serve."""
        now, rows = 0, []
        for pool, (time, beats) in self.ask("workers", dict.fromkeys(names, (limit,))).items():
            now = max(now, int(time))
            rows += [(pool, beat) for beat in read_beats(beats)]
        return now, rows

    def samples(self, names: Iterable[str], lanes: int, *, is_brief: bool = False) -> dict[str, dict[str, Any]]:
        """The figures of each pool, counted now; see `lua/sample.lua`. Brief ones do not tell what waits in a lane."""
        found = self._answers("look_sample", dict.fromkeys(names, ((lanes, "", 0, int(is_brief)),)))
        return {pool: sample_of(text(data)) for pool, (data,) in found.items()}

    def locate(self, names: Sequence[str], ids: Sequence[str]) -> dict[str, str]:
        """The pool of each id, by its record, quarantine entry or trash entry; unknown ids are omitted."""

        def ask(pool: str) -> Iterator[tuple[Any, ...]]:
            key = Keys(self.settings.namespace, pool)
            for task_id in ids:
                yield "EXISTS", key.task(task_id)
                yield "ZSCORE", key.state(State.QUARANTINED), task_id
                yield "EXISTS", key.trash(task_id)

        found: dict[str, str] = {}
        for pool, replies in self._read({pool: list(ask(pool)) for pool in names}).items():
            for number, task_id in enumerate(ids):
                if any(map(right, replies[3 * number : 3 * number + 3])):
                    found.setdefault(task_id, pool)
        return found

    def marks(self, pool: str, ids: Sequence[str]) -> list[tuple[str, str] | None]:
        """For each id its state ('' in the trash) and its last action's token; None if the task is gone."""
        key = Keys(self.settings.namespace, pool)

        commands = [("HMGET", place(task_id), "s", "ot") for task_id in ids for place in (key.task, key.trash)]
        answers = (right(reply) or (None, None) for reply in self._read({pool: commands})[pool])
        return [_mark(next(answers), next(answers)) for _ in ids]

    def now_ms(self) -> int:
        """The time of the store; of a cluster, the time of a server that answers."""
        found, _ = self._fan_out.servers(lambda client: self.broker.repeat(client.time))
        seconds, microseconds = next(iter(found.values()))
        return int(seconds) * 1000 + int(microseconds) // 1000

    def history_step(self, step: tuple[str, int], names: Iterable[str]) -> dict[str, dict[bytes, bytes]]:
        """All rows of one step of these pools, in one round trip to each server."""
        asked = {pool: [("HGETALL", Keys(self.settings.namespace, pool).history(*step))] for pool in names}
        return {pool: right(reply) or {} for pool, (reply,) in self._read(asked).items()}

    def titles(
        self, lanes: Mapping[str, Sequence[str]], errors: Mapping[str, Sequence[str]]
    ) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
        """What lanes of each pool stand for, and the title and the task's name of errors that a pool still has.

        What has no title is left out. One round trip to each server.
        """
        asked = {pool: [*self._of_lanes(pool, lanes), *self._of_errors(pool, errors)] for pool in {**lanes, **errors}}
        titles: dict[str, str] = {}
        found: dict[str, tuple[str, str]] = {}
        for pool, replies in self._read(asked).items():
            answers = map(right, replies)
            titles |= {lane: text(title) for lane, title in zip(lanes.get(pool, ()), answers, strict=False) if title}
            for fingerprint in errors.get(pool, ()):
                title, name = next(answers) or (None, None)
                if title:
                    found.setdefault(fingerprint, (text(title), text(name or b"")))
        return titles, found

    def _of_lanes(self, pool: str, lanes: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
        key = Keys(self.settings.namespace, pool)
        return (("HGET", key.lane_conf(lane), "title") for lane in lanes.get(pool, ()))

    def _of_errors(self, pool: str, errors: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
        key = Keys(self.settings.namespace, pool)
        return (("HMGET", key.error(each), "title", "name") for each in errors.get(pool, ()))

    def glance(self, names: Sequence[str], workers: int) -> dict[str, Glance]:
        """The snapshot and the workers of each pool, and INFO of its server, in one round trip to each server."""

        def ask(pools: list[str]) -> dict[str, Glance]:
            def read(client: redis.Redis) -> list[Any]:
                command = self.broker.scripts.command("workers")
                with client.pipeline(transaction=False) as pipe:
                    for pool in pools:
                        key = Keys(self.settings.namespace, pool)
                        pipe.get(key.snapshot)
                        pipe.execute_command(*command, 1, key.prefix, workers)
                        pipe.hgetall(key.alarms)
                    pipe.info()
                    return executed(pipe)

            *replies, info = self.broker.ask(pools[0], read)
            if any(isinstance(reply, ResponseError) and is_missing(reply) for reply in replies):
                self.ask("workers", dict.fromkeys(pools, (workers,)))  # it loads the script
                *replies, info = self.broker.ask(pools[0], read)
            known = dict(info) if isinstance(info, dict) else {}
            return {
                pool: self._glance(pool, _if_text(right(data)), right(reply), known, right(alarms))
                for pool, data, reply, alarms in zip(pools, *(replies[at::3] for at in range(3)), strict=True)
            }

        return self.everywhere(names, ask)

    def _glance(self, pool: str, snapshot: bytes | None, reply: Any, info: dict[str, Any], alarms: Any) -> Glance:
        wrong, (_, beats) = reply or ((), (0, ()))
        if wrong:
            self.broken[pool] = tuple(dict.fromkeys((*self.broken.get(pool, ()), *map(text, wrong))))
        return Glance(snapshot, read_beats(beats), info, read_begun(alarms or {}))

    def _read(self, wanted: Mapping[str, Sequence[tuple[Any, ...]]]) -> dict[str, list[Any]]:
        """The replies to plain commands for each pool, in one round trip to each server.

        Errors are among the replies.
        """

        def ask(names: list[str]) -> dict[str, list[Any]]:
            def read(client: redis.Redis) -> Iterator[Any]:
                with client.pipeline(transaction=False) as pipe:
                    for pool in names:
                        for command in wanted[pool]:
                            pipe.execute_command(*command)
                    return iter(executed(pipe))

            replies = self.broker.ask(names[0], read)
            return {pool: list(islice(replies, len(wanted[pool]))) for pool in names}

        return self.everywhere(wanted, ask)

    def scripts_in(
        self, script: str, arguments: Mapping[str, Sequence[Argument]], about: Iterable[object] = ()
    ) -> dict[str, Any]:
        """The reply of a script for each pool, or the error of a broken pool; in one round trip to each server.

        ``about`` has names of tasks, workers and schedules, which explain a broken pool.
        """

        def ask(names: list[str]) -> dict[str, Any]:
            def read(client: redis.Redis) -> list[Any]:
                with client.pipeline(transaction=False) as pipe:
                    for pool in names:
                        prefix = Keys(self.settings.namespace, pool).prefix
                        pipe.execute_command(*self.broker.scripts.command(script), 1, prefix, *arguments[pool])
                    return executed(pipe)

            replies = self.broker.ask(names[0], read)
            if any(isinstance(reply, ResponseError) and is_missing(reply) for reply in replies):
                with suppress(ResponseError):  # the call loads the library
                    prefix = Keys(self.settings.namespace, names[0]).prefix
                    self.broker.scripts.send(script, prefix, *arguments[names[0]])
                replies = self.broker.ask(names[0], read)
            return {pool: self._or_broken(pool, reply, about) for pool, reply in zip(names, replies, strict=True)}

        return self.everywhere(arguments, ask)

    def _or_broken(self, pool: str, reply: Any, about: Iterable[object]) -> Any:
        if not isinstance(reply, ResponseError):
            return reply
        error = self.broker.explained(pool, reply, about=about)
        if isinstance(error, BrokenPool):
            return error
        raise error from reply

    def library(self) -> tuple[str, bool]:
        """The Lua library of this process, as version and digest, and whether the store runs it as functions."""
        scripts = self.broker.scripts
        return f"{__version__} ({scripts.library.digest})", scripts.has_functions

    def everywhere(self, names: Iterable[str], call: Callable[[list[str]], Mapping[str, T]]) -> dict[str, T]:
        """The servers' replies about pools; a server that does not answer is recorded as silent."""
        wanted = list(names)
        names = [pool for pool in wanted if pool not in self.silent]
        if wanted and not names:
            raise self._fan_out.unavailable(self.silent[wanted[0]])
        begun = monotonic()
        answers, silent = self._fan_out.pools(names, call)
        self.slowest_s = max(self.slowest_s, monotonic() - begun)
        self.silent |= silent
        return answers

    def _answers(self, script: str, arguments: Mapping[str, Sequence[Sequence[Argument]]]) -> dict[str, list[Any]]:
        """Make these calls of a script, in one round trip to each server, unless the server forgot the script."""

        def ask(names: list[str]) -> dict[str, list[Any]]:
            prefixes = {pool: Keys(self.settings.namespace, pool).prefix for pool in names}
            calls = [(prefixes[pool], values) for pool in names for values in arguments[pool]]
            replies = iter(self.broker.repeat(self._run, script, calls, pool=names[0]))
            return {pool: list(islice(replies, len(arguments[pool]))) for pool in names}

        return self.everywhere(arguments, ask)

    def _run(self, script: str, calls: list[tuple[str, Sequence[Argument]]]) -> list[Any]:
        """Make calls to one server."""
        scripts, servers = self.broker.scripts, self.broker.servers
        if len(calls) > 1 or servers.is_cluster:  # the threads that query a cluster do not have dedicated connections
            command = scripts.command(script)
            try:
                with servers.client(calls[0][0]).pipeline(transaction=False) as pipe:
                    for prefix, values in calls:
                        pipe.execute_command(*command, 1, prefix, *values)
                    return list(pipe.execute())
            except ResponseError as error:
                if not is_missing(error):
                    raise  # else the single calls load it
        return [scripts.send(script, prefix, *values) for prefix, values in calls]

    def _explained(self, pool: str, call: Any) -> Any:
        try:
            return self.broker.ask(pool, call)
        except ResponseError as error:
            raise self.broker.explained(pool, error) from error


def _mark(task: Sequence[bytes | None], trash: Sequence[bytes | None]) -> tuple[str, str] | None:
    for (state, token), is_there in ((task, True), (trash, False)):
        if state is not None:
            return text(state) if is_there else "", text(token or b"")
    return None


def _if_text(reply: Any) -> bytes | None:
    return reply if isinstance(reply, bytes) else None
