"""Progress buffer: collects progress and log lines of running tasks, and sends them to the broker.

Time extensions are not sent: they go at once to the slots of this process. Tasks only add to the buffer. The
dispatcher sends it before it settles tasks, because a settled task accepts nothing.
Of several progress reports in a short time, only the last is sent. Of too many log lines, the first are sent.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from itertools import count

from queueops.errors import BrokerUnavailable, QueueOpsError
from queueops.model.contracts import Lease
from queueops.model.ports import Broker
from queueops.model.weights import counts_in_parent
from queueops.worker.execution.slot import Slot

EVERY = 0.1
"""Seconds between two sends while tasks run."""
MAX_LINES = 100
"""Log lines kept per task between two sends: as many as its log keeps."""
MAX_LINE = 2_000

logger = logging.getLogger("queueops.worker")


class Notes:
    """What one task has reported since the last send."""

    __slots__ = ("lease", "lines", "progress")

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.progress: tuple[float, float | None] | None = None
        self.lines: list[str] = []


class ProgressBuffer:
    """The buffer of all tasks of this process."""

    def __init__(self, broker: Broker, slot_of: Callable[[Lease], Slot | None] = lambda lease: None) -> None:
        """``slot_of`` gives the slot in which a task runs."""
        self._broker = broker
        self._slot_of = slot_of
        self._lock = threading.Lock()
        self._numbers = count(1)
        self.notes: dict[tuple[str, str, int], Notes] = {}

    def progress(self, lease: Lease, done: float, total: float | None) -> None:
        """Report this progress with the next send."""
        with self._lock:
            notes = self._of(lease)
            before = notes.progress[1] if notes.progress else None
            notes.progress = (done, before if total is None else total)

    def log(self, lease: Lease, text: str) -> None:
        """Add a line to the task's log."""
        with self._lock:
            lines = self._of(lease).lines
            if len(lines) < MAX_LINES:
                lines.append(text[:MAX_LINE])

    def extend(self, lease: Lease, seconds: float) -> None:
        """Move the task's time limit by this much."""
        if (slot := self._slot_of(lease)) is not None:
            slot.extend(lease, seconds)

    def set_deadline(self, lease: Lease, seconds: float) -> None:
        """Set the task's time limit to this many seconds from now."""
        if (slot := self._slot_of(lease)) is not None:
            slot.set_deadline(lease, seconds)

    def take(self, pool: str = "") -> list[Notes]:
        """Take what is to be sent now, of one pool or of all."""
        if not self.notes:
            return []
        with self._lock:
            taken = {key: notes for key, notes in self.notes.items() if pool in ("", key[0])}
            self.notes = {key: notes for key, notes in self.notes.items() if key not in taken}
        return list(taken.values())

    def send(self, notes: Iterable[Notes] | None = None) -> list[Lease]:
        """Send these notes, or everything; return the leases that this process no longer holds.

        In an outage the remaining notes are dropped; any other error drops only its own notes.
        """
        lost = []
        for note in self.take() if notes is None else notes:
            try:
                if not self._send(note):
                    lost.append(note.lease)
            except QueueOpsError as error:
                logger.debug("Notes of running tasks were dropped: %s", error)
                if isinstance(error, BrokerUnavailable):
                    break
        return lost

    def _of(self, lease: Lease) -> Notes:
        key = (lease.pool, lease.id, lease.fence)
        notes = self.notes.get(key)
        if notes is None:
            notes = self.notes[key] = Notes(lease)
        return notes

    def _send(self, note: Notes) -> bool:
        lease, word = note.lease, "OK"
        if note.progress is not None:
            word = self._send_progress(lease, *note.progress)
        for line in note.lines:
            text, number = line.encode("utf-8", "replace"), next(self._numbers)
            word = self._broker.note(lease.pool, lease.id, lease.fence, line=text, number=number)
        return word == "OK"

    def _send_progress(self, lease: Lease, done: float, total: float | None) -> str:
        """Send progress. A part's progress counts in its parent, unless the parent's kind counts its parts itself."""
        if counts_in_parent(lease.parent_id, lease.kind):
            return self._broker.advance(lease.pool, lease.id, lease.fence, done, total)
        return self._broker.note(lease.pool, lease.id, lease.fence, done=done, total=total)
