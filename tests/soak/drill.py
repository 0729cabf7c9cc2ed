"""`python -m tests.soak.drill`: plant the faults of a night, one at a time, and mend each as an operator does.

An operator has the overview open in Chromium. For each fault the drill takes the seconds until an alarm on that page
names the cause, the clicks from there to the page that shows why, and the clicks from that page to the button that
mends it, or to the command. It presses the button, or does what the command says, and the alarm has to end.
Exit status 1 if an alarm is late, or a way is longer than one click. `--docs` writes the table into docs/console.md.
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django

from tests.soak.incidents import INCIDENTS
from tests.soak.night import BOUND_S, FAULTS, JOBS, Fault, Scene
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
    parser.add_argument("--docs", action="store_true", help="write the table into docs/console.md")
    parser.add_argument("--only", default="", help="only faults with this in their name")
    given = parser.parse_args()
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
            rows, bad = drill(
                Scene(Path(folder)), [fault for fault in (*FAULTS, *INCIDENTS) if given.only in fault.name]
            )
        finally:
            embedded.stop(store)
    if given.docs and not bad:
        write(rows)
    return int(bad)


def drill(scene: Scene, faults: list[Fault]) -> tuple[list[str], bool]:
    """Plant and mend each fault; the rows of the table, and whether one is not good."""
    rows, bad = [], False
    print("\n".join(HEAD))
    try:
        with _overview(scene) as page:
            for fault in faults:
                _until_well()
                found = Round(scene, page, fault).play()
                rows.append(str(found))
                bad = bad or not found.is_good
                print(f"{found}{'' if found.is_good else f' <-- not good: {found.trouble}'}", flush=True)
    finally:
        scene.end()
    return rows, bad


def write(rows: list[str]) -> None:
    """Replace the table of the page."""
    lines, page = "\n".join((*HEAD, *rows)), DOCS.read_text()
    found = re.search(r"^\| fault \|.*\n(?:\|.*\n)+", page, re.MULTILINE)
    assert found, "the page has no such table"
    DOCS.write_text(page.replace(found[0], f"{lines}\n"))


class Round:
    """One fault, from its beginning to its end: what an operator needed."""

    def __init__(self, scene: Scene, page: Any, fault: Fault) -> None:
        self.scene, self.page, self.fault = scene, page, fault
        self.took_s = BOUND_S
        self.clicks = self.last_clicks = 0
        self.remedy = self.trouble = ""

    @property
    def is_good(self) -> bool:
        """Whether the alarm was in time, and both ways were short and led there."""
        return not self.trouble and self.took_s <= LATE_S and max(self.clicks, self.last_clicks) <= MOST_CLICKS

    def __str__(self) -> str:
        shown = f"{max(0.0, self.took_s):.0f}"
        if self.fault.lasts_s:
            shown += f", after {self.fault.lasts_s:.0f} s of waiting"
        return f"| {self.fault.name} | {shown} | {self.clicks} | {self.last_clicks} | {self.remedy} |"

    def play(self) -> Round:
        """Plant, wait for the alarm, find why, mend."""
        from playwright.sync_api import Error

        self.page.goto("/ops/")
        begun = time.monotonic()
        with self.fault.plant(self.scene):
            try:
                box = self.page.locator(".alarm").filter(has_text=re.compile(self.fault.alarm)).first
                counts = self._until_shown(box)
                self.took_s = time.monotonic() - begun - self.fault.lasts_s
                self._compare(box.text_content() or "", counts)
                self._find_why(box)
                self._mend()
            except (AssertionError, Error) as error:
                self.trouble = str(error)
        return self

    def _until_shown(self, box: Any) -> list[int]:
        """Wait for the alarm; what the store counted in the last seconds before it, as a page is seconds old."""
        counts: deque[int] = deque(maxlen=round(OLD_S / EVERY_S))
        end = time.monotonic() + BOUND_S + self.fault.lasts_s
        while not box.is_visible():
            assert time.monotonic() < end, f"the alarms are {self.page.locator('.alarm').all_text_contents()}"
            if self.fault.figure:
                counts.append(self.fault.figure())
            self.page.wait_for_timeout(1000 * EVERY_S)
        return list(counts)

    def _compare(self, line: str, counts: list[int]) -> None:
        """The incident is one line, whose figure is that of the store."""
        shown = self.page.locator(".alarm").locator("visible=true").all_text_contents()
        assert len(shown) == 1, f"{len(shown)} alarms of one incident: {shown}"
        if self.fault.figure:
            found = re.search(self.fault.alarm, line)
            assert found
            told, least, most = int(found[1].replace(",", "")), min(counts), max(counts)
            is_near = least * (1 - MOST_APART) <= told <= most * (1 + MOST_APART)
            assert is_near, f"{told} in the alarm, {least} to {most} in the store"

    def _find_why(self, box: Any) -> None:
        for number, step in enumerate(self.fault.why):
            self._click(box if number == 0 else self.page.locator("main"), step)
        self.clicks = len(self.fault.why)
        found = self.page.locator("main").get_by_text(re.compile(self.fault.cause))
        found.locator("visible=true").first.wait_for()  # the folded list of what happened has it, too

    def _mend(self) -> None:
        if self.fault.before:
            self.fault.before(self.scene)
        if self.fault.mend:
            for step in self.fault.mend:
                self._click(self.page.locator("main"), step)
            self.last_clicks, name = len(self.fault.mend), self.fault.mend[-1].partition(":")[2]
            self.remedy = f"the button \u201c{name}\u201d"
            self.page.locator(".flash-success, .flash-ok, [role=status]").first.wait_for()
        else:
            if self.fault.why:
                self._click(self.page.locator("nav").first, "link:Overview")
                self.last_clicks = 1
            box = self.page.locator(".alarm").filter(has_text=re.compile(self.fault.alarm)).first
            command = box.locator("code").first.text_content() or ""  # it stands behind a click
            self.remedy = f"`{command}`"
            assert self.fault.obey
            self.fault.obey(self.scene, shlex.split(command))
        if self.fault.ends:
            self.page.goto("/ops/")
            self.page.locator(".alarm").filter(has_text=re.compile(self.fault.alarm)).first.wait_for(
                state="detached", timeout=1000 * BOUND_S
            )

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
