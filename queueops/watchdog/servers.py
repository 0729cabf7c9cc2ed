"""Watchdog per server: each server of a cluster has its own thread, so that a silent one delays no other."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from queueops.errors import BrokerUnavailable
from queueops.errors.refusals import LibraryRefused

LOOK_EVERY_S = 1.0
"""Seconds between two reads of which server has which pool."""
NAP_S = 0.1
END_WITHIN_S = 2.0
"""Seconds that the current rounds have to finish at the end."""

logger = logging.getLogger("queueops.watchdog")


class ServerWatchdog(Protocol):
    """The watchdog of one server."""

    def watch(self) -> None:
        """Make rounds until stopped. Raises LibraryRefused."""

    def stop(self) -> None:
        """Stop after the current round."""


class Servers:
    """Starts a watchdog for each server that has pools, and gives it its pools."""

    def __init__(
        self,
        by_server: Callable[[], Mapping[str, Sequence[str]]],
        make: Callable[[str, Callable[[], list[str]]], ServerWatchdog],
    ) -> None:
        """``by_server`` raises BrokerUnavailable. ``make`` takes a server and a function that returns its pools."""
        self._by_server = by_server
        self._make = make
        self._pools: dict[str, list[str]] = {}
        self._refusals: list[LibraryRefused] = []
        self._watchdogs: dict[str, tuple[ServerWatchdog, threading.Thread]] = {}

    def run(self, stopped: Callable[[], bool]) -> None:
        """Read repeatedly which server has which pools, until stopped; then end all watchdogs.

        Raises LibraryRefused if a server refuses the Lua library at the start of its watchdog.
        """
        look_at = 0.0
        while not (stopped() or self._refusals):
            if time.monotonic() >= look_at:
                self._look()
                look_at = time.monotonic() + LOOK_EVERY_S
            time.sleep(NAP_S)
        self._end()
        if self._refusals:
            raise self._refusals[0]

    def _look(self) -> None:
        try:
            self._pools = {server: list(pools) for server, pools in self._by_server().items()}
        except BrokerUnavailable as error:
            logger.debug("which server has which pool is unknown now: %s", error)
        except Exception:  # the existing watchdogs continue, and the next read tries again
            logger.exception("which server has which pool could not be read, and is read again")
        watched = {server for server, (_, thread) in self._watchdogs.items() if thread.is_alive()}
        for server in self._pools.keys() - watched:
            watchdog = self._make(server, lambda server=server: self._pools.get(server, []))  # type: ignore[misc]
            thread = threading.Thread(
                target=self._watch, args=(server, watchdog), name=f"queueops-watchdog-{server}", daemon=True
            )
            self._watchdogs[server] = watchdog, thread
            thread.start()

    def _end(self) -> None:
        """End the watchdogs. Those that wait for a server which does not answer are abandoned."""
        for watchdog, _ in self._watchdogs.values():
            watchdog.stop()
        end = time.monotonic() + END_WITHIN_S
        for _, thread in self._watchdogs.values():
            thread.join(max(0.0, end - time.monotonic()))

    def _watch(self, server: str, watchdog: ServerWatchdog) -> None:
        try:
            watchdog.watch()
        except LibraryRefused as error:
            self._refusals.append(error)
        except Exception:  # the next read makes another one
            logger.exception("the watchdog of server %s broke, and is started again", server)
