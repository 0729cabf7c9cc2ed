"""Status: whether everything is well, and if not, what is wrong, the worst first.

It costs two round trips to each server: the list of pools, then the snapshots, workers and INFO together. Pools without
a fresh snapshot cost another one. Each process keeps the last answer, so that many pages cost one reading a second.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from time import monotonic

import msgspec

from queueops.errors import QueueOpsError
from queueops.errors.kinds import NotOffered
from queueops.inspect.alarm import CHECK, Alarm, danger, manage, warning
from queueops.inspect.answers import Answer
from queueops.inspect.redaction import conceals
from queueops.inspect.snapshot import WORKERS, Snapshot, pools_and_alarms
from queueops.inspect.store import open_reader
from queueops.inspect.throughput import PoolView
from queueops.model.explained import sentence_of
from queueops.model.sentences import Sentence, encodable, say

KEPT_S, POOLS_KEPT_S = 1.0, 10.0
"""So long one answer serves all pages, and one list of pools all answers."""


class Status(Answer, frozen=True, kw_only=True):
    """The alarms of the whole system, the worst first; `version` changes with all that is told."""

    version: str
    alarms: tuple[Alarm, ...] = ()
    has_worker: bool = True  # whether a worker is running, in any pool

    @property
    def is_well(self) -> bool:
        """Whether there is no alarm."""
        return not self.alarms

    @property
    def urgent(self) -> int:
        """The number of alarms whose condition stops or loses work."""
        return sum(alarm.level == "danger" for alarm in self.alarms)

    @property
    def level(self) -> str:
        """The level of the worst alarm: danger or warning; without one well, or idle if no worker is running."""
        return self.alarms[0].level if self.alarms else "well" if self.has_worker else "idle"


class _Kept:
    """The last answer of this process for one namespace of a store and what its reader may see; the list of pools."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.at = self.named_at = float("-inf")
        self.status = Status(version="")
        self.names: list[str] = []


_kept: dict[tuple[tuple[str, str, str], bool], _Kept] = {}


def status(max_age_s: float = 0.0) -> Status:
    """The alarms now, or at most `max_age_s` seconds ago. A store that does not answer is an alarm.

    So is one that offers no lists: the console cannot tell whether work waits.
    """
    try:
        place = open_reader().settings.place
    except NotOffered as error:
        return _made((warning(_unknown(error), "health", manage("queueops", "doctor")),))
    kept = _kept.setdefault((place, conceals()), _Kept())
    with kept.lock:
        if monotonic() - kept.at > max_age_s:
            kept.status = _read(kept, max_age_s)
            kept.at = monotonic()
        return kept.status


def status_of(found: Snapshot) -> Status:
    """The status in a snapshot."""
    return _made(found.alarms, found.pools)


def _read(kept: _Kept, max_age_s: float) -> Status:
    reader = open_reader()
    try:
        if not max_age_s or monotonic() - kept.named_at > POOLS_KEPT_S:
            kept.names, kept.named_at = reader.pools(), monotonic()
        pools, alarms = pools_and_alarms(reader, kept.names, reader.glance(kept.names, WORKERS))
        return _made(alarms, pools)
    except QueueOpsError as error:
        return _made((danger(_unknown(error), "health", manage(*CHECK)),))


def _unknown(error: QueueOpsError) -> Sentence:
    return say("The state of the system is unknown: %(error)s", error=sentence_of(error))


def _made(alarms: tuple[Alarm, ...], pools: Sequence[PoolView] | None = None) -> Status:
    """The status of these alarms and pools; None: the pools are not known."""
    has_worker = pools is None or any(pool.workers for pool in pools)
    digest = hashlib.sha1(msgspec.json.encode(alarms, enc_hook=encodable), usedforsecurity=False).hexdigest()
    version = digest[:16] if has_worker else f"{digest[:16]}-idle"
    return Status(version=version, alarms=alarms, has_worker=has_worker)
