"""Encrypted values: a sample of the store, and whether the keys of the settings open them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from queueops import conf, control
from queueops.inspect.store import open_reader
from queueops.management.doctor.finding import FAIL, OK, WARN, Finding

STEPS, STEPS_WITHOUT_KEY, POOLS = 20, 3, 10
"""How many steps of a walk are made in a pool, and in how many pools: about 100 keys each."""


NEXT = "If all processes have the keys, put one of them first. To turn encryption off: manage.py queue reencrypt"


def findings() -> Iterator[Finding]:
    """One finding."""
    ring = conf.keyring_to_read()
    found: Counter[str] = Counter()
    for pool in open_reader().pools()[:POOLS]:
        for count in islice(control.reencrypt(pool, dry_run=True), STEPS if ring else STEPS_WITHOUT_KEY):
            found.update(count)
    seen = f"Of values in {found['keys']:,} keys of the store, "
    if found["unknown"]:
        remedy = "Put their key back into QUEUEOPS['ENCRYPTION'], as the last one, in all processes."
        yield Finding(
            "encryption", FAIL, f"{seen}{found['unknown']:,} are encrypted under a key that is missing.", remedy
        )
    elif ring is None:
        yield Finding("encryption", OK, "QUEUEOPS['ENCRYPTION'] has no key: values are stored in clear.")
    elif not ring.encrypts:
        told = "QUEUEOPS['ENCRYPTION'] begins with None: values are stored in clear."
        yield Finding("encryption", WARN, f"{told} {seen}{found['old']:,} are encrypted.", NEXT)
    elif found["old"] or found["clear"]:
        told = f"{seen}{found['old']:,} are encrypted under an older key, and {found['clear']:,} are in clear."
        yield Finding("encryption", WARN, told, "manage.py queue reencrypt")
    else:
        yield Finding("encryption", OK, f"{seen}all {found['current']:,} are encrypted under the first key.")
