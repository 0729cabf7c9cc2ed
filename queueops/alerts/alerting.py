"""Alerting: sends messages about alarms, in a thread of the watchdog's process, and not as a task.

So a missing worker and hung slots reach a person, too. The state is in the store. One of several watchdogs has the
turn. It notes a message before it sends it, so after a crash the next one sends the same message again. Without the
store, each watchdog sends on its own, from what it read last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable

from queueops import conf
from queueops.alerts import channels
from queueops.alerts.alarm import alarms_now
from queueops.alerts.message import of_incident
from queueops.alerts.rules import next_step
from queueops.alerts.state import Memory, TurnLost
from queueops.conf.alert_settings import AlertSettings
from queueops.inspect import Alarm
from queueops.model.alerts import Incident, Line, TargetState
from queueops.model.ids import new_id
from queueops.model.sentences import masked
from queueops.model.stored_sentences import packed
from queueops.redis.broker import get_broker

EVERY_S = 5.0
MOST_ATTEMPTS = 8
FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 300.0
"""Seconds between the attempts of a message: doubled after each."""
STOP_WITHIN_S = 1.0

Look = Callable[[], tuple[list[Alarm], Collection[str]]]

logger = logging.getLogger("queueops.alerts")


class Alerting:
    """Looks at the alarms every few seconds, until it is stopped. No error ends it."""

    def __init__(self, *, every_s: float = EVERY_S, look: Look = alarms_now) -> None:
        """``look`` gives the alarms of now, and the pools whose alarms are not known."""
        self.turned_at = time.monotonic()
        """When the last round ended."""
        self._every_s = every_s
        self._look = look
        self._memory = Memory(get_broker(), f"watchdog-{new_id()}")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queueops-alerts", daemon=True)
        self._error = ""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current message."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(STOP_WITHIN_S)

    def round(self) -> int:
        """Look at the alarms once; return how many messages were sent."""
        settings = conf.current().alerts
        with self._memory.turn() as has_turn:
            if not has_turn:
                return 0
            alarms, unread = self._look()
            memory = self._memory
            numbers = {id: each.number for id, each in memory.incidents.items()}
            changed = next_step(
                settings.rules, alarms, memory.incidents, memory.silences, memory.now_ms(), unread=unread
            )
            new = [each for id, each in changed.items() if each and each.number > numbers.get(id, 0)]
            memory.keep(changed, lines=[_line(each) for each in new])
            sent = sum(self._send(settings, incident, target) for incident, target in self._due(settings))
            memory.note_undelivered()
            return sent

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self.round()
                self._error = ""
            except TurnLost:
                logger.info("Another watchdog has taken the turn to send alerts")
            except Exception as error:  # the next round tries again; a lasting error is logged once
                if self._error != (said := f"{type(error).__name__}: {error}"):
                    logger.exception("Alerts could not be sent, and are tried again")
                self._error = said
            self.turned_at = time.monotonic()
            self._ended.wait(self._every_s)

    def _due(self, settings: AlertSettings) -> Iterable[tuple[Incident, str]]:
        """What is to be sent now; first what has failed least: a silent target does not delay the others."""
        now = self._memory.now_ms()
        found = [
            (attempts.failed, incident, target)
            for incident in list(self._memory.incidents.values())
            for target, attempts in incident.waiting.items()
            if attempts.due_ms <= now
        ]
        for _, incident, target in sorted(found, key=lambda each: each[0]):
            if self._ended.is_set():
                return
            yield incident, target

    def _send(self, settings: AlertSettings, incident: Incident, name: str) -> bool:
        """Make one attempt, and store its outcome."""
        target, memory = settings.targets.get(name), self._memory
        if target is None:  # it has left the settings
            del incident.waiting[name]
            memory.keep({incident.id: incident})
            return False
        failure = channels.send(target, of_incident(incident))
        now = memory.now_ms()
        lines = []
        state = memory.targets.get(name, TargetState())
        if failure is None:
            del incident.waiting[name]
            incident.told = sorted({*incident.told, name})
            state = TargetState(ok_ms=now)
            logger.info("Alert sent to %s: %s", name, incident.text)
        else:
            attempts = incident.waiting[name]
            attempts.failed, attempts.error = attempts.failed + 1, failure.error
            attempts.due_ms = now + round(1000 * min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (attempts.failed - 1)))
            logger.warning("Alert not sent to %s (attempt %d): %s", name, attempts.failed, failure.error)
            if failure.is_final or attempts.failed >= MOST_ATTEMPTS:
                del incident.waiting[name]
                state = TargetState(ok_ms=state.ok_ms, failed_ms=now, lost=state.lost + 1, error=failure.error)
                lines.append(_line(incident, what="given up", target=name, error=failure.error))
        memory.keep({incident.id: incident}, {name: state} if failure is None or lines else {}, lines)
        return failure is None


def _line(incident: Incident, *, what: str = "", target: str = "", error: str = "") -> Line:
    text = masked(incident.shown, conf.redactor().text)
    return Line(
        at_ms=incident.sent_ms,
        what=what or incident.status,
        rule=incident.rule,
        text=str(text),
        sentence=packed(text),
        target=target or ", ".join(incident.waiting),
        error=error,
    )
