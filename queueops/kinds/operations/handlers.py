"""Handler of operations: a worker performs the parts one after the other, until the operation ends or is paused.

The store writes place and counts with the changes of each part. If the worker dies, the next one goes on from there.
"""

from __future__ import annotations

from time import sleep
from typing import Any

import msgspec

from queueops.errors import NotDecodable, StaleLease
from queueops.kinds.operations.order import OPERATION, Order, Step
from queueops.kinds.operations.store import OperationCalls
from queueops.model.contracts import Row
from queueops.model.states import State
from queueops.redis.broker import get_role
from queueops.tasks import registry
from queueops.tasks.context import Context
from queueops.tasks.encoding import decode_arguments
from queueops.tasks.store_call import write

REST_S = 0.0005
"""So long the operation rests after each part, which takes the store a millisecond: other work comes in between."""
PAUSED_S = 5.0
"""So long a paused operation gives its slot back before it looks again. A resume starts it at once."""


class OperationHandler:
    """Performs the operations of a pool."""

    kind = OPERATION
    name = OPERATION
    is_async = False
    retry_on = (Exception,)

    def run(self, context: Context) -> Any:
        """Perform the operation from its place on; the result has the counts."""
        order, lease, calls = order_of(context.lease.name, context.lease.args), context.lease, get_role(OperationCalls)
        while True:
            step = write(context, calls.operate, lease.pool, lease.id, lease.fence, order, tells=registry.kinds_told())
            registry.tell_cancelled(lease.pool, order.verb, _rows(step))
            match step.word:
                case "STALE":
                    raise StaleLease(id=lease.id, fence=lease.fence)
                case "STOP":
                    context.cancel()
                case "HELD":
                    context.restart(PAUSED_S)
                case "END":
                    context.progress(step.seen, step.seen)
                    return {"seen": step.seen, "changed": step.changed}
            context.progress(step.seen, max(order.most, step.seen))
            if context.cancelled:
                context.cancel()
            sleep(REST_S)


def _rows(step: Step) -> list[Row]:
    return [Row(id=id, word="OK", state=State.CANCELLED) for id in step.cancelled]


def order_of(name: str, args: bytes) -> Order:
    """The order in the arguments of an operation's task. Raises NotDecodable."""
    _, content = decode_arguments(name, args)
    try:
        return msgspec.convert(content, Order)
    except msgspec.ValidationError as error:
        raise NotDecodable(what="arguments", name=name, reason=str(error)) from error


OPERATIONS = OperationHandler()
registry.register_resolver(OPERATION, lambda name: OPERATIONS if name == OPERATION else None)
