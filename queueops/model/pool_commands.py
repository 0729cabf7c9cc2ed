"""Commands between pools, as plain data; see ``contracts``."""

from __future__ import annotations

import msgspec

from queueops.model.endings import Ended


class Command(msgspec.Struct, frozen=True):
    """The consequence of a transition in ``pool`` for a task of the pool ``to``.

    A process that takes it has it for 5 seconds.

    ``version`` distinguishes it from a later one of the same id; ``fields`` (name, value, ...) are for its target
    script.
    """

    id: str
    pool: str
    to: str
    version: bytes
    fields: tuple[bytes, ...]

    def went(self, word: str, detail: bytes) -> Told:
        """Its outcome, as its target answered. A verb that the target does not know yet is to be tried again."""
        if word == "UNKNOWN":
            return Told(self.id, self.version, "FAILED", b"the scripts here do not know its verb")
        return Told(self.id, self.version, word, detail)


class Told(msgspec.Struct, frozen=True):
    """The outcome of a command: the word and the detail from its target, or FAILED, or LATER with the reason."""

    id: str
    version: bytes
    word: str
    detail: bytes = b""


class Posted(msgspec.Struct, frozen=True):
    """The reply to one call about commands: the outcome of each applied command, the taken ones, and if more are due.

    ``ended`` are the composites that this call ended: the caller sends their signals.
    """

    answers: list[tuple[str, bytes]]
    taken: list[Command]
    more: bool
    ended: list[Ended] = []
