"""Alert calls: the state of alerts, which the watchdogs of a namespace share, and the turn to change it.

All keys have one hash tag: on a cluster they are on one server. Incidents and target states are changed only by the
watchdog that has the turn; silences and lines of the history also by the console.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from redis.exceptions import ResponseError

from queueops.errors import BrokenPool
from queueops.model.alerts import KEPT_MS, MOST_LINES, Incident, Line, Silence, TargetState, Undelivered
from queueops.redis.keys import alerts
from queueops.redis.query_replies import text
from queueops.redis.store_client import StoreClient
from queueops.redis.wrong_types import replies

T = TypeVar("T", Incident, Silence, TargetState, Line)


class AlertState(NamedTuple):
    """The state of alerts at a time of the store. Unreadable parts are left out."""

    now_ms: int
    incidents: dict[str, Incident]
    silences: dict[str, Silence]
    targets: dict[str, TargetState]
    history: list[Line]


class AlertCalls(StoreClient):
    """What the watchdog and the console read and change."""

    def take_alert_turn(self, holder: str, ms: int) -> bool:
        """Take the turn to send alerts; False while another watchdog has it. It ends by itself after ``ms``."""
        key = self._alert_key("turn")

        def take(client: Any, key: str) -> bool:
            return bool(client.set(key, holder, nx=True, px=ms)) or client.get(key) == holder.encode()

        taken: bool = self._asked(key, take)
        return taken

    def keep_alerts(
        self,
        holder: str,
        ms: int,
        incidents: Mapping[str, Incident | None],
        targets: Mapping[str, TargetState | None] = {},
        lines: Sequence[Line] = (),
    ) -> bool:
        """Store changes (None deletes) and keep the turn for ``ms`` more; False if another watchdog has it by now."""
        turn = self._alert_key("turn")

        def keep(client: Any, key: str) -> bool:
            def fill(pipe: Any) -> bool:
                if pipe.get(key) != holder.encode():
                    return False
                pipe.multi()
                pipe.pexpire(key, ms)
                self._change(pipe, "incidents", incidents)
                self._change(pipe, "targets", targets)
                self._add(pipe, lines)
                return True

            kept: bool = client.transaction(fill, key, value_from_callable=True)
            return kept

        done: bool = self._asked(turn, keep)
        return done

    def end_alert_turn(self, holder: str) -> None:
        """Give the turn up, if it is still this watchdog's."""

        def end(client: Any, key: str) -> None:
            def fill(pipe: Any) -> None:
                mine = pipe.get(key) == holder.encode()
                pipe.multi()
                if mine:
                    pipe.delete(key)

            client.transaction(fill, key)

        self._asked(self._alert_key("turn"), end)

    def change_silences(self, silences: Mapping[str, Silence | None], lines: Sequence[Line] = ()) -> None:
        """Silence alarms or rules, or end silences (None)."""

        def change(client: Any, _: str) -> None:
            pipe = client.pipeline(transaction=True)
            self._change(pipe, "silences", silences)
            self._add(pipe, lines)
            pipe.execute()

        self._asked(self._alert_key("silences"), change)

    def note_target(self, name: str, state: TargetState, line: Line) -> None:
        """Note how a target answered to a test."""

        def note(client: Any, _: str) -> None:
            pipe = client.pipeline(transaction=True)
            self._change(pipe, "targets", {name: state})
            self._add(pipe, [line])
            pipe.execute()

        self._asked(self._alert_key("targets"), note)

    def alert_state(self, lines: int = 0) -> AlertState:
        """All of the state, and the newest lines of the history."""
        keys = {part: self._alert_key(part) for part in ("incidents", "silences", "targets", "history")}

        def fill(pipe: Any) -> None:
            pipe.time()
            for part in ("incidents", "silences", "targets"):
                pipe.hgetall(keys[part])
            pipe.lrange(keys["history"], 0, lines - 1) if lines else pipe.exists(keys["history"])

        found = self._asked(keys["incidents"], lambda client, _: replies(client, fill))
        seconds, micro = found[0]
        return AlertState(
            int(seconds) * 1000 + int(micro) // 1000,
            _decoded(found[1], Incident),
            _decoded(found[2], Silence),
            _decoded(found[3], TargetState),
            [line for data in (found[4] or () if lines else ()) if (line := _decode(data, Line)) is not None],
        )

    def leave_undelivered(self, pool: str, found: Undelivered | None) -> None:
        """Note in a pool the targets whose messages were given up; samples show it."""
        data = msgspec.json.encode(found) if found else b""
        self.ask(pool, lambda client: client.hset(self.keys(pool).clock, "undelivered", data))

    def _asked(self, key: str, call: Any) -> Any:
        """Make a call. A key of a wrong type is an error that callers know: they do without the store."""
        try:
            return self.ask_key(key, call)
        except ResponseError as error:
            raise BrokenPool(pool="*", keys=f"a key of alerts ({error})") from error

    def _alert_key(self, part: str) -> str:
        return alerts(self.settings.namespace, part)

    def _change(self, pipe: Any, part: str, changes: Mapping[str, msgspec.Struct | None]) -> None:
        key = self._alert_key(part)
        for field, value in changes.items():
            if value is None:
                pipe.hdel(key, field)
            else:
                pipe.hset(key, field, msgspec.json.encode(value))
        if changes:
            pipe.pexpire(key, KEPT_MS)

    def _add(self, pipe: Any, lines: Sequence[Line]) -> None:
        if lines:
            key = self._alert_key("history")
            pipe.lpush(key, *map(msgspec.json.encode, lines))
            pipe.ltrim(key, 0, MOST_LINES - 1)
            pipe.pexpire(key, KEPT_MS)


def _decoded(found: Mapping[bytes, bytes] | None, kind: type[T]) -> dict[str, T]:
    return {text(field): value for field, data in (found or {}).items() if (value := _decode(data, kind)) is not None}


def _decode(data: bytes, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
