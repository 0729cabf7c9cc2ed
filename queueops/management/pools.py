"""The pools of the code's own tasks, and which of them a worker leaves to others."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from queueops.tasks import registry


def left_out(served: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each pool that a task of this code is pushed to and that is not served, with the name of such a task."""
    found: dict[str, str] = {}
    for handler in registry.handlers().values():
        options = getattr(getattr(handler, "task", None), "options", None)
        if options is not None and options.pool not in served:
            found.setdefault(options.pool, handler.name)
    yield from sorted(found.items())
