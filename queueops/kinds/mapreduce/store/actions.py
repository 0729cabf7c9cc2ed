"""Chunk actions: an operator's changes to the chunks of a map-reduce task, and to the task as a consequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import redis

from queueops import conf
from queueops.kinds.mapreduce.contracts import ChunkAnswer
from queueops.kinds.mapreduce.store.chunk_keys import chunk_key
from queueops.model import endings
from queueops.model.contracts import Row
from queueops.model.ids import new_id
from queueops.redis.store_client import StoreClient

STEPS = 150
"""Maximum calls of one action, each for up to 200 chunks. The next action or the agenda does the rest."""


STEPWISE = ("retry", "drop", "skip", "redo", "set")
"""Verbs that continue by themselves when applied to a whole state."""
CHANGES = ("edit", "redo", "set")
"""Verbs that write other data."""
ROOM, CHANGED, PIECE = 100, 4, 1024
"""Limits of one call for chunks by number: its room, the cost of a chunk with new data, bytes per unit.

A chunk that gets other data costs four units, and one more for each KiB of its data. A call takes one to five
milliseconds.
"""


class ChunkActionCalls(StoreClient):
    """Compare and set: a chunk that is no longer in a state that permits the verb is left unchanged."""

    def mend_chunks(
        self,
        pool: str,
        task_id: str,
        verb: str,
        numbers: Sequence[int] = (),
        *,
        whole: str = "",
        value: bytes = b"",
        who: str = "",
    ) -> ChunkAnswer:
        """Apply the verbs of ``CHUNK_ACTIONS`` to chunks by number, or to the first of a ``whole`` state.

        At most 500, preferably few, because it is one call. ``left`` says how many of the state remain after it.
        ``value`` is the data for edit and redo. For set it is the maximum bytes of data, a colon and the fields. For
        postpone it is epoch ms, or "+ms" from now.

        An action closes the task's chunks to workers until all chunks were handled. Exceptions are a release, and a
        postpone of a whole state. `restage` with ``step`` continues the action, and so does the agenda.
        """
        return self._mend(pool, task_id, verb, numbers, whole, value, who, new_id())

    def mend_named(
        self, pool: str, task_id: str, verb: str, numbers: Sequence[int], *, value: bytes = b"", who: str = ""
    ) -> ChunkAnswer:
        """The same for chunks by number, so few in a call that it stays short, however long their data is.

        Until all are handled, none is claimed, and the task does not continue. The task's log has one line about them.
        """
        sizes = self._sizes(pool, task_id, numbers) if verb in CHANGES else [0] * len(numbers)
        costs = [CHANGED + max(size, len(value)) // PIECE if verb in CHANGES else 1 for size in sizes]
        operation, parts = new_id(), list(_parts(numbers, costs))
        changed = 0
        refused: dict[int, str] = {}
        for place, part in enumerate(parts, start=1):
            token = f"{operation}:{changed}{'+' if place < len(parts) else ''}"
            answer = self._mend(pool, task_id, verb, part, "", value, who, token)
            changed += answer.changed
            refused |= answer.refused
        return ChunkAnswer(changed=changed, left=0, state=answer.state, refused=refused)

    def _sizes(self, pool: str, task_id: str, numbers: Sequence[int]) -> list[int]:
        """The length of each chunk's data, in bytes."""
        keys = self.keys(pool)

        def read(client: redis.Redis) -> list[int]:
            with client.pipeline(transaction=False) as pipe:
                for number in numbers:
                    pipe.hstrlen(chunk_key(keys, task_id, number), "a")
                return list(pipe.execute())

        found: list[int] = self.ask(pool, read)
        return found

    def _mend(
        self, pool: str, task_id: str, verb: str, numbers: Sequence[int], whole: str, value: bytes, who: str, token: str
    ) -> ChunkAnswer:
        if verb in ("edit", "redo") and (ring := conf.keyring()) is not None:
            value = ring.seal(value)
        reply = self._call("chunks", pool, task_id, verb, value, whole, self.rules, who[:100], token, *numbers)
        endings.tell(endings.read(pool, reply[4]))
        rest = iter(reply[5:])
        refused = {int(number): state.decode() for number, state in zip(rest, rest, strict=True)}
        changed, left, state, unfit = reply[:4]
        return ChunkAnswer(changed=changed, left=left, state=state.decode(), refused=refused, unfit=unfit)

    def mend_all(
        self, pool: str, task_id: str, verb: str, state: str, *, value: bytes = b"", who: str = ""
    ) -> ChunkAnswer:
        """The same for all chunks in a state, in bounded steps; ``left`` counts the chunks that were not reached."""
        answer = self.mend_chunks(pool, task_id, verb, whole=state, value=value, who=who)
        changed, left, unfit = answer.changed, answer.left, answer.unfit
        wanted = changed + left + unfit
        for _ in range(STEPS):
            if not left or not answer.changed + answer.unfit or changed + unfit >= wanted:
                break
            if verb in STEPWISE:
                left, kept = self._step(pool, task_id)
                unfit += kept
                changed = wanted - left - unfit
            else:
                answer = self.mend_chunks(pool, task_id, verb, whole=state, value=value, who=who)
                changed, left = changed + answer.changed, answer.left
        left = max(0, min(left, wanted - changed - unfit))
        return ChunkAnswer(changed=changed, left=left, state=answer.state, refused={}, unfit=unfit)

    def restart_from(
        self, pool: str, task_id: str, stage: str, *, states: Sequence[str] = ("failed", "errored"), who: str = ""
    ) -> Row:
        """Restart at a stage: ``map``, ``process`` (the chunks in these states are run again) or ``reduce``.

        The steps are bounded. The next action or the agenda moves the rest.
        """
        word, state, detail, left, _unfit = self._restage(pool, task_id, stage, ",".join(states), who)
        for _ in range(STEPS):
            if not left:
                break
            left, _unfit = self._step(pool, task_id)
        return Row(task_id, word, state, detail)

    def _step(self, pool: str, task_id: str) -> tuple[int, int]:
        """How many remain, and how many of the handled ones kept their data."""
        return self._restage(pool, task_id, "step", "", "")[3:]

    def _restage(self, pool: str, task_id: str, stage: str, states: str, who: str) -> tuple[str, str, str, int, int]:
        reply = self._call("restage", pool, task_id, stage, states, new_id(), self.rules, who[:100])
        word, state, detail = (part.decode("utf-8", "replace") for part in reply[:3])
        return word, state, detail, int(reply[3]), int(reply[4])


def _parts(numbers: Sequence[int], costs: Sequence[int]) -> Iterator[list[int]]:
    """Split into portions that fit a call, with at least one chunk each.

    No chunks make one empty portion, which is refused.
    """
    part: list[int] = []
    room = ROOM
    for number, cost in zip(numbers, costs, strict=True):
        if part and cost > room:
            yield part
            part, room = [], ROOM
        part.append(number)
        room -= cost
    yield part
