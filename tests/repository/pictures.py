"""`python -m tests.repository.pictures`: takes the pictures of the console that README and docs show, from the demo.

The demo runs in a folder of its own for some minutes first, so that lists and charts have something to show.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

from tests.support.chromium import find_chromium

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
STARTS_WITHIN_S, ENDS_WITHIN_S = 120, 90
SIZE = {"width": 1280, "height": 720}


MOST_BYTES = 160_000
AGO_S = 120
"""The picture of a past minute is of so long ago: the history has it by then."""


class Picture(NamedTuple):
    """A page, from `first`: the link on it to follow before the picture is taken; empty for none.

    `{past}` in the path is a minute for which the history has figures. The part `top` stands at the top of the picture;
    without one it is the page's begin.
    """

    name: str
    path: str
    first: str = ""
    top: str = ""
    height: int = SIZE["height"]


PICTURES = (
    Picture("console", ""),
    Picture("console-past", "?range=1h&at={past}"),
    Picture("console-lane", "", "main tbody th a[href*='/lanes/']"),
    Picture("console-name", "registry/demo.call_back/"),
    Picture("console-worker", "workers/", "main tbody th a"),
    Picture("console-errors", "errors/"),
    Picture("console-callbacks", "callbacks/", height=500),
    Picture(
        "console-run",
        "workflows/?name=demo.order_saga&state=succeeded",
        "#workflows tbody th a",
        "#timeline-title",
        640,
    ),
)


def main() -> int:
    """Take all pictures; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.repository.pictures", description=__doc__)
    parser.add_argument("--only", action="append", choices=[picture.name for picture in PICTURES])
    parser.add_argument("--minutes", type=float, default=5.0, help="for how long the demo runs first")
    parser.add_argument("--port", type=int, default=8399)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="queueops-pictures-") as folder:
        log = Path(folder) / "demo.log"
        words = [sys.executable, "manage.py", "demo", "--data", f"{folder}/demo", "--port", str(options.port)]
        with log.open("wb") as output:
            demo = subprocess.Popen(words, cwd=ROOT, stdout=output, stderr=output)
        try:
            address, password = _login(log)
            time.sleep(options.minutes * 60)
            _take(address, password, options.only)
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(ENDS_WITHIN_S)
    return 0


def _login(log: Path) -> tuple[str, str]:
    """The address and the password that the demo prints."""
    end = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < end:
        text = log.read_text()
        if found := re.search(r"Console: (\S+).*Password: (\S+)", text, re.DOTALL):
            return found[1], found[2]
        time.sleep(0.5)
    raise TimeoutError(f"the demo did not start: {text}")


def _take(address: str, password: str, only: Sequence[str] | None) -> None:
    with sync_playwright() as player:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = player.chromium.launch(executable_path=find_chromium(), args=options)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(address)
        page.fill("input[name=username]", "operator")
        page.fill("input[name=password]", password)
        page.click("button[type=submit]")
        for picture in [each for each in PICTURES if only is None or each.name in only]:
            _take_one(page, address, picture)
        browser.close()


def _take_one(page: Page, address: str, picture: Picture) -> None:
    page.set_viewport_size(SIZE)
    past = f"{datetime.fromtimestamp(time.time() - AGO_S, UTC):%Y-%m-%dT%H:%MZ}"
    answer = page.goto(address + picture.path.format(past=past))
    if answer is None or answer.status != 200:
        raise LookupError(f"{picture.path}: {answer and answer.status}")
    if picture.first:
        page.locator(picture.first).first.click()
    page.wait_for_timeout(3000)  # one live update, and the charts
    if picture.top:
        page.locator(picture.top).evaluate("part => scrollBy(0, part.getBoundingClientRect().top - 80)")
    page.set_viewport_size(SIZE | {"height": picture.height})
    file = DOCS / f"{picture.name}.png"
    page.screenshot(path=file)
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file.name} has {file.stat().st_size:,} bytes; at most {MOST_BYTES:,} are allowed")
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    sys.exit(main())
