"""Watchdog: agenda, lease recovery, retention and the sampler. Run one or more; several do no harm."""

from queueops.watchdog.watchdog import Watchdog

__all__ = ["Watchdog"]
