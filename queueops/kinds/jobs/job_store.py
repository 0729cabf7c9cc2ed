"""Port of the store that takes jobs: the broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from queueops.kinds.jobs.store import NewJob
from queueops.model.contracts import LeaseRef, Pushed
from queueops.model.ports import offered
from queueops.redis import broker as brokers


@runtime_checkable
class JobStore(Protocol):
    """What `queueops.jobs` calls."""

    def submit_jobs(self, pool: str, jobs: Sequence[NewJob], *, under: LeaseRef | None = None) -> list[Pushed]:
        """Create jobs of one pool; the word of each is OK, REPEAT or EXISTS.

        Raises AggregationDrains, FingerprintDiffers, IdInUse, LeaseLost, BrokerUnavailable and StoreFull.
        """


def get_job_store() -> JobStore:
    """The broker of this process. Raises NotOffered."""
    store: JobStore = offered(brokers.get_broker(), JobStore, "jobs")
    return store
