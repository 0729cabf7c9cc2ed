"""Database outbox: writes the rows of pushes, sends them at the commit, and answers operators."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from django.db import transaction
from django.db.models import Count, Min, Q
from django.utils import timezone

from queueops.contrib.outbox.models import OutboxRow
from queueops.contrib.outbox.relay import take_turn, written
from queueops.contrib.outbox.relaying import Relaying, databases, relay_all
from queueops.errors.outbox import NoOutbox
from queueops.inspect.outbox import OutboxFigures, WaitingPush
from queueops.model import observers
from queueops.model.redact import cut
from queueops.redis.broker import get_broker
from queueops.tasks.outbox import Kept

PATIENCE_S = 5.0
"""So long a process leaves rows to the watchdog after the store has not answered."""
MOST_KNOWN = 10_000

logger = logging.getLogger("queueops.relay")


class _Mine(threading.local):
    """The ids that this thread has sent, whose own calls after the commit still come."""

    def __init__(self) -> None:
        self.sent: set[str] = set()


class DatabaseOutbox:
    """Component that keeps pushes as rows of the caller's database."""

    def __init__(self) -> None:
        self._patient_until = 0.0
        self._mine = _Mine()

    def keep(self, database: str, kept: Sequence[Kept]) -> None:
        """Write rows in the current transaction, and send them after its commit."""
        with observers.publishing((each.push for each in kept), linked=len(kept) > 1):  # not when a watchdog sends them
            OutboxRow.objects.using(database).bulk_create([written(each) for each in kept], batch_size=500)
        lanes: dict[tuple[str, str], set[str]] = {}
        for each in kept:
            lanes.setdefault((each.push.pool, each.push.lane), set()).add(each.push.id)
        for (pool, lane), ids in lanes.items():
            transaction.on_commit(partial(self._committed, database, pool, lane, ids), using=database)

    def _committed(self, database: str, pool: str, lane: str, ids: set[str]) -> None:
        """Send rows that were committed now. Whatever fails, the watchdog sends them."""
        known = self._mine.sent
        if ids <= known:
            known -= ids
            return
        if time.monotonic() < self._patient_until:
            return
        try:
            turn = take_turn(get_broker().hasty(), database, pool, lane, ids)
        except Exception:  # the transaction is committed: its caller must not see an error
            logger.warning("The rows of pool %s, lane %s wait for the watchdog", pool, lane, exc_info=True)
            return
        known.update(set(turn.sent) - ids)
        if len(known) > MOST_KNOWN:
            known.clear()
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
        found = OutboxRow.objects.using(database).filter(dead=True)
        if ids is not None:
            found = found.filter(pk__in=ids)
        with transaction.atomic(using=database):
            numbers = list(found.values_list("pk", flat=True))
            those = OutboxRow.objects.using(database).filter(dead=True, pk__in=numbers)
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
    waits = Q(dead=False)
    found = OutboxRow.objects.using(database).aggregate(
        waits=Count("pk", filter=waits), given_up=Count("pk", filter=~waits), oldest=Min("created", filter=waits)
    )
    oldest = found["oldest"]
    waited = 0 if oldest is None else max(0, round((timezone.now() - oldest).total_seconds() * 1000))
    return OutboxFigures(database=database, waiting=found["waits"], dead=found["given_up"], waited_ms=waited)
