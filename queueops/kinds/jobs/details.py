"""Details of jobs: their alarms, and what a callback is called in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from queueops.inspect.alarm import Alarm
from queueops.inspect.kind_details import KindDetails
from queueops.kinds.jobs import alarms


class JobDetails(KindDetails):
    """The alarms of jobs, and the noun of callbacks."""

    nouns: ClassVar[Mapping[str, tuple[str, str]]] = {"callback": ("callback", "callbacks")}

    def alarms(self, pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
        """Destinations without callbacks, full disks, and files that stay."""
        return alarms.alarms(pool, sampled)


DETAILS = JobDetails()
