"""What is told between pools, as plain data: see ``contracts``."""

from __future__ import annotations

import msgspec

from queueops.model.endings import Ended


class Command(msgspec.Struct, frozen=True):
    """What a transition in ``pool`` means for a task of the pool ``to``. A process that takes it has it for 5 seconds.

    ``version`` tells it from a later one of the same id; ``fields`` (name, value, ...) are for the script it is for.
    """

    id: str
    pool: str
    to: str
    version: bytes
    fields: tuple[bytes, ...]

    def went(self, word: str, detail: bytes) -> Told:
        """How it went, as its target answered; a verb that the target does not know yet is to be tried again."""
        if word == "UNKNOWN":
            return Told(self.id, self.version, "FAILED", b"the scripts here do not know its verb")
        return Told(self.id, self.version, word, detail)


class Told(msgspec.Struct, frozen=True):
    """How a command went: the word and the detail that its target answered, or FAILED, or LATER with the reason."""

    id: str
    version: bytes
    word: str
    detail: bytes = b""


class Posted(msgspec.Struct, frozen=True):
    """The answer to one call about commands: of each that was applied, what was taken, and whether more are due.

    ``ended`` are the composites that this call ended: the caller has signals of them sent.
    """

    answers: list[tuple[str, bytes]]
    taken: list[Command]
    more: bool
    ended: list[Ended] = []
