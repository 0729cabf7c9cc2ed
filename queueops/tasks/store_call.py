"""Store writes of a running task: restarts the task later if the store is full or unreachable."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from queueops.errors import BrokerUnavailable, StoreFull
from queueops.tasks.context import Context

AGAIN_S = 5.0

Params = ParamSpec("Params")
Answer = TypeVar("Answer")


def write(context: Context, call: Callable[Params, Answer], *args: Params.args, **kwargs: Params.kwargs) -> Answer:
    """Make a call of the store. If the store is full or unreachable, the task restarts later, without using an attempt.

    The next start erases, or finds, what the call may have written.
    """
    try:
        return call(*args, **kwargs)
    except (StoreFull, BrokerUnavailable) as error:
        context.log(f"{error} It begins again in {AGAIN_S:g} s.")
        context.restart(AGAIN_S)
