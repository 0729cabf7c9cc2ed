"""Activities: tasks that a workflow calls. A worker runs each with the handler of the task."""

from __future__ import annotations

import contextlib
from typing import Any

from queueops.kinds.workflows.replay import tracing
from queueops.model.ports import Handler
from queueops.model.trace_context import traceparent
from queueops.tasks import registry

ACTIVITY = "activity"


class Traced:
    """The handler of an activity, whose attempts have spans."""

    makes_spans = True

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def run(self, context: Any) -> Any:
        """Run the activity in its span; a coroutine if it is async."""
        if self._handler.is_async:
            return self._arun(context)
        with self._span(context):
            return self._handler.run(context)

    async def _arun(self, context: Any) -> Any:
        with self._span(context):
            return await self._handler.run(context)

    def _span(self, context: Any) -> contextlib.AbstractContextManager[None]:
        lease = context.lease
        return tracing.activity(lease.name, traceparent(lease.trace), lease.id, lease.attempt)


_traced: dict[str, tuple[Handler, Traced]] = {}


def _handler(name: str) -> Handler | None:
    handler = registry.find("task", name)
    if handler is None or tracing.otel is None:
        return handler
    known = _traced.get(name)
    if known is None or known[0] is not handler:
        known = _traced[name] = (handler, Traced(handler))
    traced: Any = known[1]
    return traced  # type: ignore[no-any-return]


registry.register_resolver(ACTIVITY, _handler)
