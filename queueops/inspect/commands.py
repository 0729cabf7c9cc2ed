"""Outbox questions: commands between pools that are due, locked by a process, or dead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from queueops.errors import FilterError
from queueops.inspect import pagination
from queueops.inspect.answer_base import Answer
from queueops.inspect.broken import Broken, broken_pools
from queueops.inspect.store import open_reader, pools_of
from queueops.model.redact import cut
from queueops.redis.query_replies import text, whole

PLACES = ("due", "locked", "dead")
MOST = 200


class CommandRow(Answer, frozen=True, kw_only=True):
    """A command: a transition in `pool` to apply to the task `target` of the pool `to`."""

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
    at_ms: int  # time when it is due, when its lock ends, or when it became dead
    error: str = ""  # error of the last delivery
    size: int = 0  # bytes of its results and errors


class CommandPage(Answer, frozen=True, kw_only=True):
    """Commands, the oldest first, and their total number; `next` continues them, empty at the end."""

    rows: tuple[CommandRow, ...]
    due: int = 0
    locked: int = 0
    dead: int = 0
    next: str = ""
    broken: tuple[Broken, ...] = ()  # pools that could not be read in full


class _Found(NamedTuple):
    """A command with its place in the list of its pool."""

    score: str
    id: str
    row: CommandRow


class _Page(NamedTuple):
    """Some commands of a pool, and the number of all."""

    due: int
    locked: int
    dead: int
    more: bool
    rows: list[_Found]


def commands(place: str = "due", pool: str = "", *, after: str = "", limit: int = 50) -> CommandPage:
    """The commands of a pool, or of all, that are `due` (now or later), `locked` or `dead`. Raises FilterError.

    The commands of several pools are merged by time. `after` is the `next` of the previous page.
    """
    if place not in PLACES:
        raise FilterError(reason=f"commands are {', '.join(PLACES)}, and not {place!r}.")
    reader = open_reader()
    pools = pools_of(reader, pool)
    if not pools:
        return CommandPage(rows=())
    limit = max(1, min(limit, MOST))
    places = pagination.read(after, pools, (place,)) if after else {}
    asked = {name: (place, limit if not after or name in places else 0, *_start(places, name)) for name in pools}
    pages = {name: _page(name, reply) for name, reply in reader.ask("commands", asked).items()}
    shown = sorted((found for page in pages.values() for found in page.rows), key=_order)[:limit]
    following = {name: pages[name] for name in places or pages if name in pages}
    return CommandPage(
        rows=tuple(found.row for found in shown),
        due=sum(page.due for page in pages.values()),
        locked=sum(page.locked for page in pages.values()),
        dead=sum(page.dead for page in pages.values()),
        next=pagination.write(_next(place, places, following, shown)),
        broken=broken_pools(reader.broken, reader.silent),
    )


def dead_commands() -> dict[str, int]:
    """The number of dead commands, by pool."""
    reader = open_reader()
    asked = dict.fromkeys(reader.pools(), ("dead", 0, "", ""))
    return {name: _page(name, reply).dead for name, reply in reader.ask("commands", asked).items()}


def _start(places: pagination.Places, pool: str) -> tuple[str, str]:
    _, score, command = places.get(pool, ("", "", ""))
    return score, command


def _page(pool: str, reply: Sequence[Any]) -> _Page:
    _now, due, locked, dead, more, rows = reply
    return _Page(due, locked, dead, bool(more), [_command(pool, row) for row in rows])


def _command(pool: str, row: Sequence[Any]) -> _Found:
    id, score, verb, to, target, sender, uid, number, tries, created, error, size = row
    return _Found(
        text(score),
        text(id),
        CommandRow(
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
        ),
    )


def _order(found: _Found) -> tuple[int, str, str]:
    return found.row.at_ms, found.row.pool, found.id


def _next(
    place: str, places: pagination.Places, pages: Mapping[str, _Page], shown: Sequence[_Found]
) -> pagination.Places:
    """The place in each pool that has more commands than were shown."""
    last = {found.row.pool: (place, found.score, found.id) for found in shown}
    counts = Counter(found.row.pool for found in shown)
    left = [name for name, page in pages.items() if page.more or counts[name] < len(page.rows)]
    return {name: last.get(name) or places.get(name, (place, "", "")) for name in left}
