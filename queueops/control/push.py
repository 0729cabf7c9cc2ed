"""Push by an operator: a call of a task whose code this process has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queueops.model.contracts import Row
from queueops.model.ids import check_id
from queueops.tasks.declared_schedules import find_task

__all__ = ["push_task"]


def push_task(
    name: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    id: str = "",
    delay: float = 0.0,
    **options: Any,
) -> Row:
    """Push a call of the task `name`; its arguments are JSON values, converted by the annotations as at a run.

    The task starts after `delay` seconds. `options` are those of `using`. With `id`, a repeated call pushes nothing; a
    task with ids of its own keeps these. Raises UnknownTask, BadId, UnknownOption, BadOption, and what a push raises.
    """
    task = find_task(name)
    if id and task.unique is None:
        options["id"] = check_id(id)
    found, named = task.handler.plan.decode(msgspec.json.encode([list(args), dict(kwargs or {})]))
    target: Any = getattr(task.handler, "cls", task)  # a class has the methods of a task
    made = target.using(**options) if options else target
    handle = made.postpone(delay, *found, **named) if delay else made.push(*found, **named)
    return Row(handle.id, "OK", "postponed" if delay else "pending", handle.pool)  # detail: the pool of the task
