"""Watchdog: once a second, ticks on each pool's agenda, the firing of schedules, and a snapshot of each pool's figures.

A tick claims its work inside its script, so any number of watchdogs may run. Workers process the agenda too. The
watchdog recovers tasks when no worker is left, ends retentions in quiet times, and writes the console's figures.
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable, Iterable

import msgspec

from queueops.conf import redactor
from queueops.errors import BrokenPool, BrokerUnavailable, StoreFull
from queueops.model.contracts import TickReport
from queueops.model.faults import Faults
from queueops.model.ids import new_id
from queueops.model.ports import Duty, Upkeep
from queueops.model.redact import cut
from queueops.pool_messages.dispatcher import Outbox
from queueops.redis.query_replies import text
from queueops.redis.store_client import BATCH
from queueops.watchdog.history_rollup import HistoryRollup
from queueops.watchdog.log_once import LogOnce
from queueops.watchdog.losses import Losses
from queueops.watchdog.marks import Look, Marks
from queueops.watchdog.old_libraries import OldLibraries
from queueops.watchdog.rolling_check import RollingCheck
from queueops.watchdog.schedule_firing import duty as firing
from queueops.watchdog.servers import Servers

PERIOD_S = 1.0
LANES_EVERY_S = 10.0
TICKS_A_ROUND = 20
"""Ticks on one pool before the next pool's turn: a pool with much to do does not delay the others."""
LONGEST_BACKOFF_S = 5.0
CLOSE_WITHIN_S = 0.5
"""Seconds that commands in progress have to finish at the end."""
BROKEN, MENDED = "broken key ", "mended key "
TOLD = ("recovered", "broken", "forgotten", "trimmed", "lost part", "lost parent")

logger = logging.getLogger("queueops.watchdog")


class Watchdog:
    """Makes rounds until it is stopped. An outage of Redis does not end it; a store that refuses the library does."""

    def __init__(
        self,
        broker: Upkeep,
        *,
        pools: Iterable[str] = (),
        period_s: float = PERIOD_S,
        has_code: bool = False,
        duties: Iterable[Duty] | None = None,
        found: Callable[[], list[str]] | None = None,
        server: str = "",
        losses: Losses | None = None,
        look: Look | None = None,
    ) -> None:
        """Watch ``pools``; without any, all existing pools (those ``found``).

        ``duties``: by default the firing of schedules; ``has_code``: it knows the code of the project. ``server`` is
        named in the log, where each server has its own watchdog. ``look`` reads the alarms and workers that the history
        has marks of.
        """
        self.broker = broker
        self.name = f"watchdog-{new_id()}"
        self.period_s = period_s
        self.turned_at = time.monotonic()
        """When the loop last began a round, whether Redis answers or not."""
        self._chosen = tuple(pools)
        self._found = found or self._listed
        self._place = f" at {server}" if server else ""
        self._known: list[str] = []
        self._undeclared = set(self._chosen)  # pools whose lanes still need the settings' limits
        self._looked = 0.0
        self._failures = 0
        self._faults: dict[str, dict[str, str]] = {}
        self._has_begun = False
        self._unbegun: list[tuple[str, Duty]] = []
        self._begin_at = 0.0
        self._commands = Outbox(broker)
        self._complaints = LogOnce()
        self._rolling_check = RollingCheck(broker, self._complaints)
        self._losses = losses or Losses(broker)
        self._old_libraries = OldLibraries(broker)
        self._history = HistoryRollup(broker)
        self._look = look
        self._marks = Marks(broker, look)
        self._duties: tuple[Duty, ...] = (firing(broker, has_code=has_code),) if duties is None else tuple(duties)
        self._stopped = False

    def stop(self) -> None:
        """Stop after the current round. Safe to call from a signal handler."""
        self._stopped = True

    def run(self) -> None:
        """Make rounds until stopped, in one thread for each server of a cluster. Raises LibraryRefused."""
        logger.info("watchdog started")
        if self.broker.spread:
            Servers(self._by_server, self._of_server).run(self._is_over)
        else:
            self.watch()
        logger.info("watchdog stopped")

    def watch(self) -> None:
        """Make rounds until stopped. Raises LibraryRefused if the store refuses the Lua library at the start."""
        while not self._is_over():
            self._rest(self._guarded_round())
        self._commands.close(CLOSE_WITHIN_S)

    def _is_over(self) -> bool:
        """Whether the watchdog was stopped; notes that its loop still turns."""
        self.turned_at = time.monotonic()
        return self._stopped

    def _by_server(self) -> dict[str, list[str]]:
        """The pools to watch by server, with the pools that so far only the code names.

        A pool whose slot no server has is logged, and waits; the others do not.
        """
        names = self._chosen or sorted({*self._found(), *self._named()})
        found, homeless = self.broker.homes(names)
        for pool, reason in homeless.items():
            self._complaints.fault(pool, "server", f"it is not watched over: {reason}")
        return found

    def _of_server(self, server: str, pools: Callable[[], list[str]]) -> Watchdog:
        """The watchdog of one server."""
        return Watchdog(
            self.broker,
            period_s=self.period_s,
            duties=[duty.within(pools) for duty in self._duties],
            found=pools,
            server=server,
            losses=self._losses,
            look=self._look,
        )

    def _rest(self, seconds: float) -> None:
        """Sleep in short parts: an Event cannot be set from a signal handler that interrupts its own wait.

        A duty that becomes due meanwhile is done on time.
        """
        end = time.monotonic() + seconds
        while not self._stopped and (left := end - time.monotonic()) > 0:
            if (ahead := min((duty.ahead_s() for duty in self._duties), default=left)) > 0:
                time.sleep(min(left, 0.25, ahead))
            elif self._failures:
                time.sleep(min(left, 0.25))
            else:
                self._act_between_rounds()

    def _act_between_rounds(self) -> None:
        for duty in self._duties:
            for pool in duty.due_pools():
                try:
                    self._guarded(pool, duty.doing, duty.act)
                except BrokerUnavailable:
                    logger.debug("to %s pool %s waits for the next round", duty.doing, pool)

    def _guarded_round(self) -> float:
        """Make one round; return how many seconds to wait for the next.

        An unreachable or full Redis does not end the loop.
        """
        started = time.monotonic()
        try:
            self.round()
        except (BrokerUnavailable, StoreFull) as error:
            self._failures += 1
            if self._failures == 1:
                logger.warning("Redis%s does not answer, the watchdog waits: %s", self._place, error)
            return min(LONGEST_BACKOFF_S, 0.1 * 2.0**self._failures) * random.uniform(0.5, 1)
        if self._failures:
            logger.info("Redis%s answers again after %d failed rounds", self._place, self._failures)
            self._failures = 0
        return max(0.0, self.period_s - (time.monotonic() - started))

    def round(self) -> dict[str, dict[str, int]]:
        """Act on the agenda and the duties in each pool, and draw its figures; return what was done, by pool.

        A pool with much to do gets several ticks, at most TICKS_A_ROUND. Of several watchdogs one draws the figures.
        """
        if not self._has_begun:
            self._begin()
            self._has_begun = True
        self._begin_duties()
        pools = self.pools()
        self._losses.look_at_servers(pools)
        return {pool: self._round_of(pool) for pool in pools}

    def _named(self) -> set[str]:
        """The pools that so far only the code names."""
        return {pool for duty in self._duties for pool in duty.pools()}

    def _begin(self) -> None:
        """Load the library. The duties begin in every watched pool, and in pools that so far only the code names."""
        pools = self._chosen or sorted({*self.pools(), *self._named()})
        for pool in {self.broker.server(pool): pool for pool in pools}.values():
            self.broker.load_library(pool)
        self._unbegun = [(pool, duty) for pool in pools for duty in self._duties]

    def _begin_duties(self) -> None:
        """Begin those that have not begun. One that fails is tried again later, and has an alarm until then."""
        if self._unbegun and time.monotonic() >= self._begin_at:
            failed = [each for each in self._unbegun if self._guarded(each[0], each[1].beginning, each[1].begin)]
            self._unbegun, self._begin_at = failed, time.monotonic() + LANES_EVERY_S

    def _round_of(self, pool: str) -> dict[str, int]:
        """One pool's part of the round. A fault of one pool does not delay the others."""
        acted = self._guarded(pool, "tick", self._tick_whole)
        for duty in self._duties:
            acted |= self._guarded(pool, duty.doing, duty.act)
        return acted | self._guarded(pool, "sample", self._draw)

    def _guarded(self, pool: str, doing: str, call: Callable[[str], dict[str, int] | None]) -> dict[str, int]:
        try:
            acted = call(pool) or {}
        except (BrokerUnavailable, StoreFull):
            raise
        except Exception as error:  # any error of this pool's keys: it is logged, and the next round tries again
            if self._complaints.error(pool, doing, error) and not isinstance(error, BrokenPool):  # that has an alarm
                self._note_fault(pool, doing, cut(redactor().text(f"{type(error).__name__}: {error}"), 500))
            return {"error": 1}
        if self._complaints.well(pool, doing):
            self._note_fault(pool, doing, "")
        return acted

    def _note_fault(self, pool: str, doing: str, error: str) -> None:
        """Leave in the pool what cannot be done, for its alarms; without an error: it can be done again."""
        errors = self._faults.setdefault(pool, {})
        if error:
            errors[doing] = error
        elif errors.pop(doing, None) is None:
            return
        self.broker.leave_faults(pool, msgspec.json.encode(Faults(at=round(time.time() * 1000), errors=errors)))

    def _tick_whole(self, pool: str) -> dict[str, int]:
        if pool in self._undeclared:
            self.broker.declare_lanes(pool)
            self._undeclared.discard(pool)
        self.broker.note_use()
        return self._tick(pool)

    def _draw(self, pool: str) -> dict[str, int]:
        """Write the figures. The watchdog whose turn it is also continues the rolling consistency check."""
        sampled = self.broker.draw(pool, self.name, round(self.period_s * 900))
        if not sampled:
            return {}
        figures = json.loads(text(sampled))
        self._losses.look(pool, figures)
        self._history.go_on(pool, int(figures["taken"]))
        self._old_libraries.look(pool)
        acted = self._guarded(pool, "mark the alarms of", self._marks.go_on)
        return acted | self._guarded(pool, "check", self._rolling_check.go_on)

    def _listed(self) -> list[str]:
        """All pools. A pool that had data and has left the list has lost its data. It is listed again."""
        found = self.broker.pools()
        for pool in self._losses.pools.difference(found):
            self.broker.announce(pool, again=True)
            found.append(pool)
        return found

    def pools(self) -> list[str]:
        """The pools to watch. From time to time, the settings of their lanes are compared with the store."""
        if self._chosen:
            return list(self._chosen)
        found = self._found()
        self._undeclared |= set(found) - set(self._known)
        if time.monotonic() - self._looked > LANES_EVERY_S:
            self._undeclared = set(found)
            self._looked = time.monotonic()
        self._known = found
        return found

    def _tick(self, pool: str) -> dict[str, int]:
        acted: dict[str, int] = {}
        for _ in range(TICKS_A_ROUND):
            report = self.broker.tick(pool)
            for word, count in report.acted.items():
                acted[word] = acted.get(word, 0) + count
            if not _more(report) or self._stopped:
                break
        if "commands" in acted:
            self._commands.look(pool)
        for word in acted:
            if word.startswith(BROKEN):
                self._complaints.key(pool, word.removeprefix(BROKEN))
            elif word.startswith(MENDED):
                logger.error("pool %s: the key %s did not hold a valid number; it was set above all stored ones",
                             pool, word.removeprefix(MENDED))  # fmt: skip
        told = {word: acted[word] for word in TOLD if word in acted}
        if told:
            logger.info("pool %s: %s", pool, ", ".join(f"{count} {word}" for word, count in told.items()))
        return acted


def _more(report: TickReport) -> bool:
    return sum(report.acted.values()) >= BATCH
