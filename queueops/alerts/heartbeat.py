"""Dead man's switch: calls a URL while the watchdog works, so that another system notices when it does not."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from queueops.alerts import channels
from queueops.conf.alert_settings import AlertTarget, Heartbeat

logger = logging.getLogger("queueops.alerts")


class DeadMansSwitch:
    """Calls the URL of the settings in a thread of its own. It stays silent while `works` says no."""

    def __init__(self, heartbeat: Heartbeat, works: Callable[[], bool]) -> None:
        """``works``: whether the watchdog makes its rounds."""
        self._heartbeat = heartbeat
        self._works = works
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queueops-heartbeat", daemon=True)
        self._error = ""

    def start(self) -> None:
        """Begin with a call at once."""
        self._thread.start()

    def stop(self) -> None:
        """End. A call in progress is abandoned."""
        self._ended.set()

    def beat(self) -> bool:
        """Call the URL once, if the watchdog works; return whether it was called."""
        if not self._works():
            logger.error("The watchdog makes no rounds: the heartbeat is not sent")
            return False
        error = _called(self._heartbeat.url)
        if error != self._error:
            logger.warning("The heartbeat fails: %s", error) if error else logger.info("The heartbeat works again")
        self._error = error
        return not error

    def _run(self) -> None:
        while not self._ended.is_set():
            with suppress(Exception):  # `beat` has logged what it knows; the next call tries again
                self.beat()
            self._ended.wait(self._heartbeat.every)


def _called(url: str) -> str:
    """The error of a call; empty if it worked."""
    target = AlertTarget(name="heartbeat", channel="webhook", addresses=(url,))
    try:
        channels.call(url, "heartbeat")
    except ModuleNotFoundError as error:
        return channels.MISSING.format(name=error.name)
    except Exception as error:  # of the network
        return channels.without_secrets(target, f"{type(error).__name__}: {error}")
    return ""
