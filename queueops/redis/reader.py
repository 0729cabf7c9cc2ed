"""The reading side of the store: read-only scripts, each one round trip for all pools asked.

No call here walks a whole key: lists are read by key set within a budget, counts from the sizes of indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import redis
from redis.exceptions import NoScriptError, ResponseError

from queueops.errors import BrokenPool
from queueops.redis import facts
from queueops.redis.broker import RedisBroker
from queueops.redis.keys import Keys, pools
from queueops.redis.link import pool_names
from queueops.redis.replies import repeat
from queueops.refusals import StoreRefuses
from queueops.states import State

MOST_POOLS = 256
_FIRST_FIELDS = ("s", "n", "k", "l", "p", "c", "b", "e", "d")
ROW_FIELDS = (*_FIRST_FIELDS, "at", "r", "cr", "w", "pr", "to", "tg", "y", "ef", "pi")
"""What `page` tells of each row: the order of ROW_FIELDS in `lua/include/rows.lua`."""

Argument = str | int | bytes
Facets = dict[str, list[tuple[str, int]]]


class Reader:
    """Questions to one namespace. It asks only about pools that exist, and never makes one known."""

    def __init__(self, broker: RedisBroker) -> None:
        """Use a broker's connection and settings."""
        self._broker = broker.hasty()
        self.settings = self._broker.settings
        self.broken: dict[str, tuple[str, ...]] = {}
        """Of what was asked so far: keys that hold something else than they should, by pool. They count as empty."""

    def pools(self) -> list[str]:
        """The pools that were ever used or are declared, by name."""
        key = pools(self.settings.namespace)
        try:
            found = self._repeat(lambda: self._broker.client.srandmember(key, MOST_POOLS))
        except ResponseError as error:
            raise BrokenPool(pool="*", keys=f"{key} is no set of names") from error
        return pool_names(found, self.settings)

    def has_lane(self, pool: str, lane: str) -> bool:
        """Whether a task was ever pushed to the lane, or it was set or declared. Of very many only the last are known,
        and those that hold something.
        """
        key = Keys(self.settings.namespace, pool)
        client = self._broker.client
        known = self._explained(pool, lambda: client.zscore(key.lanes, lane)) is not None
        return known or bool(self._repeat(lambda: client.exists(key.lane_conf(lane), key.lane(lane))))

    def lanes(self, pool: str, most: int) -> list[str]:
        """The lanes of a pool that were used last."""
        key = Keys(self.settings.namespace, pool)
        found = self._explained(pool, lambda: self._broker.client.zrevrange(key.lanes, 0, most - 1))
        return [facts.text(lane) for lane in found]

    def pages(self, arguments: Mapping[str, Sequence[Argument]]) -> dict[str, facts.Page]:
        """One page of each pool's list: see `lua/page.lua`."""
        return {pool: facts.read_page(ROW_FIELDS, reply) for pool, reply in self._ask("page", arguments).items()}

    def tree(
        self, pool: str, task_id: str, position: str, show: str, rows: tuple[int, int], opened: Sequence[str]
    ) -> tuple[facts.BranchFacts | None, list[facts.AboveFacts]]:
        """Parts of a composite, and what it is part of: see `lua/tree.lua`."""
        replies = self._ask("tree", {pool: (task_id, position, show, *rows, *opened)})
        return facts.read_tree(ROW_FIELDS, replies[pool])

    def rows(self, wanted: Mapping[str, Sequence[tuple[str, str]]]) -> dict[tuple[str, str], facts.PageRow]:
        """Tasks of several pools, by pool and id, each with what it is to be part of; what is gone is left out."""
        replies = self._ask("rows", {pool: [part for pair in pairs for part in pair] for pool, pairs in wanted.items()})
        return {
            (pool, id): facts.read_row(ROW_FIELDS, id, row)
            for pool, pairs in wanted.items()
            for (id, _), (gone, *row) in zip(pairs, replies[pool], strict=True)
            if not gone
        }

    def commands(self, arguments: Mapping[str, Sequence[Argument]]) -> dict[str, facts.CommandPage]:
        """For each pool one page of its outbox: see `lua/commands.lua`."""
        return {pool: facts.read_commands(reply) for pool, reply in self._ask("commands", arguments).items()}

    def details(self, names: Iterable[str], task_id: str, late_ms: int) -> list[facts.Detail]:
        """What each of these pools knows of an id; usually all but one know nothing."""
        asked = dict.fromkeys(names, (task_id, late_ms))
        found = [facts.read_detail(pool, task_id, reply) for pool, reply in self._ask("detail", asked).items()]
        for detail in found:
            detail.broken = self.broken.get(detail.pool, ())
        return found

    def facets(self, names: Iterable[str], arguments: Sequence[Argument]) -> dict[str, Facets]:
        """For each pool: facet to values with their counts: see `lua/facets.lua`."""
        replies = self._ask("facets", dict.fromkeys(names, arguments))
        return {pool: _facets(reply) for pool, reply in replies.items()}

    def workers(self, names: Iterable[str], limit: int) -> tuple[int, list[tuple[str, facts.Beat]]]:
        """Redis' time in ms, and the workers with the pool that each serves (one that serves two comes twice)."""
        now, rows = 0, []
        for pool, (time, beats) in self._ask("workers", dict.fromkeys(names, (limit,))).items():
            now = max(now, int(time))
            rows += [(pool, beat) for beat in facts.read_beats(beats)]
        return now, rows

    def errors(self, names: Iterable[str], limit: int) -> list[tuple[str, facts.ErrorFacts]]:
        """The kinds of error seen last, with their pool."""
        replies = self._ask("errors", dict.fromkeys(names, (limit,)))
        return [(pool, row) for pool, reply in replies.items() for row in facts.read_errors(reply)]

    def samples(self, names: Iterable[str], lanes: int) -> dict[str, bytes]:
        """The figures of each pool, counted at this moment: see `lua/sample.lua`."""
        return self._answers("sample", dict.fromkeys(names, (lanes, "", 0)))

    def locate(self, names: Sequence[str], ids: Sequence[str]) -> dict[str, str]:
        """Which pool holds each id: its record, a place in quarantine, or the trash; unknown ids are left out."""
        keys = [Keys(self.settings.namespace, pool) for pool in names]

        def ask() -> list[Any]:
            with self._broker.client.pipeline(transaction=False) as pipe:
                for key in keys:
                    for task_id in ids:
                        pipe.exists(key.task(task_id))
                        pipe.zscore(key.state(State.QUARANTINED), task_id)
                        pipe.exists(key.trash(task_id))
                return [_if_right(reply) for reply in pipe.execute(raise_on_error=False)]

        answers = iter(self._repeat(ask))
        found: dict[str, str] = {}
        for key in keys:
            for task_id in ids:
                if any([next(answers), next(answers), next(answers)]):
                    found.setdefault(task_id, key.pool)
        return found

    def marks(self, pool: str, ids: Sequence[str]) -> list[tuple[str, str] | None]:
        """For each id its state ('' in the trash) and the token of the last action on it; None where it is gone."""
        key = Keys(self.settings.namespace, pool)

        def ask() -> list[Any]:
            with self._broker.client.pipeline(transaction=False) as pipe:
                for task_id in ids:
                    pipe.hmget(key.task(task_id), "s", "ot")
                    pipe.hmget(key.trash(task_id), "s", "ot")
                return [_if_right(reply) or (None, None) for reply in pipe.execute(raise_on_error=False)]

        answers = iter(self._repeat(ask))
        return [_mark(next(answers), next(answers)) for _ in ids]

    def now_ms(self) -> int:
        """Redis' time."""
        seconds, microseconds = self._repeat(self._broker.client.time)
        return int(seconds) * 1000 + int(microseconds) // 1000

    def info(self) -> dict[str, Any]:
        """The server's own account of itself; of a cluster, that of its first node. Empty where we may not ask."""
        client = self._broker.client
        ask: Any = client.info
        if isinstance(client, redis.RedisCluster):
            ask = partial(client.info, target_nodes=client.get_default_node())
        try:
            return dict(self._repeat(ask))
        except StoreRefuses:  # INFO is among the commands that -@dangerous forbids
            return {}

    def _ask(self, script: str, arguments: Mapping[str, Sequence[Argument]]) -> dict[str, Any]:
        """What a script answers for each pool; the keys that it found wrong are remembered."""
        replies = self._answers(script, arguments)
        for pool, (wrong, _) in replies.items():
            if wrong:
                known = (*self.broken.get(pool, ()), *map(facts.text, wrong))
                self.broken[pool] = tuple(dict.fromkeys(known))
        return {pool: reply for pool, (_, reply) in replies.items()}

    def _answers(self, script: str, arguments: Mapping[str, Sequence[Argument]]) -> dict[str, Any]:
        """Run a script once for each pool: one round trip, but on a cluster or when the server forgot the script."""
        calls = [(Keys(self.settings.namespace, pool).prefix, values) for pool, values in arguments.items()]
        return dict(zip(arguments, self._repeat(lambda: self._run(script, calls)), strict=True))

    def _run(self, script: str, calls: list[tuple[str, Sequence[Argument]]]) -> list[Any]:
        scripts = self._broker.scripts
        if len(calls) > 1 and not isinstance(self._broker.client, redis.RedisCluster):
            digest, _ = scripts.script(script)
            try:
                with self._broker.client.pipeline(transaction=False) as pipe:
                    for prefix, values in calls:
                        pipe.execute_command("EVALSHA", digest, 1, prefix, *values)
                    return list(pipe.execute())
            except NoScriptError:
                pass  # the calls one by one load it
        return [scripts.call(script, prefix, *values) for prefix, values in calls]

    def _explained(self, pool: str, call: Any) -> Any:
        try:
            return self._repeat(call)
        except ResponseError as error:
            raise self._broker.explained(pool, error) from error

    def _repeat(self, call: Any) -> Any:
        return repeat(call, self.settings.url, self.settings.retry)


def _mark(task: Sequence[bytes | None], trash: Sequence[bytes | None]) -> tuple[str, str] | None:
    for (state, token), is_there in ((task, True), (trash, False)):
        if state is not None:
            return facts.text(state) if is_there else "", facts.text(token or b"")
    return None


def _if_right(reply: Any) -> Any:
    """A reply of a pipeline; None in place of what a key of another type would have answered."""
    if not isinstance(reply, Exception):
        return reply
    if "WRONGTYPE" in str(reply):
        return None
    raise reply


def _facets(reply: Sequence[Any]) -> Facets:
    found = {}
    for i in range(0, len(reply), 2):
        flat = reply[i + 1]
        found[facts.text(reply[i])] = [(facts.text(flat[j]), int(flat[j + 1])) for j in range(0, len(flat), 2)]
    return found
