"""An operator's actions: on tasks, each row answered, and on lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queueops.errors import BadReply
from queueops.model import endings, states
from queueops.model.contracts import Row
from queueops.model.ids import lane_or_none, new_id
from queueops.redis.broker.outbox import Posting

MOST_AT_ONCE = 500
"""Rows in one call."""
MOST_LANES = 500
"""Of more lanes than this that fit patterns, those used last get their limits when a worker starts."""
TRASH_MS = 86_400_000
"""How long a deleted task can be brought back."""


class Controlling(Posting):
    """Compare and set: a task that is no longer in a state that allows the verb is left alone."""

    def control(
        self,
        pool: str,
        verb: str,
        ids: Sequence[str],
        *,
        value: str | int | bytes = "",
        hard: bool = False,
        who: str = "",
        token: str = "",
    ) -> list[Row]:
        """An operator's action on at most 500 tasks; each row is answered. ``value`` is what the verb takes:

        postpone: due in epoch ms, or "+ms" from now; cancel: the reason (``hard``: what runs is interrupted);
        retry and edit: new arguments as JSON ('-' = none); priority: the number; move: the lane; keep: ms.
        """
        if verb == "move":
            self.lane_patterns.prepare(pool, [str(value)])
        allowed = ",".join(states.states_allowing(verb))
        second = "hard" if hard else TRASH_MS
        alone, *reply, ended = self._call(
            "control", pool, verb, token or new_id(), value, second, self.rules, who[:100], allowed, *ids
        )
        texts = [part.decode("utf-8", "replace") for part in reply]
        if len(texts) != 3 * len(ids):
            raise BadReply(script="control", reply=texts[:6])
        endings.tell(endings.read(pool, ended))
        if alone == b"1":
            self.bring(pool)
        return [Row(task_id, *texts[3 * i : 3 * i + 3]) for i, task_id in enumerate(ids)]

    def redeliver(self, pool: str, verb: str, ids: Sequence[str], *, dead: int = 0) -> tuple[list[Row], int]:
        """Try commands of a pool again at once (requeue), or drop them, at most 500; without ids so many of the dead.

        Answers each row, its state being where it was (due, locked, dead), and how many dead are left.
        """
        left, *parts = self._call("redeliver", pool, verb, dead, *ids)
        texts = [part.decode("utf-8", "replace") for part in parts]
        return [Row(*texts[i : i + 3]) for i in range(0, len(texts), 3)], int(left)

    def lane(self, pool: str, lane: str, **values: str | float | None) -> dict[str, str]:
        """Change a lane's ``paused``, ``limit``, ``rate`` or ``weight`` (None removes it); answers what was before."""
        before = iter(self._call("lane", pool, lane, "", *_flat(values)))
        return {field.decode(): value.decode() for field, value in zip(before, before, strict=True)}

    def declare_lanes(self, pool: str) -> None:
        """Give a pool's lanes the limit, rate and weight of the settings, as far as these say it for the first time.

        What an operator changed since stays until the settings say something else.
        """
        for lane, wanted in self.settings.pool(pool).lanes.items():
            self.declare_lane(pool, lane, wanted)
        if self.lane_patterns.has_any(pool):
            key = self.keys(pool).lanes
            found = self.ask(pool, lambda client: client.zrevrange(key, 0, MOST_LANES - 1))
            self.lane_patterns.prepare(pool, filter(None, map(lane_or_none, found)))


def _flat(values: Mapping[str, str | float | None]) -> list[str | float]:
    return [part for field, value in values.items() for part in (field, "" if value is None else value)]
