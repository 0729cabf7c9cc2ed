"""Django signals about the end of a chain, a group or an iterator: public names of `queueops.signals`."""

from __future__ import annotations

from django.dispatch import Signal

__all__ = ["composite_cancelled", "composite_failed", "composite_succeeded"]

composite_succeeded = Signal()
composite_failed = Signal()
composite_cancelled = Signal()
