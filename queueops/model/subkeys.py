"""Sub-keys of the kernel: the keys beside a record, a lane or an error group, and what happens to those of a record.

Python and the Lua library read this table, and the kinds add theirs to it: deletion, trash, retention and
the consistency check know a sub-key from here.
"""

from __future__ import annotations

from typing import NamedTuple


class Subkey(NamedTuple):
    """A key whose name is that of its owner and ``name``. ``type`` is its Redis type, or `channel`.

    ``erased``: it is deleted with the record. ``carried``: it is moved with the record to the trash and back.
    """

    name: str
    type: str
    erased: bool = False
    carried: bool = False


LOG = Subkey("#log", "list", erased=True, carried=True)
"""The log and the attempts of a task."""
NEXT = Subkey("#next", "hash", erased=True)
"""The push that waits for the end of a task."""
LAST = Subkey("#last", "hash")
"""The previous generation of a task, which expires."""
DONE = Subkey("#done", "channel")
"""Where callers that wait for a task receive its end."""
CONF = Subkey("#conf", "hash")
"""The settings of a lane."""
ACTIVE = Subkey("#active", "set")
"""The tasks that hold the slots of a lane with a limit; those of a key that run."""
TASKS = Subkey("#tasks", "zset")
"""The failed tasks of an error group."""

TURN = Subkey("#turn", "set")
"""The ready tasks that have a turn of their key."""
WAITING = Subkey("#waiting", "zset")
"""The ready tasks that wait for a turn of their key, score = place in their lane."""
TAT = Subkey("#tat", "string")
"""The time in microseconds at which the tokens of a key are complete again."""

RECORD = (LOG, NEXT, LAST, DONE)
LANE = (CONF, ACTIVE)
ERROR = (TASKS,)
LIMIT = (TURN, ACTIVE, WAITING, TAT)
ALL = tuple(dict.fromkeys((*RECORD, *LANE, *ERROR, *LIMIT)))


def keys_beside(owner: str, subkeys: tuple[Subkey, ...]) -> dict[str, str]:
    """The names and types of the sub-keys of an owner, such as ``task:<id>``; without channels."""
    return {f"{owner}{each.name}": each.type for each in subkeys if each.type != "channel"}
