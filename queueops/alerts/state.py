"""Alert state: what a watchdog knows of the incidents, kept in the store, and in memory while the store is away."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from queueops import conf
from queueops.errors import QueueOpsError
from queueops.model.alerts import Incident, Line, Silence, TargetState, Undelivered
from queueops.redis.broker.alerts import AlertCalls

TURN_MS = 60_000
"""How long a watchdog that dies keeps the turn. One attempt to send takes less."""
NOTE_EVERY_S = 60.0
MOST_LINES = 50
"""Lines of the history that are kept while the store is away."""

logger = logging.getLogger("queueops.alerts")


class TurnLost(Exception):
    """Another watchdog has the turn: this one was stopped for too long."""


class Memory:
    """The state of alerts as one watchdog knows it. While the store is away, it is written later."""

    def __init__(self, broker: AlertCalls, holder: str) -> None:
        """``holder`` is the name of the watchdog."""
        self._broker = broker.hasty()
        self._holder = holder
        self._ahead_ms = 0  # of the store's clock
        self._is_away = False
        self._later: dict[str, Incident | None] = {}
        self._later_targets: dict[str, TargetState] = {}
        self._later_lines: list[Line] = []
        self._noted: dict[str, TargetState] = {}
        self._noted_at = 0.0
        self.incidents: dict[str, Incident] = {}
        self.silences: dict[str, Silence] = {}
        self.targets: dict[str, TargetState] = {}

    def now_ms(self) -> int:
        """The time of the store, as far as it is known."""
        return round(time.time() * 1000) + self._ahead_ms

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Whether this watchdog sends now: it has the turn, or the store is away."""
        try:
            has_turn = self._broker.take_alert_turn(self._holder, TURN_MS)
            if has_turn:
                self._load()
        except QueueOpsError as error:
            has_turn = True
            self._leave(error)
        try:
            yield has_turn
        finally:
            if has_turn and not self._is_away:
                with suppress(QueueOpsError):  # it ends by itself
                    self._broker.end_alert_turn(self._holder)

    def keep(
        self,
        incidents: Mapping[str, Incident | None],
        targets: Mapping[str, TargetState] = {},
        lines: Sequence[Line] = (),
    ) -> None:
        """Change incidents (None: it is over) and target states. Raises TurnLost."""
        for id, incident in incidents.items():
            if incident is None:
                self.incidents.pop(id, None)
            else:
                self.incidents[id] = incident
        self.targets |= targets
        if not self._is_away:
            try:
                if not self._broker.keep_alerts(self._holder, TURN_MS, incidents, targets, lines):
                    raise TurnLost
                return
            except QueueOpsError as error:
                self._leave(error)
        self._later |= incidents
        self._later_targets |= targets
        self._later_lines = [*self._later_lines, *lines][-MOST_LINES:]

    def note_undelivered(self) -> None:
        """Note targets whose messages were given up in a pool, whose alarms then tell of them."""
        known = conf.current().alerts.targets
        lost = {name: state for name, state in self.targets.items() if state.lost and name in known}
        is_old = time.monotonic() - self._noted_at > NOTE_EVERY_S
        if self._is_away or (lost == self._noted and not (lost and is_old)):
            return
        with suppress(QueueOpsError):  # the next round tries again
            for pool in self._broker.pools()[:1]:
                self._broker.leave_undelivered(pool, Undelivered(at=self.now_ms(), targets=lost) if lost else None)
            self._noted, self._noted_at = lost, time.monotonic()

    def _load(self) -> None:
        state = self._broker.alert_state()
        self._ahead_ms = state.now_ms - round(time.time() * 1000)
        self.incidents, self.silences, self.targets = state.incidents, state.silences, state.targets
        if self._is_away:
            logger.info("Alerts have the store again")
            self._is_away = False
        if self._later or self._later_lines:
            changes = {id: mine for id, mine in self._later.items() if _is_newer(mine, state.incidents.get(id))}
            targets, lines = self._later_targets, self._later_lines
            self._later, self._later_targets, self._later_lines = {}, {}, []
            self.keep(changes, targets, lines)
        self._forget_silences()

    def _forget_silences(self) -> None:
        """Silences end by time, acknowledgements with their alarm."""
        keys, now = {incident.key for incident in self.incidents.values()}, self.now_ms()
        over = {
            name: None
            for name, silence in self.silences.items()
            if (silence.until_ms or now) < now or not (silence.until_ms or name in keys)
        }
        if over:
            self._broker.change_silences(over)
            self.silences = {name: silence for name, silence in self.silences.items() if name not in over}

    def _leave(self, error: QueueOpsError) -> None:
        if not self._is_away:
            logger.warning("Alerts cannot use the store, and are sent without it, perhaps twice: %s", error)
        self._is_away = True


def _is_newer(mine: Incident | None, stored: Incident | None) -> bool:
    """Whether what this watchdog did without the store counts: another one may have done more."""
    return stored is None or mine is None or mine.sent_ms >= stored.sent_ms
