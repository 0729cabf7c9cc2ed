"""Actions on errors: a muted error raises no alarm for a time."""

from __future__ import annotations

from queueops.redis.broker import get_broker
from queueops.redis.reader import Reader


def mute_error(fingerprint: str, until_ms: int | None) -> None:
    """Let failures with this error raise no alarm in any pool until a time (epoch ms); None ends that.

    Failures of the last two minutes count as muted, too. A repeated call completes one that a broken or silent pool has
    stopped.
    """
    broker = get_broker()
    reader = Reader(broker)
    pools = reader.pools()
    reader.ensure_all()
    for pool in pools:
        broker.mute_error(pool, fingerprint, until_ms)
