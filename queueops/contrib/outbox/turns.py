"""Turns of relays: one relay at a time sends the rows of a lane. The turn of a relay that is killed ends with it."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from django.db import connections, transaction

from queueops.contrib.outbox.models import RelayTurn

TURNS = 64
"""Rows that are locked. Each lane has one, and shares it with other lanes."""


@contextmanager
def turn_of(database: str, pool: str, lane: str) -> Iterator[bool]:
    """Take the turn of a lane while the block runs; whether it was free.

    What the block does in the database is one transaction, except on SQLite. There, a transaction would keep all other
    processes from writing while the store is asked.
    """
    if connections[database].vendor == "sqlite":
        with _locked_file(database) as is_free:
            yield is_free
        return
    with transaction.atomic(using=database):
        yield _locked_row(database, crc32(f"{pool}/{lane}".encode()) % TURNS)


def _locked_row(database: str, turn: int) -> bool:
    """Lock a row until the end of the transaction. A database that cannot skip locked rows waits for it."""
    skips = connections[database].features.has_select_for_update_skip_locked
    rows = RelayTurn.objects.using(database).filter(pk=turn)
    if rows.select_for_update(skip_locked=skips).first() is not None:
        return True
    if rows.exists():
        return False
    RelayTurn.objects.using(database).bulk_create([RelayTurn(pk=turn)], ignore_conflicts=True)
    return rows.select_for_update(skip_locked=skips).first() is not None


@contextmanager
def _locked_file(database: str) -> Iterator[bool]:
    """Lock a file beside the file of SQLite, whose processes are all on this machine."""
    with _lock_path(str(connections[database].settings_dict["NAME"])).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            try:
                yield True
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # closing keeps it locked for a process that was forked meanwhile


def _lock_path(name: str) -> Path:
    if ":memory:" in name or "mode=memory" in name:  # only this process has it
        return Path(tempfile.gettempdir()) / f"queueops-outbox-{os.getpid()}.lock"
    path = name.removeprefix("file:").partition("?")[0]
    return Path(f"{path}-outbox.lock")
