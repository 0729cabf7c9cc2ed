"""Pools without a worker: compares the pools of the code's tasks with the pools that a worker serves."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from queueops.tasks import registry


def left_out(served: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each pool of this code's tasks that the worker does not serve, with the name of such a task."""
    found: dict[str, str] = {}
    for handler in registry.handlers().values():
        options = getattr(getattr(handler, "task", None), "options", None)
        if options is not None and options.pool not in served:
            found.setdefault(options.pool, handler.name)
    yield from sorted(found.items())
