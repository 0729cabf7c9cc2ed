"""Operation store: what operations call of the broker of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from queueops.kinds.operations.order import Order, Step


class OperationStore(Protocol):
    """Component that performs the parts of operations, and pauses them."""

    def operate(self, pool: str, id: str, fence: int, order: Order, *, tells: Sequence[str] = ()) -> Step:
        """Perform the next part under the lease of the operation's task.

        The step names the tasks of the kinds in ``tells`` that it cancelled.
        """

    def hold_operation(self, pool: str, id: str, *, holds: bool, who: str = "") -> tuple[str, str]:
        """Pause an operation, or let it go on. Returns the word (OK, REPEAT, REFUSED, GONE) and its state."""
