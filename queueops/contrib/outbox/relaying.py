"""Relaying: a thread of the watchdog's process that sends what waits in all databases. Any number of them may run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

from django.db import close_old_connections, connections, router

from queueops.contrib.outbox.models import OutboxRow
from queueops.contrib.outbox.relay import Turn, take_turn, waiting
from queueops.redis.broker import get_broker

EVERY_S, BUSY_EVERY_S, FAILED_EVERY_S = 1.0, 0.1, 2.0
"""Seconds between two rounds: usually, while rows come, and after a failure."""
MOST_TURNS = 20
"""Turns on one lane before the next one. A round has all lanes: those that cannot be sent hold back no other one."""
STOP_WITHIN_S = 2.0

logger = logging.getLogger("queueops.relay")


def databases() -> Iterator[str]:
    """The databases that may have the tables of the outbox, and have them."""
    return filter(has_table, connections)


_known: set[str] = set()


def has_table(name: str) -> bool:
    """Whether this database has the tables of the outbox. Once it has them, it is not asked again."""
    if not router.allow_migrate_model(name, OutboxRow):
        return False
    if name not in _known:
        with connections[name].cursor() as cursor:
            if OutboxRow._meta.db_table not in connections[name].introspection.table_names(cursor):
                return False
        _known.add(name)
    return True


def relay_all(stopped: threading.Event | None = None) -> tuple[int, Exception | None]:
    """Send what waits in all databases: how many rows were sent, and the last error of the store or of a database."""
    sent, failed = 0, None
    for name in connections:
        try:
            for turn in _turns(name, stopped):
                sent, failed = sent + len(turn.sent), turn.outage or failed
        except Exception as error:  # of a database, whatever its driver raises; the other ones do not wait for it
            connections[name].close()
            failed = error
    return sent, failed


def _turns(name: str, stopped: threading.Event | None) -> Iterator[Turn]:
    """Take turns on each lane of a database in which rows wait."""
    if not has_table(name):
        return
    for pool, lane in _lanes(name):
        for _ in range(MOST_TURNS):
            if stopped is not None and stopped.is_set():
                return
            turn = take_turn(get_broker(), name, pool, lane)
            yield turn
            if not turn.more:
                break


def _lanes(name: str) -> Iterator[tuple[str, str]]:
    """The lanes in which rows wait. Each is found by the index, however many rows wait in the lanes before it."""
    lanes = waiting(name).order_by("pool", "lane").values_list("pool", "lane")
    found = lanes.first()
    while found is not None:
        yield found
        pool, lane = found
        found = lanes.filter(pool=pool, lane__gt=lane).first() or lanes.filter(pool__gt=pool).first()


class Relaying:
    """Sends what waits, round after round, until it is stopped. No error ends it."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queueops-relay", daemon=True)
        self._error = ""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current turn."""
        self._ended.set()
        self._thread.join(STOP_WITHIN_S)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._ended.wait(self._round())
        connections.close_all()

    def _round(self) -> float:
        """Make one round; the seconds until the next."""
        close_old_connections()
        sent, outage = relay_all(self._ended)
        self._tell(outage)
        return FAILED_EVERY_S if outage else BUSY_EVERY_S if sent else EVERY_S

    def _tell(self, outage: Exception | None) -> None:
        """Log an error once, as long as it lasts."""
        said = "" if outage is None else f"{type(outage).__name__}: {outage}"
        if said and not self._error:
            logger.warning("The outbox waits, and its relay tries again: %s", said)
        elif self._error and not said:
            logger.info("The outbox is sent again")
        self._error = said
