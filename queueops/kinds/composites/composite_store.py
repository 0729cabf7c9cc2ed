"""Composite store: what chains, groups, iterators and templates call of the broker of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from queueops.model.ports import offered
from queueops.redis import broker as brokers

if TYPE_CHECKING:
    from queueops.model.contracts import Lease, LeaseRef, Node, Pushed
    from queueops.model.part_refs import PartRef


@runtime_checkable
class CompositeStore(Protocol):
    """Component that creates the tasks of composites, and names their parts."""

    def plant(self, nodes: Sequence[Node], *, durable: bool = False, under: LeaseRef | None = None) -> Pushed:
        """Create the tree of a composite and start it, or nothing.

        The same errors, and PartInUse and CompositePushExpired.
        """

    def emit(self, lease: Lease, nodes: Sequence[Node], answer: str, state: bytes) -> None:
        """Write what a running iterator or template returned; raises StaleLease and PartInUse."""

    def grow(self, under: LeaseRef, nodes: Sequence[Node], token: str) -> tuple[str, str]:
        """Add the parts below the first node to the group of a running task. Returns a word and a detail.

        Raises LeaseLost and PartInUse.
        """

    def parts(self, pool: str, task_id: str, *, last: bool = False) -> list[PartRef]:
        """The parts of a chain or a group in order, or only the last one. Raises BrokenPool."""


def get_composite_store() -> CompositeStore:
    """The broker of this process. Raises NotOffered."""
    store: CompositeStore = offered(brokers.get_broker(), CompositeStore, "composites")
    return store
