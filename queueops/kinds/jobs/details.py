"""Details of jobs: their alarms, and what a callback is called in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from queueops.inspect.alarm import Alarm
from queueops.inspect.hits import LookUp
from queueops.inspect.kind_details import KindDetails, OtherId
from queueops.kinds.jobs import alarms
from queueops.kinds.jobs.aggregations.lane_names import AGGREGATION, DESTINATION
from queueops.model.sentences import marked

LANES = {AGGREGATION: "an aggregation", DESTINATION: "a destination of callbacks"}


class JobDetails(KindDetails):
    """The alarms of jobs, and the noun of callbacks."""

    lanes: ClassVar[Sequence[str]] = tuple(LANES)

    nouns: ClassVar[Mapping[str, tuple[str, str]]] = {"callback": ("callback", "callbacks")}

    stored: ClassVar[Sequence[str]] = (
        marked("The answer has the status %(number)s."),
        marked("There were more than %(number)s redirects."),
        marked("The connection failed: The host %(host)s has no address: %(error)s"),
        marked("The connection failed: %(reason)s"),
        marked("The request cannot be sent: A header has a line break."),
        marked("The body ended after %(number)s bytes, before it was complete: %(reason)s"),
        marked("The file cannot be stored: %(reason)s"),
        marked("The broker has confirmed nothing."),
        marked("Kafka says %(error)s."),
        marked("it is not a callback"),
        marked("discarded by an operator"),
        marked("The server has hung up without an answer."),
        marked("The server has hung up, or its chunks are wrong."),
        marked("Expected mime-type not to be (%(name)s), found (%(found)s)."),
        marked("Expected mime-type to be (%(name)s), found (%(found)s)."),
        marked("its host has the address %(id)s, which is %(kind)s, and not in a network of %(setting)s"),
        marked("%(id)s is %(kind)s, and not in a network of %(setting)s"),
        marked("The image ends before its size."),
        marked("The image has the size %(size)s."),
        marked("The image has no header."),
        marked("The image has no frame."),
        marked("The file has another checksum (%(name)s) than the answer says."),
        marked("The file is larger than %(number)s bytes."),
        marked("The body ended within its %(name)s data."),
        marked("The other side was silent for too long."),
        marked("No connection was made in time."),
        marked("TLS failed: %(error)s"),
        marked("The answer cannot be read: %(reason)s"),
        marked("It took longer than %(number)s s."),
    )

    def other_ids(self, id: str, found: LookUp) -> Iterator[OtherId]:
        """The aggregation, or the destination of callbacks, which are lanes."""
        for prefix, what in LANES.items():
            for lane in found.lanes:
                if lane.name == prefix + id or (lane.title == id and lane.name.startswith(prefix)):
                    words = ("list", "--pool", lane.about, "--lane", lane.name)
                    yield OtherId(f"{what} of the pool {lane.about}", words)

    def alarms(self, pool: str, sampled: Mapping[str, Any]) -> Iterator[Alarm]:
        """Destinations without callbacks, full disks, and files that stay."""
        return alarms.alarms(pool, sampled)


DETAILS = JobDetails()
