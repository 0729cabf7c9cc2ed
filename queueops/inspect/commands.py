"""Outbox questions: commands between pools that are due, locked by a process, or dead."""

from __future__ import annotations

from queueops.errors import FilterError
from queueops.inspect import pagination
from queueops.inspect.broken import broken_pools
from queueops.inspect.models import CommandPage, CommandRow
from queueops.inspect.store import open_reader, pools_of
from queueops.model.redact import cut
from queueops.redis import query_replies

PLACES = ("due", "locked", "dead")
MOST = 200


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
    found = reader.commands(asked)
    following = {name: found[name] for name in places or found if name in found}
    merged = sorted(((row.at, name, row) for name, page in found.items() for row in page.rows), key=_order)
    shown = merged[:limit]
    return CommandPage(
        rows=tuple(_row(name, row) for _, name, row in shown),
        due=sum(page.due for page in found.values()),
        locked=sum(page.locked for page in found.values()),
        dead=sum(page.dead for page in found.values()),
        next=pagination.write(_next(place, places, following, shown)),
        broken=broken_pools(reader.broken, reader.silent),
    )


def dead_commands() -> dict[str, int]:
    """The number of dead commands, by pool."""
    reader = open_reader()
    asked = dict.fromkeys(reader.pools(), ("dead", 0, "", ""))
    return {name: page.dead for name, page in reader.commands(asked).items()}


def _start(places: pagination.Places, pool: str) -> tuple[str, str]:
    _, score, command = places.get(pool, ("", "", ""))
    return score, command


def _order(found: tuple[int, str, query_replies.CommandRow]) -> tuple[int, str, str]:
    return found[0], found[1], found[2].id


def _next(
    place: str,
    places: pagination.Places,
    found: dict[str, query_replies.CommandPage],
    shown: list[tuple[int, str, query_replies.CommandRow]],
) -> pagination.Places:
    """The place in each pool that has more commands than were shown."""
    last = {name: row for _, name, row in shown}
    counts = {name: sum(each == name for _, each, _ in shown) for name in found}
    left = {name: page for name, page in found.items() if page.more or counts[name] < len(page.rows)}
    return {name: (place, last[name].score, last[name].id) if name in last else places.get(name, (place, "", ""))
            for name in left}  # fmt: skip


def _row(pool: str, found: query_replies.CommandRow) -> CommandRow:
    return CommandRow(
        id=cut(found.id, 250),
        pool=pool,
        verb=cut(found.verb, 50),
        sender=cut(found.sender, 200),
        to=cut(found.to, 100),
        target=cut(found.target, 200),
        generation=cut(found.uid, 50),
        round=found.round,
        tries=found.tries,
        created_ms=found.created,
        at_ms=found.at,
        error=cut(found.error, 500),
        size=found.size,
    )
