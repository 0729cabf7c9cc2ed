"""Rotation of the keys of QUEUEOPS['ENCRYPTION']."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.redis.broker import get_broker


class NoKeys(QueueOpsError, LookupError):
    """QUEUEOPS['ENCRYPTION'] has no key, so nothing can be encrypted. Put a key into it, in all processes."""


def reencrypt(pool: str, *, dry_run: bool = False) -> Iterator[Counter[str]]:
    """Put the encrypted values of a pool under the first key, in steps; values of records in clear are encrypted, too.

    Each step counts what it found: `keys` of the store, values under the `current` key, an `old` or an `unknown` one,
    those in `clear`, and those that it `changed`. Raises NoKeys, NotOffered and BrokerUnavailable.
    """
    ring, broker = conf.keyring(), get_broker()
    if ring is None:
        raise NoKeys
    raw = type(broker)(replace(conf.current(), encryption=()))  # its replies stay encrypted
    try:
        yield from raw.reencrypt(pool, ring, dry_run=dry_run)
    finally:
        raw.close()
