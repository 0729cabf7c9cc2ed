"""Marks of the history: moments of a pool at which an alarm began or ended, or a worker started.

The watchdog keeps them in two lists of a bounded length: alarms, and starts of workers. A list has the newest.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from queueops.model.history import HOUR
from queueops.model.stored_sentences import unpacked

MOST_MARKS = 500
"""Marks in each list of a pool."""
KEPT_MS = HOUR.kept_s * 1000
"""How long a mark is kept: as long as the longest history."""
GONE_MS = 30_000
"""An alarm that was not reported for so long has ended. One that flickers is one alarm."""
LONGEST = 300
"""Characters of a mark's text."""
PARTED = "\x1e"
"""What is between text and sentence of an alarm that has not ended; `keep_marks.lua`."""
BEGUN, ENDED, START = "alarm", "end", "start"
"""Kinds of marks."""


class Mark(msgspec.Struct, array_like=True, frozen=True):
    """One moment. New fields come last: an older mark has their defaults."""

    kind: str
    about: str  # which condition, or which worker
    text: str
    level: str = ""  # of an alarm
    at_ms: int = 0  # of a start; other marks have their time as score
    version: str = ""  # of the engine, of a worker that starts
    names: str = ""  # digest of the task names that it knows
    sentence: str = ""  # of an alarm: its text, packed

    @property
    def told(self) -> str:
        """The text, in the reader's language if it is a sentence."""
        return unpacked(self.sentence, self.text)


class Condition(msgspec.Struct, frozen=True):
    """An alarm that is there now."""

    about: str
    text: str
    level: str
    sentence: str = ""  # the text, packed


class Seen(msgspec.Struct, frozen=True):
    """What a watchdog sees of a pool: its alarms, and its workers as marks of their starts."""

    conditions: Sequence[Condition] = ()
    starts: Sequence[Mark] = ()


_decoder = msgspec.json.Decoder(Mark)
encode = msgspec.json.Encoder().encode


def decode(data: bytes) -> Mark | None:
    """A stored mark; None if it is unreadable. Earlier watchdogs write the sentence of an end into its text."""
    try:
        mark = _decoder.decode(data)
    except (msgspec.DecodeError, ValueError):
        return None
    text, parted, sentence = mark.text.rpartition(f"{PARTED}[")
    return msgspec.structs.replace(mark, text=text, sentence=f"[{sentence}") if parted else mark
