"""Actions on errors: a muted error raises no alarm for a time."""

from __future__ import annotations

from queueops.errors import BadOption
from queueops.model.ids import check_lane
from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader

TIMES_MS = range(10**11, 10**15)
"""Times in milliseconds. A time in seconds is below, and would be over at once."""


def mute_error(fingerprint: str, until_ms: int | None) -> None:
    """Let failures with this error raise no alarm in any pool until a time (epoch ms); None ends that.

    Failures of the last two minutes count as muted, too. A repeated call completes one that a broken or silent pool has
    stopped, and mutes the error in pools that began later. The store forgets it with the error: 30 days after its last
    failure, or with 1,000 newer ones in the pool.
    Raises BadId and BadOption.
    """
    check_lane(fingerprint, "fingerprint of an error")
    if until_ms is not None and not _is_time(until_ms):
        expected = "a whole number of milliseconds since 1970, or None"
        raise BadOption(name="until_ms", value=until_ms, expected=expected)
    broker = get_broker()
    reader = Reader(broker)
    pools = reader.pools()
    reader.ensure_all()
    for pool in pools:
        broker.mute_error(pool, fingerprint, until_ms)


def _is_time(value: object) -> bool:
    return isinstance(value, int) and value in TIMES_MS
