"""Pool name check: warns of a pool that the settings do not have, as no worker may serve it."""

from __future__ import annotations

from queueops import conf
from queueops.errors import advice
from queueops.model import warn_once

DEFAULT = "default"
_UNKNOWN = (
    "QUEUEOPS['POOLS'] does not have the pool %r, whose tasks wait until a worker serves it. Declare it with {%r: {}},"
    " or correct its name%s"
)


def warn_about(pool: str, settings: conf.Settings) -> None:
    """Warn of a pool that the settings do not have, once in a process."""
    if pool != DEFAULT and pool not in settings.pools:
        known = advice(pool, {DEFAULT, *settings.pools})
        warn_once.warn(("pool", pool), _UNKNOWN, pool, pool, known)
