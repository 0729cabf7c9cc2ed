"""Rotation of the keys of QUEUEOPS['ENCRYPTION']."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.apps import apps
from django.db import connections, models, router
from django.db.models.functions import Cast

from queueops import conf
from queueops.conf.sealed_fields import SEALED
from queueops.errors import QueueOpsError
from queueops.model.encryption import Keyring, NoKeyring, is_sealed
from queueops.redis.broker import get_broker

ROWS = 200
"""How many rows of a table are read at once."""
EMPTY = ("", "{}", "null")


class NoKeys(QueueOpsError, LookupError):
    """QUEUEOPS['ENCRYPTION'] has no key, so no value can be read or encrypted. Put a key into it, in all processes."""


def reencrypt(pool: str, *, dry_run: bool = False) -> Iterator[Counter[str]]:
    """Put the encrypted values of a pool under the first key, in steps; values of records in clear are encrypted, too.

    If the setting begins with None, encrypted values are decrypted.

    Each step counts what it found: `keys` of the store, values under the `current` key, an `old` or an `unknown` one,
    those in `clear`, and those that it `changed`. A dry run needs no key. Raises NoKeys, NotOffered and
    BrokerUnavailable.
    """
    ring, broker = _ring(conf.keyring_to_read(), dry_run=dry_run), get_broker()
    raw = type(broker)(replace(conf.current(), encryption=()))  # its replies stay encrypted
    try:
        yield from raw.reencrypt(pool, ring, dry_run=dry_run)
    finally:
        raw.close()


def reencrypt_tables(*, dry_run: bool = False) -> Iterator[Counter[str]]:
    """The same for tables of the databases: the audit, the outbox, and results of `once`. `rows` are counted, too."""
    ring = _ring(conf.keyring_of_databases(), dry_run=dry_run)
    for model in apps.get_models():
        for column in getattr(model, "SEALED", ()):
            for database in _databases(model):
                yield from _of_column(ring, model._base_manager.using(database), column, dry_run=dry_run)


def _ring(ring: Keyring | None, *, dry_run: bool) -> Keyring:
    if ring is None and not dry_run:
        raise NoKeys
    return ring or NoKeyring()


def _databases(model: type[models.Model]) -> Iterator[str]:
    for alias in connections:
        tables = connections[alias].introspection.table_names()
        if router.allow_migrate_model(alias, model) and model._meta.db_table in tables:
            yield alias


def _of_column(ring: Keyring, table: Any, column: str, *, dry_run: bool) -> Iterator[Counter[str]]:
    """A row that has changed since it was read is left to the next walk."""
    rows, last = table.annotate(stored=Cast(column, models.TextField())), None
    is_json = isinstance(table.model._meta.get_field(column), models.JSONField)
    while found := list(_behind(rows, last).values_list("pk", "stored")[:ROWS]):
        count = Counter(rows=len(found))
        for key, old in found:
            new = _renewed(ring, old, count, is_json=is_json)
            if new is not None and not dry_run:
                count["changed"] += rows.filter(pk=key, stored=old).update(**{column: new})
        last = found[-1][0]
        yield count


def _behind(rows: Any, last: Any) -> Any:
    return (rows if last is None else rows.filter(pk__gt=last)).order_by("pk")


def _renewed(ring: Keyring, old: str, count: Counter[str], *, is_json: bool) -> Any:
    """What replaces a value; None if nothing does. A field of JSON encrypts a new object itself."""
    if is_sealed(old.encode()):
        new = ring.renew(old.encode(), count).decode()
        if new == old or not is_json:
            return None if new == old else new
        renewed = json.loads(new)
        return renewed if ring.encrypts else json.loads(renewed[SEALED])
    if old in EMPTY or not ring.encrypts:
        return None
    count["clear"] += 1
    return json.loads(old) if is_json else ring.seal(old)
