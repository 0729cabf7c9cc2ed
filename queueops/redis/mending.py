"""What an operator does to the chunks of a map-reduce task, and to the task because of them."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.contracts import ChunkAnswer, Row
from queueops.ids import new_id
from queueops.redis.link import Link

STEPS = 40
"""Calls that one action makes at most, each for 500 chunks. What is to be moved then is moved by whoever comes next."""


STEPWISE = ("retry", "drop", "skip")
"""What is done to all of a state goes on by itself."""


class Mending(Link):
    """Compare and set: what is no longer in a state that allows the verb is left alone."""

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
        """retry, drop, skip, edit, redo, release or speculate: chunks by number, or the first of a ``whole`` state.

        At most 500 in a call; ``left`` says how many of the state there are after it. ``value`` is the data for edit
        and redo. Retrying, dropping or skipping a whole state closes the task's chunks to workers until all of it was
        met: `restage` with ``step`` goes on with that, and so does the agenda.
        """
        token = new_id()
        reply = self._call("chunks", pool, task_id, verb, value, whole, self.rules, who[:100], token, *numbers)
        rest = iter(reply[3:])
        refused = {int(number): state.decode() for number, state in zip(rest, rest, strict=True)}
        return ChunkAnswer(changed=int(reply[0]), left=int(reply[1]), state=reply[2].decode(), refused=refused)

    def mend_all(self, pool: str, task_id: str, verb: str, state: str, *, who: str = "") -> ChunkAnswer:
        """The same for all that are in a state now, in bounded steps; ``left`` are those that were not reached."""
        answer = self.mend_chunks(pool, task_id, verb, whole=state, who=who)
        changed, left = answer.changed, answer.left
        wanted = changed + left
        for _ in range(STEPS):
            if not left or not answer.changed or changed >= wanted:
                break
            if verb in STEPWISE:
                left = self._step(pool, task_id)
                changed = wanted - left
            else:
                answer = self.mend_chunks(pool, task_id, verb, whole=state, who=who)
                changed, left = changed + answer.changed, answer.left
        return ChunkAnswer(changed=changed, left=max(0, min(left, wanted - changed)), state=answer.state, refused={})

    def restart_from(
        self, pool: str, task_id: str, stage: str, *, states: Sequence[str] = ("failed", "errored"), who: str = ""
    ) -> Row:
        """Begin again at a stage: ``map``, ``process`` (the chunks in these states are run again) or ``reduce``.

        In bounded steps; what is not moved when they are used up is moved by whoever comes next.
        """
        word, state, detail, left = self._restage(pool, task_id, stage, ",".join(states), who)
        for _ in range(STEPS):
            if not left:
                break
            left = self._step(pool, task_id)
        return Row(task_id, word, state, detail)

    def _step(self, pool: str, task_id: str) -> int:
        return self._restage(pool, task_id, "step", "", "")[3]

    def _restage(self, pool: str, task_id: str, stage: str, states: str, who: str) -> tuple[str, str, str, int]:
        reply = self._call("restage", pool, task_id, stage, states, new_id(), self.rules, who[:100])
        word, state, detail = (part.decode("utf-8", "replace") for part in reply[:3])
        return word, state, detail, int(reply[3])
