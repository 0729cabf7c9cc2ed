"""WRONGTYPE handling: in replies of a pipeline, a key of a wrong type counts as empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WRONGTYPE = "WRONGTYPE"


def right(reply: Any) -> Any:
    """A reply of a pipeline; None if its key is of a wrong type. Raises any other error."""
    if not isinstance(reply, Exception):
        return reply
    if WRONGTYPE in str(reply):
        return None
    raise reply


def replies(client: Any, fill: Callable[[Any], object], *, transaction: bool = False) -> list[Any]:
    """The replies to the commands that ``fill`` puts into a pipeline; None for each key of a wrong type."""
    with client.pipeline(transaction=transaction) as pipe:
        fill(pipe)
        return [right(reply) for reply in pipe.execute(raise_on_error=False)]
