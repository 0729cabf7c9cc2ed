"""Pool message questions: messages between pools that are due, taken by a process, or given up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from queueops.errors import FilterError
from queueops.inspect import pagination
from queueops.inspect.answers import Answer, Broken, broken_pools
from queueops.inspect.store import open_reader, pools_of
from queueops.model.redact import cut
from queueops.model.sentences import say
from queueops.redis.query_replies import text, whole

__all__ = ["CommandPage", "CommandRow", "commands", "dead_commands"]

PLACES = ("due", "locked", "dead")
SHOWN = {"due": "due", "locked": "taken", "dead": "given up"}
"""The word of each place on pages and in a terminal."""
_WORDS = {"waiting": "due", "taken": "locked", "given-up": "dead", "given_up": "dead"}
"""Other words for a place in a question."""
MOST = 200


class CommandRow(Answer, frozen=True, kw_only=True):
    """A pool message: a transition in `pool` to apply to the task `target` of the pool `to`."""

    TEXTS_OF_TASKS: ClassVar = ("error",)

    id: str
    pool: str
    verb: str
    sender: str
    to: str
    target: str
    generation: str  # uid of the parent of the two: of the sender or of the target
    round: int  # retry round of that parent; an earlier round counts no more
    tries: int  # number of delivery attempts
    created_ms: int
    at_ms: int  # time when it is due, when its lock ends, or when it was given up
    error: str = ""  # error of the last delivery
    size: int = 0  # bytes of its results and errors


class CommandPage(Answer, frozen=True, kw_only=True):
    """Pool messages, the oldest first, and their total number; `next` continues them, empty at the end."""

    rows: tuple[CommandRow, ...]
    place: str = "due"  # due, locked or dead, whatever word the question had
    due: int = 0
    locked: int = 0
    dead: int = 0
    next: str = ""
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


def commands(place: str = "due", pool: str = "", *, after: str = "", limit: int = 50) -> CommandPage:
    """The messages of a pool, or of all, that are `due` (now or later), `taken` or `given up`. Raises FilterError.

    `locked` and `dead`, as in the keys of the store, are understood, too. The messages of several pools are merged by
    time. `after` is the `next` of the previous page.
    """
    place = place_of(place)
    reader = open_reader()
    pools = pools_of(reader, pool)
    if not pools:
        return CommandPage(rows=(), place=place)
    limit = max(1, min(limit, MOST))
    starts = pagination.read(after, pools, (place,)) if after else dict.fromkeys(pools, (place, "", ""))
    asked = {name: (place, limit if name in starts else 0, *starts.get(name, ("", "", ""))[1:]) for name in pools}
    replies = reader.ask("commands", asked)
    walks = {name: _walk(name, start, replies[name]) for name, start in starts.items() if name in replies}
    taken, following = pagination.merge(walks, limit, lambda name, row: (row.at_ms, name))
    due, locked, dead = (sum(reply[number] for reply in replies.values()) for number in (1, 2, 3))
    return CommandPage(
        rows=tuple(row for _, row in taken),
        place=place,
        due=due,
        locked=locked,
        dead=dead,
        next=pagination.write(following),
        broken=broken_pools(reader.broken, reader.silent),
    )


def place_of(word: str) -> str:
    """The place that a word means: its own name, or another word for it. Raises FilterError."""
    place = _WORDS.get(word.replace(" ", "_"), word)
    if place not in PLACES:
        values = {"places": ", ".join(SHOWN.values()), "word": repr(word)}
        raise FilterError(reason=say("messages between pools are %(places)s, and not %(word)s.", **values))
    return place


def dead_commands() -> dict[str, int]:
    """The number of messages that were given up, by pool."""
    reader = open_reader()
    replies = reader.ask("commands", dict.fromkeys(reader.pools(), ("dead", 0, "", "")))
    return {name: dead for name, (_now, _due, _locked, dead, *_) in replies.items()}


def _walk(pool: str, start: pagination.Place, reply: Sequence[Any]) -> pagination.Walk[CommandRow]:
    _now, _due, _locked, _dead, more, found = reply
    rows = [((start[0], text(score), text(id)), _command(pool, id, score, *row)) for id, score, *row in found]
    return pagination.Walk(start=start, rows=rows, next=(rows[-1][0] if rows else start) if more else None)


def _command(pool: str, id: bytes, score: bytes, *row: Any) -> CommandRow:
    verb, to, target, sender, uid, number, tries, created, error, size = row
    return CommandRow(
        id=cut(text(id), 250),
        pool=pool,
        verb=cut(text(verb), 50),
        sender=cut(text(sender), 200),
        to=cut(text(to), 100),
        target=cut(text(target), 200),
        generation=cut(text(uid), 50),
        round=whole(number),
        tries=whole(tries),
        created_ms=whole(created),
        at_ms=whole(score),
        error=cut(text(error), 500),
        size=int(size),
    )
