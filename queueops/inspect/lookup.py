"""Look-up: what a text in the find box may mean, in one round trip to each server, and within budgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from queueops.inspect.answers import broken_pools
from queueops.inspect.hits import LookUp, NamedHit, OtherHits
from queueops.inspect.id_search import BUDGET, SHORTEST
from queueops.inspect.kind_details import Finder
from queueops.inspect.redaction import redactor
from queueops.inspect.registry import names_here
from queueops.inspect.store import open_reader
from queueops.inspect.task_rows import TaskRow, read_row, row_of
from queueops.model import kinds
from queueops.model.ids import ID, made_ms
from queueops.redis.query_replies import text

LOOKED_AT = 2000
"""Names, workers and errors of a pool that are looked at, the latest used first."""
LANES_LOOKED_AT = 20_000
"""Lanes of a pool that are looked at: a tenant has one, so there are many."""


def look_up(wanted: str, most: int = 20, *, id: str = "") -> LookUp:
    """Tasks by id or its beginning, and at most so many names, tags, pools, lanes, workers and errors with this part.

    A worker is also found by the number of its process, and after its end by the mark of its start. Kinds find records
    by another id. `id` is the id of the task, if that is not the text itself. It costs two round trips to each server.
    Of names, an empty text finds those that were used last.
    """
    reader, part = open_reader(), wanted.casefold()
    id = id or wanted
    start = wanted if len(wanted) >= SHORTEST and ID.fullmatch(wanted) else ""
    since = made_ms(start) if start else None
    of_ids = (id if ID.fullmatch(id) else "", start, "" if since is None else since, BUDGET, most)
    finders = [details.finder for details in kinds.roles("details") if details.finder]
    asked = (*of_ids, part, LOOKED_AT, most, LANES_LOOKED_AT, wanted, *(finder.key for finder in finders))
    replies = reader.ask("look_up", dict.fromkeys(reader.pools(), asked))
    names = list(dict.fromkeys(text(name) for reply in replies.values() for name in reply[3]))
    if part:
        names = sorted({*names, *(name for name in names_here() if part in name.casefold())})
    return LookUp(
        tasks=tuple(_rows(replies, 0)),
        begun=tuple(sorted(_rows(replies, 1), key=lambda row: -row.entered_ms)[:most]),
        others=tuple(_others(finders, replies)),
        partial=any(reply[2] for reply in replies.values()),
        names=tuple(names[:most]),
        tags=tuple(dict.fromkeys(text(tag) for reply in replies.values() for tag in reply[8]))[:most],
        pools=tuple(sorted(pool for pool in replies if part in pool.casefold())[:most]),
        lanes=_first(most, _lanes(replies)),
        workers=_first(most, _workers(replies.values())),
        errors=_first(most, _errors(replies.values())),
        broken=broken_pools(reader.broken, reader.silent),
    )


def _rows(replies: Mapping[str, Sequence[Any]], place: int) -> Iterator[TaskRow]:
    hide = redactor()
    for pool, reply in replies.items():
        yield from (row_of(pool, read_row(text(id), row), hide) for id, _, *row in reply[place])


def _lanes(replies: Mapping[str, Sequence[Any]]) -> Iterator[NamedHit]:
    for pool, reply in replies.items():
        for lane, title in zip(*[iter(reply[4])] * 2, strict=True):
            yield NamedHit(name=text(lane), about=pool, title=text(title))


def _workers(replies: Iterable[Sequence[Any]]) -> Iterator[NamedHit]:
    """Each worker once, also if it serves several pools: those in the registry before those that have ended."""
    found: dict[str, NamedHit] = {}
    for reply in replies:
        for id, host, process, ended in zip(*[iter(reply[5])] * 4, strict=True):
            hit = NamedHit(name=text(id), about=text(host), process=text(process), ended=bool(ended))
            if not hit.ended or hit.name not in found:
                found[hit.name] = hit
    return iter(found.values())


def _others(finders: Sequence[Finder], replies: Mapping[str, Sequence[Any]]) -> Iterator[OtherHits]:
    """What the kinds find: a row of each pool, in the place of the finder."""
    hide = redactor()
    for place, finder in enumerate(finders):
        found = ((pool, reply[7][place]) for pool, reply in replies.items())
        rows = tuple(row_of(pool, read_row(text(id), row), hide) for pool, each in found for id, _, *row in each)
        if rows:
            yield OtherHits(title=finder.title, rows=rows)


def _errors(replies: Iterable[Sequence[Any]]) -> Iterator[NamedHit]:
    """Each kind of error once: of its title only the type, because the rest may be of a task."""
    found = {
        text(fingerprint): (text(title).partition(": ")[0], text(name))
        for reply in replies
        for fingerprint, title, name in zip(*[iter(reply[6])] * 3, strict=True)
    }
    return (NamedHit(name=type, id=fingerprint, about=name) for fingerprint, (type, name) in found.items())


def _first(most: int, hits: Iterable[NamedHit]) -> tuple[NamedHit, ...]:
    return tuple(islice(sorted(hits, key=lambda hit: (hit.ended, hit.name, hit.about, hit.id)), most))
