"""Database outbox: writes the rows of pushes, sends them at the commit, and answers operators."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Min, QuerySet
from django.utils import timezone

from queueops.contrib.outbox.models import OutboxRow
from queueops.contrib.outbox.relay import take_turn, written
from queueops.contrib.outbox.relaying import Relaying, databases, has_table, relay_all
from queueops.errors.outbox import NoOutbox
from queueops.inspect.outbox import MOST_COUNTED, OutboxFigures, WaitingPush
from queueops.model import observers
from queueops.model.contracts import Push
from queueops.model.redact import cut
from queueops.redis.broker import get_broker
from queueops.tasks.outbox import Kept

PATIENCE_S = 5.0
"""So long a process leaves rows to the watchdog after the store has not answered."""
STEP = 1_000
"""Rows that an action on all of them changes in one transaction."""
MOST_KEPT = 10_000
"""So many lanes, and ids of each, a thread remembers. Those of a rollback stay until the next commit of their lane."""

logger = logging.getLogger("queueops.relay")


class _Mine(threading.local):
    """The ids of the rows that this thread has written and not sent, by database, pool and lane."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str, str], set[str]] = {}


class DatabaseOutbox:
    """Component that keeps pushes as rows of the caller's database."""

    def __init__(self) -> None:
        self._patient_until = 0.0
        self._mine = _Mine()

    def keep(self, database: str, kept: Sequence[Kept]) -> None:
        """Write rows in the current transaction, and send them after its commit. Raises NoOutbox."""
        if not has_table(database):
            raise NoOutbox(database=database, known=", ".join(databases()) or "none")
        with observers.publishing((each.push for each in kept), linked=len(kept) > 1):  # not when a watchdog sends them
            OutboxRow.objects.using(database).bulk_create([written(each) for each in kept], batch_size=500)
        for lane in {self._remembered(database, each.push) for each in kept}:
            transaction.on_commit(partial(self._committed, *lane), using=database)

    def _remembered(self, database: str, push: Push) -> tuple[str, str, str]:
        """Remember that this thread has written a row; its lane."""
        lane, mine = (database, push.pool, push.lane), self._mine.kept
        if len(mine) > MOST_KEPT:
            mine.clear()
        ids = mine.setdefault(lane, set())
        if len(ids) > MOST_KEPT:
            ids.clear()
        ids.add(push.id)
        return lane

    def _committed(self, database: str, pool: str, lane: str) -> None:
        """Send what this thread has committed in a lane: its first push does so. What fails, the watchdog sends."""
        ids = self._mine.kept.pop((database, pool, lane), None)
        if ids is None or time.monotonic() < self._patient_until:
            return
        try:
            turn = take_turn(get_broker().hasty(), database, pool, lane, ids)
            while turn.more:
                turn = take_turn(get_broker().hasty(), database, pool, lane, ids)
        except Exception:  # the transaction is committed: its caller must not see an error
            logger.warning("The rows of pool %s, lane %s wait for the watchdog", pool, lane, exc_info=True)
            return
        if turn.outage is not None:
            self._patient_until = time.monotonic() + PATIENCE_S
            logger.warning("The rows of pool %s, lane %s wait for the watchdog: %s", pool, lane, turn.outage)

    @contextmanager
    def relaying(self) -> Iterator[None]:
        """Send what waits, in a thread, while the block runs."""
        relaying = Relaying()
        relaying.start()
        try:
            yield
        finally:
            relaying.stop()

    def relay(self) -> int:
        """Send what waits now; how many rows were sent. Raises the error of a store that does not answer."""
        sent, outage = relay_all()
        if outage is not None:
            raise outage
        return sent

    def figures(self) -> list[OutboxFigures]:
        """The rows of each database in numbers."""
        return [_figures(name) for name in databases()]

    def rows(self, database: str, *, dead: bool, after: int, limit: int) -> list[WaitingPush]:
        """Rows of a database, the oldest first. Raises NoOutbox."""
        _check(database)
        found = OutboxRow.objects.using(database).filter(dead=dead, pk__gt=after).order_by("pk").defer("body")
        return [
            WaitingPush(
                id=row.pk, database=database, push=row.push_id, name=row.name, form=row.form, pool=row.pool,
                lane=row.lane, created_ms=round(row.created.timestamp() * 1000), dead=row.dead, error=row.error,
            )
            for row in found[:limit]
        ]  # fmt: skip

    def act(self, verb: str, database: str, ids: Sequence[int] | None) -> list[int]:
        """Retry or delete rows that were given up, some or all; the numbers of those that it changed."""
        _check(database)
        found = OutboxRow.objects.using(database).filter(dead=True).order_by("pk")
        if ids is not None:
            return _change(verb, found.filter(pk__in=ids))
        changed: list[int] = []
        while step := _change(verb, found.filter(pk__gt=changed[-1] if changed else 0), STEP):
            changed += step
        return changed


def _change(verb: str, found: QuerySet[OutboxRow], most: int | None = None) -> list[int]:
    """Retry or delete these rows in a transaction; their numbers."""
    with transaction.atomic(using=found.db):
        numbers = list(found.select_for_update().values_list("pk", flat=True)[:most])
        those = OutboxRow.objects.using(found.db).filter(pk__in=numbers)
        if verb == "retry":
            those.update(dead=False, error="")
        else:
            those.delete()
    return numbers


def _check(database: str) -> None:
    known = list(databases())
    if database not in known:
        raise NoOutbox(database=cut(database, 100), known=", ".join(known) or "none")


def _figures(database: str) -> OutboxFigures:
    rows = OutboxRow.objects.using(database)
    waits, given_up = (rows.filter(dead=dead).order_by()[:MOST_COUNTED].count() for dead in (False, True))
    oldest = _oldest(rows.filter(dead=False), waits)
    waited = 0 if oldest is None else max(0, round((timezone.now() - oldest).total_seconds() * 1000))
    return OutboxFigures(database=database, waiting=waits, dead=given_up, waited_ms=waited)


def _oldest(rows: QuerySet[OutboxRow], number: int) -> datetime | None:
    """When the first of some rows was written. Few are found by the index, beside any number of others."""
    if number < MOST_COUNTED:
        found: datetime | None = rows.aggregate(oldest=Min("created"))["oldest"]
        return found
    return rows.order_by("pk").values_list("created", flat=True).first()
