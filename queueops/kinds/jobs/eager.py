"""Jobs in eager mode: each runs within its submission. No callback is sent."""

from __future__ import annotations

from collections.abc import Sequence

from queueops.eager.broker import EagerBroker
from queueops.errors.jobs import FingerprintDiffers
from queueops.kinds.jobs.store import NewJob
from queueops.model.contracts import LeaseRef, Push, Pushed

CALLBACKS, FINGERPRINT = "fu", "fp"
"""Fields of the record."""


class EagerJobs(EagerBroker):
    """Runs the handlers of jobs. Limits and rates of aggregations have no effect."""

    def submit_jobs(self, pool: str, jobs: Sequence[NewJob], *, under: LeaseRef | None = None) -> list[Pushed]:
        """Run the jobs, one after the other. Raises FingerprintDiffers, and UnknownTask for a handler without code."""
        for job in jobs:
            known, wanted = self.record(pool, job.push.id), dict(job.push.own).get(FINGERPRINT)
            if known is not None and wanted and known.own.get("job_fingerprint", wanted) != wanted:
                raise FingerprintDiffers(id=job.push.id)
        return [self._submit(job.push) for job in jobs]

    def _submit(self, push: Push) -> Pushed:
        if (known := self.record(push.pool, push.id)) is not None:
            return Pushed(push.id, known.uid, "EXISTS")
        push.own = tuple((name, value) for name, value in push.own if name != CALLBACKS)
        (pushed,) = self.push([push])
        return pushed
