"""`python -m tests.soak.drill`: plant the faults of a night, one at a time, and time the alarm of each.

For each fault it prints: the seconds until an alarm names the cause, the clicks from the alarm to the page with more
about it, and the remedy, a button or a command. Exit status 1 if an alarm is late, or leads nowhere.
"""

from __future__ import annotations

import html
import os
import re
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import django

LATE_S = 20.0
BOUND_S = 120.0
"""The longest wait for an alarm, and for its end."""


class Fault(NamedTuple):
    """A planted fault. Its alarm cannot be told before the condition has lasted for `lasts_s`."""

    name: str
    plant: Callable[[Scene], AbstractContextManager[None]]
    alarm: str
    lasts_s: float = 0.0


class Scene:
    """A worker and a watchdog on a store of their own, and the console as an administrator sees it."""

    def __init__(self, folder: Path) -> None:
        from tests.faults.processes import Ledger

        self.folder, self.ledger = folder, Ledger(folder / "ledger")
        self._count = 0
        self.worker, self.watchdog = self.start("runworker", "--threads", "4"), self.start("watchdog")

    def start(self, command: str, *words: str) -> Any:
        from tests.faults.processes import Worker

        self._count += 1
        return Worker(self.folder / f"{self._count:02d}.log", {}, self.ledger, *words, command=command)

    def end(self) -> None:
        """End both processes by their ids."""
        for process in (self.worker, self.watchdog):
            process.end()


@contextmanager
def failing_name(scene: Scene) -> Iterator[None]:
    from tests.faults import tasks

    tasks.echo.push_many([(number,) for number in range(100)])
    tasks.returns_an_object.using(retries=0).push_many([()] * 15)
    yield


@contextmanager
def paused_lane(scene: Scene) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    tasks.echo.using(lane="mails").push_many([(0,)])
    control.pause_lane("default", "mails")
    tasks.echo.using(lane="mails").push_many([(0,)] * 5)
    yield
    control.resume_lane("default", "mails")


@contextmanager
def lane_at_its_limit(scene: Scene) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    tasks.echo.using(lane="api").push_many([(0,)])
    control.set_lane("default", "api", limit=1)
    tasks.work.using(lane="api").push_many([(75.0,), (0.0,)])
    yield
    control.set_lane("default", "api", limit=None)


@contextmanager
def frozen_worker(scene: Scene) -> Iterator[None]:
    scene.worker.freeze()
    yield
    scene.worker.signal_all(signal.SIGCONT)


@contextmanager
def dead_worker(scene: Scene) -> Iterator[None]:
    scene.worker.signal_all(signal.SIGKILL)
    scene.worker.end()
    yield
    scene.worker = scene.start("runworker", "--threads", "4")


@contextmanager
def dead_watchdog(scene: Scene) -> Iterator[None]:
    scene.watchdog.signal_all(signal.SIGKILL)
    scene.watchdog.end()
    yield
    scene.watchdog = scene.start("watchdog")


@contextmanager
def paused_schedule(scene: Scene) -> Iterator[None]:
    from queueops import control
    from tests.faults import tasks

    control.create_schedule(tasks.echo, "@every 2s", id="reports")
    control.pause_schedule("reports")
    yield
    control.delete_schedule("reports")


@contextmanager
def full_store(scene: Scene) -> Iterator[None]:
    client = _client()
    client.setrange("drill:filler", 50_000_000, b"x")  # so that what connections take hardly counts
    client.config_set("maxmemory", int(client.info("memory")["used_memory"] * 1.04))
    yield
    client.config_set("maxmemory", 0)
    client.delete("drill:filler")


@contextmanager
def slow_store(scene: Scene) -> Iterator[None]:
    ended = threading.Event()

    def hold_up() -> None:
        while not ended.is_set():
            _client().client_pause(700)

    holding = threading.Thread(target=hold_up)
    holding.start()
    yield
    ended.set()
    holding.join()


FAULTS = (
    Fault("a failing name", failing_name, r"Task \S+returns_an_object: 15 of 15 attempts"),
    Fault("a paused lane", paused_lane, r"Lane mails .* is paused; 5 tasks wait"),
    Fault("a lane at its limit", lane_at_its_limit, r"Lane api .*limit", 60.0),
    Fault("a frozen worker", frozen_worker, r"[Ww]orker.* frozen"),
    Fault("a dead worker", dead_worker, r"[Ww]orker.* dead"),
    Fault("a dead watchdog", dead_watchdog, r"[Nn]o watchdog"),
    Fault("a paused schedule", paused_schedule, r"[Ss]chedule reports .*paused"),
    Fault("a full store", full_store, r"The store uses \d+% of its memory limit"),
    Fault("a slow store", slow_store, r"The store is slow"),
)


def main() -> int:
    """Plant each fault in a folder and on a store of its own."""
    with tempfile.TemporaryDirectory(prefix="queueops-drill-") as folder:
        store = Path(folder) / "store"
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "QUEUEOPS_TESTS_DATA": folder,
            "QUEUEOPS_TESTS_URL": f"embedded:{store}",
            "QUEUEOPS_TESTS_LEDGER": f"{folder}/ledger",
        }
        warnings.filterwarnings("ignore", "No directory at", UserWarning)  # static files that no test collects
        django.setup()
        from queueops.redis import embedded

        embedded.start(store)
        try:
            return drill(Scene(Path(folder)))
        finally:
            embedded.stop(store)


def drill(scene: Scene) -> int:
    """Plant each fault; the exit status."""
    bad = 0
    print("| fault | seconds to the alarm | clicks to why | remedy |\n|---|---|---|---|")
    try:
        browser = _browser()
        for fault in FAULTS:
            _until_well()
            begun = time.monotonic()
            with fault.plant(scene):
                alarm = _alarm(fault, begun)
                took = time.monotonic() - begun - fault.lasts_s
                clicks, remedy = _way(browser, fault, alarm) if alarm else ("-", "-")
            good = alarm is not None and took <= LATE_S and "-" not in (clicks, remedy)
            bad += not good
            shown = f"{took:.1f}" if alarm else "none"
            if fault.lasts_s:
                shown += f" after {fault.lasts_s:.0f} s of waiting"
            print(f"| {fault.name} | {shown} | {clicks} | {remedy} |{'' if good else ' <-- not good'}", flush=True)
    finally:
        scene.end()
    return int(bool(bad))


def _alarm(fault: Fault, begun: float) -> Any:
    from queueops import inspect

    while time.monotonic() - begun < BOUND_S:
        for alarm in inspect.status().alarms:
            if re.search(fault.alarm, alarm.text):
                return alarm
        time.sleep(0.2)
    print("  alarms:", [alarm.text for alarm in inspect.status().alarms])
    return None


def _way(browser: Any, fault: Fault, alarm: Any) -> tuple[str, str]:
    """The clicks from the overview to the page with more, and the remedy that the overview offers."""
    from console.access.permissions import Verb
    from console.actions.remedies import alarm_remedy
    from console.ui.links import alarm_url

    page = html.unescape(browser.get("/ops/").content.decode())
    if not re.search(fault.alarm, page):
        print("  not on the overview:", alarm.text)
        return "-", "-"
    address = alarm_url(alarm)
    clicks = "1" if address and browser.get(address).status_code == 200 else "0" if alarm.url_hint == "health" else "-"
    button = alarm_remedy(alarm, frozenset({Verb.CONFIGURE}))
    if button and button["action"] in page:
        return clicks, f"the button “{button['label']}”"
    return clicks, f"`{alarm.command}`" if alarm.command and alarm.command in page else "-"


def _until_well() -> None:
    from queueops import inspect

    end = time.monotonic() + 2 * BOUND_S
    while not (status := inspect.status()).is_well:
        if time.monotonic() > end:
            raise AssertionError(f"the alarms do not end: {[alarm.text for alarm in status.alarms]}")
        time.sleep(0.2)


def _browser() -> Any:
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.test import Client
    from django.test.utils import setup_test_environment

    setup_test_environment()
    call_command("migrate", verbosity=0)
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("operator"))
    return client


def _client() -> Any:
    from queueops.redis.broker import get_broker

    return get_broker().client


if __name__ == "__main__":
    sys.exit(main())
