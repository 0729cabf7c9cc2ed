"""What the watchdog calls, and the snapshots that it leaves for the console."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from queueops.contracts import TickReport
from queueops.redis.link import BATCH, FORGET_WORKER_MS, LONGEST_SLEEP_MS, Link

LANES_SHOWN = 50


class Watching(Link):
    """Ticks, samples and snapshots."""

    def tick(self, pool: str, limit: int = BATCH) -> TickReport:
        """One round of the watchdog on a pool: at most ``limit`` entries of its agenda."""
        reply = self._call(
            "tick", pool, limit, self.settings.retention_cap, FORGET_WORKER_MS, LONGEST_SLEEP_MS, self.rules
        )
        words = iter(reply[1:])
        return TickReport({word.decode(): count for word, count in zip(words, words, strict=True)}, int(reply[0]))

    def sample(self, pool: str) -> bytes:
        """The figures of a pool at this moment, as JSON (see ``lua/sample.lua``)."""
        sampled: bytes = self._call("sample", pool, LANES_SHOWN, "", 0)
        return sampled

    def draw(self, pool: str, holder: str, ms: int) -> bool:
        """Leave a sample as the snapshot that every page reads. False when another watchdog did, within ``ms``."""
        return bool(self._call("sample", pool, LANES_SHOWN, holder, max(1, ms)))

    def snapshots(self, names: Iterable[str]) -> dict[str, bytes | None]:
        """The snapshots of pools, in one round trip where they share a server; None where there is none to be read."""
        names = list(names)

        def read() -> list[bytes | None]:
            with self.client.pipeline(transaction=False) as pipe:
                for pool in names:
                    pipe.get(self.keys(pool).snapshot)
                return [_if_text(reply) for reply in pipe.execute(raise_on_error=False)]

        return dict(zip(names, self._repeat(read), strict=True))


def _if_text(reply: Any) -> bytes | None:
    """A reply of a pipeline; None in place of what a key of another type would have answered."""
    if isinstance(reply, Exception) and "WRONGTYPE" not in str(reply):
        raise reply
    return reply if isinstance(reply, bytes) else None
