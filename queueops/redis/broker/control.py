"""Operator actions on tasks, with a result for each row, and on lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queueops import conf
from queueops.errors import BadReply
from queueops.errors.tasks import TooManyPausedNames
from queueops.model import endings, states
from queueops.model.contracts import Row
from queueops.model.ids import lane_or_none, new_id
from queueops.redis.store_client import StoreClient

MOST_AT_ONCE = 500
"""Rows in one call."""
MOST_LANES = 500
"""Above this number of lanes that match patterns, only the most recent get their limits at a worker's start."""
MOST_PAUSED = 1000
"""Paused names of one pool: its snapshot reads them all."""
TRASH_MS = 86_400_000
"""How long a deleted task can be restored."""


class ControlCalls(StoreClient):
    """Compare and set: a task that is no longer in a state that permits the verb is left unchanged."""

    def control(
        self,
        pool: str,
        verb: str,
        ids: Sequence[str],
        *,
        value: str | int | bytes = "",
        hard: bool = False,
        reason: str = "",
        who: str = "",
        token: str = "",
        seen: str = "",
    ) -> list[Row]:
        """Apply an operator's action to at most 500 tasks; returns a result for each. ``value`` depends on the verb.

        Postpone: due in epoch ms, or "+ms" from now. Cancel: the reason (``hard``: a running task is interrupted).
        Retry and edit: new arguments as JSON ('-' = none). Priority: the number. Move: the lane. Keep: ms.
        ``reason``: of a retry, for its log. ``seen``: the last action that the operator saw; '-' is none, '' is any.
        """
        if verb == "move":
            self.lane_patterns.prepare(pool, [str(value)])
        allowed = ",".join(states.states_allowing(verb))
        second = "hard" if hard else reason if verb == "retry" else TRASH_MS
        if verb in ("retry", "edit") and value not in ("", b"", "-") and (ring := conf.keyring()) is not None:
            value = ring.seal(value if isinstance(value, bytes) else str(value).encode())
        alone, *reply, ended = self._call(
            "control", pool, verb, token or new_id(), value, second, self.rules, who[:100], allowed, seen, *ids
        )
        texts = [part.decode("utf-8", "replace") for part in reply]
        if len(texts) != 3 * len(ids):
            raise BadReply(script="control", reply=texts[:6])
        endings.tell(endings.read(pool, ended))
        if alone == b"1":
            self.bring(pool)
        return [Row(task_id, *texts[3 * i : 3 * i + 3]) for i, task_id in enumerate(ids)]

    def lane(self, pool: str, lane: str, **values: str | float | None) -> dict[str, str]:
        """Change a lane's ``paused``, ``limit``, ``rate`` or ``weight``; None removes it.

        Returns the previous values.
        """
        before = iter(self._call("lane", pool, lane, "", *_flat(values)))
        return {field.decode(): value.decode() for field, value in zip(before, before, strict=True)}

    def pause_name(self, pool: str, name: str, *, paused: bool) -> bool:
        """Pause all tasks of a name, or resume them. Returns whether the name was paused before.

        Raises TooManyPausedNames.
        """
        before, *_ = self._call("pause_name", pool, name, "1" if paused else "", MOST_PAUSED)
        if before == b"FULL":
            raise TooManyPausedNames(name=name, pool=pool, limit=MOST_PAUSED)
        return bool(before)

    def mute_error(self, pool: str, fingerprint: str, until_ms: int | None) -> None:
        """Let failures with this error raise no alarm until then; None ends that."""
        self._call("mute_error", pool, fingerprint, until_ms or "")

    def declare_lanes(self, pool: str) -> None:
        """Apply the settings' limit, rate and weight to a pool's lanes, if these settings are new to the store.

        An operator's change is kept until the settings change.
        """
        for lane, wanted in self.settings.pool(pool).lanes.items():
            self.declare_lane(pool, lane, wanted)
        if self.lane_patterns.has_any(pool):
            key = self.keys(pool).lanes
            found = self.ask(pool, lambda client: client.zrevrange(key, 0, MOST_LANES - 1))
            self.lane_patterns.prepare(pool, filter(None, map(lane_or_none, found)))


def _flat(values: Mapping[str, str | float | None]) -> list[str | float]:
    return [part for field, value in values.items() for part in (field, "" if value is None else value)]
