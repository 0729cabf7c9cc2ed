"""Consistency check in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.core.management.base import CommandError

from queueops import control, inspect
from queueops.errors import BrokenPool
from queueops.inspect import Fault, FsckPage
from queueops.inspect.store import open_reader, pools_of
from queueops.management.queue import audit
from queueops.management.queue.formatting import printable, to_json
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
    walks = (_told(_repaired(name) if repair else _walk(inspect.fsck, name), name) for name in pools)
    for walk in ([_of_list(reader.broken.get("*", ()))], *walks):
        for page in walk:
            looked += page.looked
            total += len(page.faults)
            for fault in page.faults[: max(0, SHOWN - len(faults))]:
                faults.append(fault)
                if not as_json:
                    yield f"{printable(fault.pool)}  {printable(fault.id)}: {printable(fault.text)}"
    if as_json:
        yield to_json({"faults": faults, "count": total, "looked": looked, "repaired": repair})
    else:
        mended = ", put right" if repair and total else ""
        yield f"{total:,} faults among {looked:,} names of tasks and their parts{mended}."
        if total and not repair:
            yield "Nothing was changed; --repair puts each where its record says."
    if total and not repair:
        raise SystemExit(1)


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


def _repaired(pool: str) -> Iterator[FsckPage]:
    """The check with repairs; the audit entry has their number and the first tasks."""
    with audit.recorded(verb="fsck", target=pool, pool=pool) as act:
        mended: list[str] = []
        act.changed = 0
        for page in _walk(control.repair, pool):
            mended += [f"{fault.id}: {fault.text}" for fault in page.faults[: max(0, 100 - len(mended))]]
            act.changed += len(page.faults)
            act.after = {"faults": mended}
            yield page
