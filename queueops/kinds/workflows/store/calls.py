"""Store of workflows: starts runs, sends events to them, and reads their history."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from queueops import conf
from queueops.errors import BadReply
from queueops.errors.workflows import InstanceGone, InstanceInUse, RunEnded
from queueops.kinds.workflows import events
from queueops.kinds.workflows.store.payloads import INLINE, apart, sealed
from queueops.kinds.workflows.store.run_store import (
    CALLS_PAGE,
    HISTORY_PAGE,
    CallRow,
    ResetAnswer,
    RunFields,
    RunRow,
    StepInput,
)
from queueops.model.contracts import Lease, LeaseRef, Push
from queueops.model.ids import new_id
from queueops.model.records import Undecodable, decode
from queueops.model.states import TERMINAL
from queueops.redis.broker.push import PushCalls
from queueops.redis.broker.storage import StorageCalls
from queueops.redis.durability import confirmed
from queueops.redis.keys import Keys
from queueops.redis.pushwire import due_argument, record_fields

FIELDS = (
    *("s", "n", "k", "p", "c", "a", "u", "d", "w", "y", "e", "re", "er", "tg", "ro", "me"),
    *("vi", "vp", "vx", "vo", "vr", "vn", "vs", "vb", "vc", "vq", "vw", "vl", "vt", "vy", "ve"),
)
"""The fields of a record that `run_row` reads; `runs.lua` says what those with a v are."""

CALL_FIELDS = ("s", "n", "k", "at", "r", "d", "b", "w", "pr", "to", "er", "y")
"""The fields of an activity or a child that the page of a run shows."""
CHAIN_FIELDS = ("s", "vk", "vx")
MESSAGE_FIELDS = ("v", "me", "i", "cn")
MOST_RUNS = 1_000
"""The most runs of a chain that are followed."""
MOST_MESSAGES = 100_000
LINES = 10
"""The last entries of a log that come with them."""


class WorkflowCalls(PushCalls, StorageCalls):
    """The role of workflows of the broker."""

    def start_run(
        self,
        instance: str,
        push: Push,
        *,
        ignores: bool = False,
        durable: bool = False,
        under: LeaseRef | None = None,
    ) -> tuple[str, str]:
        """Begin a run of an instance. Returns the word (OK, EXISTS) and the id of the run.

        With ``ignores``, a run that has not ended is returned. Raises InstanceInUse otherwise, and what `push` raises.
        """
        if durable:
            with confirmed(self, (push.pool,)):
                return self.start_run(instance, push, ignores=ignores, under=under)
        self.announce(push.pool)
        self.lane_patterns.prepare_for(push.pool, (push,))
        token = push.token or os.urandom(6).hex()
        fields = record_fields(push, token=False)
        said = (instance, token, push.id, due_argument(push))

        def begin(proof: Sequence[Any]) -> Any:
            return self._call("start_run", push.pool, *said, *proof, *fields)

        reply = begin(("", "")) if under is None else self._fenced(push.pool, under, begin)
        word, run = map(_text, reply)
        if word == "EXISTS" and not ignores:
            record = self.record(push.pool, run)
            raise InstanceInUse(id=instance, run=run, state=record.state if record else "gone")
        return word, run

    def tell_run(
        self,
        pool: str,
        what: str,
        text: bytes,
        *,
        run: str = "",
        instance: str = "",
        who: str = "",
        name: str = "",
        token: str = "",
        under: LeaseRef | None = None,
    ) -> tuple[str, str]:
        """Send an event to a run or to the newest run of an instance. Returns its id and its state.

        With both, the event goes to what the run went on as. Calls with one ``token`` are one message. Raises
        InstanceGone, RunEnded and LeaseLost.
        """
        token = token or os.urandom(6).hex()
        payload = b""
        if what == "signal" and len(text) > INLINE:
            entry, payload = apart(events.decode(text), f"s:{token}")
            text = events.encode(entry)
        if (ring := conf.keyring()) is not None:
            text, payload = sealed(text), ring.seal(payload)
        said = (run, instance, what, text, self.rules, who[:100], name, payload, token)

        def tell(proof: Sequence[Any]) -> Any:
            return self._call("tell_run", pool, *said, *proof)

        word, found, state = map(_text, tell(("", "")) if under is None else self._fenced(pool, under, tell))
        if word == "GONE":
            raise InstanceGone(id=run or instance)
        if word in ("ENDED", "LATE"):
            raise RunEnded(id=found, state=state, what=what)
        self.bring(pool)
        return found, state

    def reset_run(
        self, pool: str, run: str, entry: int, *, reason: str = "", who: str = "", token: str = ""
    ) -> ResetAnswer:
        """Begin a new run with the history of this one before the step of an entry. It ends, if it has not.

        Calls with one ``token`` are one reset.
        """
        token = token or os.urandom(6).hex()
        said = (run, entry, new_id(), token, self.rules, who[:100], reason)
        answer = ResetAnswer(*self._texts("reset_run", pool, *said))
        if answer.word == "OK":
            self.bring(pool)
        return answer

    def step_input(self, lease: Lease, fence: int, length: int) -> StepInput | None:
        """What a step begins with; None if the lease is not current. ``fence``: of the last step in memory, or 0."""
        reply: Any = self._call("step_input", lease.pool, lease.id, lease.fence, fence or "", length)
        if not reply:
            return None
        goes_on, instance, parent, history, inbox, origin, whole = reply
        return StepInput(goes_on == b"1", instance.decode(), parent.decode(), history, inbox, origin.decode(), whole)

    def prepare_calls(self, pool: str, pushes: Sequence[Push]) -> None:
        """Apply the settings of lanes to the lanes of these calls."""
        for each in dict.fromkeys((pool, *(push.pool for push in pushes))):
            if each != pool:
                self.announce(each)
            self.lane_patterns.prepare_for(each, [push for push in pushes if push.pool == each])

    def newest_run(self, pool: str, instance: str) -> str | None:
        """The id of the newest run of an instance; None if there is none, or it was deleted."""
        key = self.keys(pool).instances
        found = self.ask_one(pool, lambda client: client.hget(key, instance))
        run = instance if found is None else str(found.decode())
        record = self.record(pool, run)
        return run if record is not None and record.kind == "workflow" else None

    def last_run(self, pool: str, run: str, instance: str) -> str:
        """The id of what a run went on as, without ``run`` of the newest run of the instance; '' if it is gone."""
        return _text(self._call("run_of", pool, run, instance))

    def newest_runs(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """The last runs of children, by pool and the id of the first run; activities are what they are."""
        known = self.ask_records(places, lambda pipe, keys, task: pipe.hget(keys.instances, task))
        return {(pool, task): _text(run) if run else task for (pool, task), (run,) in known.items()}

    def history(self, pool: str, run: str, first: int = 0, count: int = HISTORY_PAGE) -> list[bytes]:
        """Entries of the history of a run."""
        key = f"{self.keys(pool).task(run)}#history"
        found = self.ask_one(pool, lambda client: client.lrange(key, first, first + count - 1))
        return list(found or ())

    def inbox(self, pool: str, run: str, count: int = HISTORY_PAGE, first: int = 0) -> list[bytes]:
        """The events that no step has taken."""
        key = f"{self.keys(pool).task(run)}#inbox"
        found = self.ask_one(pool, lambda client: client.lrange(key, first, first + count - 1))
        return list(found or ())

    def payloads(self, pool: str, run: str, fields: Sequence[str]) -> list[bytes | None]:
        """Payloads of a run that are kept apart."""
        key = f"{self.keys(pool).task(run)}#payloads"
        found = self.ask_one(pool, lambda client: client.hmget(key, fields))
        return list(found)

    def run_row(self, pool: str, run: str) -> RunRow | None:
        """A run as it is stored, with at most CALLS_PAGE of its open commands; None if there is none."""
        key = self.keys(pool).task(run)

        def fill(pipe: Any) -> None:
            pipe.hmget(key, FIELDS)
            pipe.llen(f"{key}#history")
            pipe.llen(f"{key}#inbox")
            pipe.hlen(f"{key}#calls")
            pipe.hscan(f"{key}#calls", 0, count=CALLS_PAGE)

        values, history, inbox, open_calls, page = self.ask_all(pool, fill)
        fields = _named(values)
        if fields.get("k") != "workflow":
            return None
        calls = {_text(name).removeprefix("f"): _text(what) for name, what in (page[1] if page else {}).items()}
        return RunRow(fields, history or 0, inbox or 0, calls, open_calls or 0)

    def run_fields(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], RunFields]:
        """The records of runs, by pool and id; one round trip to each server."""

        def fill(pipe: Any, keys: Keys, run: str) -> None:
            pipe.hmget(keys.task(run), FIELDS)
            pipe.llen(f"{keys.task(run)}#history")
            pipe.llen(f"{keys.task(run)}#inbox")

        found: dict[tuple[str, str], RunFields] = {}
        for place, (values, history, inbox) in self.ask_records(places, fill).items():
            fields = _named(values)
            known = fields if fields.get("k") == "workflow" else {}
            found[place] = RunFields(known, history or 0, inbox or 0)
        return found

    def open_calls(self, pool: str, run: str, cursor: int, count: int) -> tuple[int, dict[str, str]]:
        """Open commands of a run, about `count` of them from a cursor on, and the cursor behind them; 0 at the end."""
        following, page = self.raw_calls(pool, run, cursor, count)
        return following, {name.removeprefix("f"): what for name, what in page.items()}

    def raw_calls(self, pool: str, run: str, cursor: int, count: int) -> tuple[int, dict[str, str]]:
        """Open commands as they are stored; those of other pools have an `f` before the number."""
        key = f"{self.keys(pool).task(run)}#calls"
        following, page = self.ask_one(pool, lambda client: client.hscan(key, cursor, count=count)) or (0, {})
        return int(following), {_text(name): _text(what) for name, what in page.items()}

    def is_waiting(self, pool: str, run: str, number: str, what: str) -> bool:
        """Whether a command of another pool is open, as it was read."""
        key = f"{self.keys(pool).task(run)}#calls"
        found = self.ask_one(pool, lambda client: client.hget(key, f"f{number}"))
        return found is not None and _text(found) == what

    def waiting_to_begin(self, pool: str, run: str, numbers: Sequence[int]) -> set[int]:
        """Those of the commands of a run that wait to begin, in `#later`."""
        key = f"{self.keys(pool).task(run)}#later"
        found = self.ask_all(pool, lambda pipe: [pipe.zcount(key, number, number) for number in numbers])
        return {number for number, waits in zip(numbers, found, strict=True) if waits}

    def step_fence(self, pool: str, run: str) -> str | None:
        """The fence of the last step of a run, '' without one; None if the run has ended or is gone."""
        key = self.keys(pool).task(run)
        (values,) = self.ask_all(pool, partial(_read_fields, key, ("s", "k", "vf")))
        state, kind, fence = (_text(value or b"") for value in values or (b"", b"", b""))
        return fence if kind == "workflow" and state not in TERMINAL else None

    def last_of_chain(self, pool: str, task: str) -> tuple[str, dict[str, str]]:
        """The last run of a child, or an activity: its id, and its state, token and run; nothing if it is gone."""
        task = self.newest_runs([(pool, task)])[pool, task]
        for _ in range(MOST_RUNS):
            key = self.keys(pool).task(task)
            (values,) = self.ask_all(pool, partial(_read_fields, key, CHAIN_FIELDS))
            found = {name: _text(value) for name, value in zip(CHAIN_FIELDS, values or (), strict=False) if value}
            if "vx" not in found:
                break
            task = found["vx"]
        return task, found

    def messages(self, pool: str) -> Iterator[dict[str, str]]:
        """The messages to other pools that are on their way, or that were given up, each with what it is about."""
        keys = self.keys(pool)

        def fill(pipe: Any) -> None:
            for index in (keys.commands, keys.commands_locked, f"{keys.commands}:dead"):
                pipe.zrange(index, 0, MOST_MESSAGES - 1)

        replies = self.ask_all(pool, fill, transaction=True)  # a message moves between these indexes
        ids = list(dict.fromkeys(_text(id) for reply in replies for id in reply or ()))
        for first in range(0, len(ids), HISTORY_PAGE):
            yield from self._messages(pool, ids[first : first + HISTORY_PAGE])

    def _messages(self, pool: str, ids: Sequence[str]) -> Iterator[dict[str, str]]:
        prefix = self.keys(pool).prefix
        rows = self.ask_all(pool, lambda pipe: [pipe.hmget(f"{prefix}:command:{id}", MESSAGE_FIELDS) for id in ids])
        for values in rows:
            yield {name: _text(value) for name, value in zip(MESSAGE_FIELDS, values or (), strict=False) if value}

    def children(
        self, pool: str, run: str, first: int, entries: int, most: int
    ) -> tuple[int, int, list[tuple[bytes, str]]]:
        """Children that a run began: their entries and the ids of their last runs.

        Before them: how far the history was read, and its length.
        """
        last, length, *found = self._call("run_children", pool, run, first, entries, most)
        return last, length, [(text, _text(id)) for text, id in found]

    def call_rows(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], CallRow]:
        """Activities and children by pool and id; one round trip to each server."""

        def fill(pipe: Any, keys: Keys, id: str) -> None:
            pipe.hmget(keys.task(id), CALL_FIELDS)
            pipe.lrange(keys.log(id), -LINES, -1)

        found: dict[tuple[str, str], CallRow] = {}
        for (pool, id), (values, lines) in self.ask_records(places, fill).items():
            raw = {name.encode(): value for name, value in zip(CALL_FIELDS, values or (), strict=False) if value}
            with suppress(Undecodable):  # a record that is gone, or cannot be read
                found[pool, id] = CallRow(decode(id, pool, raw), lines or ())
        return found

    def _texts(self, script: str, pool: str, *arguments: Any) -> list[str]:
        reply = [_text(part) for part in self._call(script, pool, *arguments)]
        if not reply:
            raise BadReply(script=script, reply=reply)
        return reply


def _named(values: Sequence[bytes | None] | None) -> dict[str, str]:
    pairs = zip(FIELDS, values or (), strict=False)
    return {name: _text(value) for name, value in pairs if value is not None}


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _read_fields(key: str, fields: Sequence[str], client: Any) -> Any:
    return client.hmget(key, fields)
