"""Error classes of jobs and aggregations. See ``errors``."""

from __future__ import annotations

from queueops.errors import QueueOpsError


class AggregationDrains(QueueOpsError):
    """The aggregation {id} takes no jobs: it is drained. Submit the job later, or let it accept jobs again.

    No job of the call, or of its batch of 1,000, was created.
    """

    id: str
    pool: str


class FingerprintDiffers(QueueOpsError):
    """The id {id!r} belongs to a job that was submitted with another content. Submit new content with another id.

    No job of the call, or of its batch of 1,000, was created.
    """

    id: str


class AggregationInUse(QueueOpsError):
    """The aggregation {id} is not deleted: {count} jobs are kept there. Delete them, or wait for their retention."""

    id: str
    count: int
