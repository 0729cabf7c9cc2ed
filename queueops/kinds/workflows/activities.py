"""Activities: tasks that a workflow calls. A worker runs each with the handler of the task."""

from __future__ import annotations

from queueops.model.ports import Handler
from queueops.tasks import registry

ACTIVITY = "activity"


def _handler(name: str) -> Handler | None:
    return registry.find("task", name)


registry.register_resolver(ACTIVITY, _handler)
