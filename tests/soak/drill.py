"""`python -m tests.soak.drill`: plant the faults of a night, one at a time, and mend each as an operator does.

An operator has the overview open in Chromium. For each fault the drill takes the seconds until an alarm on that page
names the cause, the clicks from there to the page that shows why, and the clicks from that page to the button that
mends it, or to the command. It presses the button, or does what the command says, and the alarm has to end.
Exit status 1 if an alarm is late, or a way is longer than one click. `--docs` writes the table into docs/console.md.
`--seed N` plants twelve other incidents, drawn by that seed, some of them two at once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import socket
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import django

from tests.soak.incidents import INCIDENTS
from tests.soak.night import BOUND_S, FAULTS, JOBS, Fault, Scene
from tests.soak.seeded import drawn
from tests.support.waiting import wait_until

LATE_S, MOST_CLICKS = 20.0, 1
MOST_APART = 0.25
OLD_S, EVERY_S = 5.0, 0.25
DOCS = Path("docs/console.md")
HEAD = (
    "| fault | seconds to the alarm | clicks to why | clicks to mended, or to the command | remedy |",
    "|---|---|---|---|---|",
)


def main() -> int:
    """Plant each fault in a folder and on a store of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="write the table of the usual faults into docs/console.md")
    parser.add_argument("--only", default="", help="only faults with this in their name")
    parser.add_argument("--seed", type=int, help="twelve incidents drawn by this number, in place of the usual faults")
    given = parser.parse_args()
    if given.docs and given.seed is not None:
        parser.error("--docs writes the table of the usual faults, not of those of a seed.")
    incidents = [(fault,) for fault in (*FAULTS, *INCIDENTS)] if given.seed is None else drawn(given.seed)
    chosen = [faults for faults in incidents if given.only in name_of(faults)]
    with tempfile.TemporaryDirectory(prefix="queueops-drill-") as folder:
        store = Path(folder) / "store"
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "tests.faults.settings",
            "QUEUEOPS_TESTS_DATA": folder,
            "QUEUEOPS_TESTS_URL": f"embedded:{store}",
            "QUEUEOPS_TESTS_LEDGER": f"{folder}/ledger",
            "QUEUEOPS_TESTS_SETTINGS": json.dumps({"JOBS": JOBS}),
        }
        warnings.filterwarnings("ignore", "No directory at", UserWarning)  # static files that no test collects
        django.setup()
        from queueops.redis import embedded

        embedded.start(store)
        try:
            rows, bad = drill(Scene(Path(folder)), chosen)
        finally:
            embedded.stop(store)
    if given.docs and not bad:
        write(rows)
    return int(bad)


def name_of(faults: tuple[Fault, ...]) -> str:
    """What is planted, in words."""
    return ", and at once ".join(fault.name for fault in faults)


def drill(scene: Scene, incidents: list[tuple[Fault, ...]]) -> tuple[list[str], bool]:
    """Plant and mend each incident; the rows of the table, and whether one is not good."""
    rows, bad = [], False
    print("\n".join(HEAD))
    try:
        with _overview(scene) as page:
            for faults in incidents:
                _until_well()
                found = Round(scene, page, faults).play()
                rows.append(str(found))
                bad = bad or not found.is_good
                print(f"{found}{'' if found.is_good else f' <-- not good: {found.trouble}'}", flush=True)
    finally:
        scene.end()
    return rows, bad


def write(rows: list[str]) -> None:
    """Replace the table of the page."""
    lines, page = "\n".join((*HEAD, *rows)), DOCS.read_text()
    found = re.search(rf"^{re.escape(HEAD[0])}\n(?:\|.*\n)+", page, re.MULTILINE)
    assert found, "the page has no such table"
    DOCS.write_text(page.replace(found[0], f"{lines}\n"))


class Round:
    """One fault, or several at once, from the beginning to the end: what an operator needed."""

    def __init__(self, scene: Scene, page: Any, faults: tuple[Fault, ...]) -> None:
        self.scene, self.page, self.faults = scene, page, faults
        self.took_s = BOUND_S
        self.clicks = self.last_clicks = 0
        self.remedies: list[str] = []
        self.trouble = ""

    @property
    def is_good(self) -> bool:
        """Whether the alarms were in time, and all ways were short and led there."""
        return not self.trouble and self.took_s <= LATE_S and max(self.clicks, self.last_clicks) <= MOST_CLICKS

    def __str__(self) -> str:
        shown = f"{max(0.0, self.took_s):.0f}"
        if self.lasts_s:
            shown += f", after {self.lasts_s:.0f} s of waiting"
        return f"| {name_of(self.faults)} | {shown} | {self.clicks} | {self.last_clicks} | {', '.join(self.remedies)} |"

    @property
    def lasts_s(self) -> float:
        """How long the conditions have to last."""
        return max(fault.lasts_s for fault in self.faults)

    def play(self) -> Round:
        """Plant, wait for the alarms, find why, mend."""
        from playwright.sync_api import Error

        self.page.goto("/ops/")
        self.page.wait_for_timeout(1000 * max(fault.after_s for fault in self.faults))
        begun = time.monotonic()
        with ExitStack() as planted:
            for fault in self.faults:
                planted.enter_context(fault.plant(self.scene))
            try:
                counts = [self._until_shown(fault) for fault in self.faults]
                self.took_s = time.monotonic() - begun - self.lasts_s
                self._compare(counts)
                for fault in self.faults:
                    self._find_why(fault)
                    self._mend(fault)
            except (AssertionError, Error) as error:
                self.trouble = str(error)
        return self

    def _line(self, fault: Fault) -> Any:
        return self.page.locator(".alarm").filter(has_text=re.compile(fault.alarm)).first

    def _until_shown(self, fault: Fault) -> list[int]:
        """Wait for the alarm; what the store counted in the last seconds before it, as a page is seconds old."""
        counts: deque[int] = deque(maxlen=round(OLD_S / EVERY_S))
        end = time.monotonic() + BOUND_S + fault.lasts_s
        while not self._line(fault).is_visible():
            assert time.monotonic() < end, f"the alarms are {self.page.locator('.alarm').all_text_contents()}"
            if fault.figure:
                counts.append(fault.figure())
            self.page.wait_for_timeout(1000 * EVERY_S)
        return list(counts)

    def _compare(self, counts: list[list[int]]) -> None:
        """Each incident is one line, whose figure is that of the store."""
        shown = self.page.locator(".alarm").locator("visible=true").all_text_contents()
        assert len(shown) == len(self.faults), f"{len(shown)} alarms of {len(self.faults)} incidents: {shown}"
        for fault, counted in zip(self.faults, counts, strict=True):
            if fault.figure:
                found = re.search(fault.alarm, self._line(fault).text_content() or "")
                assert found
                told, least, most = int(found[1].replace(",", "")), min(counted), max(counted)
                is_near = least * (1 - MOST_APART) <= told <= most * (1 + MOST_APART)
                assert is_near, f"{told} in the alarm, {least} to {most} in the store"

    def _find_why(self, fault: Fault) -> None:
        self.page.goto("/ops/")
        for number, step in enumerate(fault.why):
            self._click(self._line(fault) if number == 0 else self.page.locator("main"), step)
        self.clicks = max(self.clicks, len(fault.why))
        found = self.page.locator("main").get_by_text(re.compile(fault.cause))
        found.locator("visible=true").first.wait_for()  # the folded list of what happened has it, too

    def _mend(self, fault: Fault) -> None:
        if fault.before:
            fault.before(self.scene)
        if fault.mend:
            for step in fault.mend:
                self._click(self.page.locator("main"), step)
            clicks, name = len(fault.mend), fault.mend[-1].partition(":")[2]
            self.remedies.append(f"the button \u201c{name}\u201d")
            self.page.locator(".flash-success, .flash-ok, [role=status]").first.wait_for()
        else:
            clicks = 1 if fault.why else 0
            if fault.why:
                self._click(self.page.locator("nav").first, "link:Overview")
            command = self._line(fault).locator("code").first.text_content() or ""  # it stands behind a click
            self.remedies.append(f"`{command.replace(str(self.scene.folder), 'DIR')}`")
            assert fault.obey
            fault.obey(self.scene, shlex.split(command))
        self.last_clicks = max(self.last_clicks, clicks)
        if fault.ends:
            self.page.goto("/ops/")
            self._line(fault).wait_for(state="detached", timeout=1000 * BOUND_S)

    def _click(self, within: Any, step: str) -> None:
        role, _, name = step.partition(":")
        within.get_by_role(role, name=name).first.click()


def _until_well() -> None:
    from queueops import inspect

    end = time.monotonic() + 2 * BOUND_S
    while not (status := inspect.status()).is_well:
        if time.monotonic() > end:
            raise AssertionError(f"the alarms do not end: {[alarm.text for alarm in status.alarms]}")
        time.sleep(0.2)


@contextmanager
def _overview(scene: Scene) -> Iterator[Any]:
    """The overview in Chromium, in which an administrator is logged in, of a server process with threads."""
    from django.core.management import call_command
    from django.test.utils import setup_test_environment
    from playwright.sync_api import sync_playwright

    from tests.console.browsing import log_in
    from tests.support.chromium import find_chromium
    from tests.support.shared_browser import ARGUMENTS, PATIENCE_MS
    from tests.support.topology import free_ports

    setup_test_environment()
    call_command("migrate", verbosity=0)
    session, (port,) = log_in(), free_ports(1)
    server = scene.start("runserver", "--noreload", "--insecure", str(port))
    url = f"http://127.0.0.1:{port}"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS, timeout=PATIENCE_MS)
            context = browser.new_context(base_url=url)
            context.add_cookies([{"name": "sessionid", "value": session, "url": url}])
            _until_answered(port)
            yield context.new_page()
            browser.close()
    finally:
        server.end()


def _until_answered(port: int) -> None:
    def answers() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    wait_until(answers)


if __name__ == "__main__":
    sys.exit(main())
