"""Consistency check in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.errors import BrokenPool
from queueops.inspect import Fault, FsckPage, OutboxFigures
from queueops.inspect.store import open_reader, pools_of
from queueops.management.queue import audit
from queueops.management.queue.formatting import printable, to_json
from queueops.management.queue.outbox import figures_line
from queueops.model.fsck import ADVICE

SHOWN = 1000
"""The most faults that are printed; all are counted and repaired."""


def fsck(*, pool: str, repair: bool, as_json: bool, **_: Any) -> Iterator[str]:
    """Check one pool or all of them. Fails at its end if a fault was not repaired."""
    reader = open_reader()
    pools = pools_of(reader, pool)
    if not pools:
        raise CommandError(f"There is no pool {pool!r}.")
    total, looked = 0, 0
    faults: list[Fault] = []
    mended: set[Fault] = set()
    walks = (_told(_repaired(name, mended) if repair else _walk(inspect.fsck, name), name) for name in pools)
    for walk in ([_of_list(reader.broken.get("*", ()))], *walks):
        for page in walk:
            looked += page.looked
            total += len(page.faults)
            for fault in page.faults[: max(0, SHOWN - len(faults))]:
                faults.append(fault)
                if not as_json:
                    yield _line(fault)
    left = total - len(mended)
    waiting = inspect.outbox_figures()
    if as_json:
        rows = [msgspec.structs.asdict(fault) | {"repaired": fault in mended} for fault in faults]
        found = {"faults": rows, "count": total, "left": left, "looked": looked, "repaired": repair and not left}
        yield to_json(found | _of_outbox(waiting))
    else:
        yield f"{total:,} faults among {looked:,} names of tasks and their parts{_done(total, left) if repair else ''}."
        yield from map(figures_line, waiting)
        if left and not repair:
            yield "Nothing was changed; --repair puts each where its record says."
        if left and mended:
            yield from ("These are left to you:", *(_line(fault) for fault in faults if fault not in mended))
    if left:
        raise SystemExit(1)


def _of_outbox(waiting: Sequence[OutboxFigures]) -> dict[str, Any]:
    """The rows of the outbox in numbers, if the project has one."""
    return {"outbox": waiting} if waiting else {}


def _line(fault: Fault) -> str:
    return f"{printable(fault.pool)}  {printable(fault.id)}: {printable(fault.text)}"


def _done(total: int, left: int) -> str:
    """What a repair did of all faults."""
    if not total:
        return ""
    return f": {total - left:,} put right, {left:,} left" if left else ", put right"


def _of_list(broken: Iterable[str]) -> FsckPage:
    """The faults in the list of pools. A repair does not change them."""
    return FsckPage(faults=tuple(Fault(pool="*", id="~key:pools", text=f"{key}. {ADVICE}") for key in broken), looked=0)


def _told(pages: Iterator[FsckPage], pool: str) -> Iterator[FsckPage]:
    """A pool that cannot be checked is a fault too; the other pools are checked."""
    try:
        yield from pages
    except BrokenPool as error:
        yield FsckPage(faults=(Fault(pool=pool, id="~keys", text=str(error)),), looked=0)


def _walk(step: Callable[[str, str], FsckPage], pool: str) -> Iterator[FsckPage]:
    page = step(pool, "")
    yield page
    while page.next:
        page = step(pool, page.next)
        yield page


def _repaired(pool: str, mended: set[Fault]) -> Iterator[FsckPage]:
    """The check with repairs, and then one without: what that does not find again was mended.

    The audit entry has the number of repairs and the first tasks.
    """
    with audit.recorded(verb="fsck", target=pool, pool=pool) as act:
        told: list[str] = []
        found: set[Fault] = set()
        act.changed = 0
        for page in _walk(control.repair, pool):
            told += [f"{fault.id}: {fault.text}" for fault in page.faults[: max(0, 100 - len(told))]]
            found.update(page.faults)
            act.changed = len(found)
            act.after = {"faults": told}
            yield page
        left = {fault for page in _walk(inspect.fsck, pool) for fault in page.faults} if found else set()
        act.changed = len(found - left)
        mended |= found - left
        yield FsckPage(faults=tuple(left - found), looked=0)
