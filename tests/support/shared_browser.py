"""One Chromium for all browser tests of a process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.support import leaks
from tests.support.chromium import find_chromium

OFF = (
    "AimEnabled,AvoidCorsURLLoaderRestartOnRedirect,AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,"
    "HttpsFirstBalancedModeAutoEnable,HttpsUpgrades,LensOverlay,MediaRouter,NetworkTimeServiceQuerying,"
    "OptimizationHints,PaintHolding,PreconnectToSearch,ThirdPartyStoragePartitioning,"
    "PreloadTopChromeWebUI,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,WebUIOmniboxPopup"
)
"""Features of the browser: those that Playwright switches off, since its switch has no effect beside this one; and four
that are the address bar and the panels of a window. Each context has a window, which is never shown. The browser would
load them in a process of their own, and that takes longer than the page of a test.
"""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", f"--disable-features={OFF}"]
PATIENCE_MS = 60_000
"""So long a page may take for anything, on a machine with much to do; the browser itself needs longer to start."""


class SharedBrowser:
    """The browser of this process: the first test that needs one starts it, and the end of the session ends it.

    A test has contexts of its own, each with its cookies, storage and cache. The driver of the browser runs an event
    loop in this thread. The loop is out of the way between two tests: other tests run loops of their own.
    """

    def __init__(self) -> None:
        self._browser: Browser | None = None
        self._playwright: Playwright | None = None
        self._driver: psutil.Process | None = None
        self._loop: tuple[asyncio.AbstractEventLoop | None, Any] = (None, sys.get_asyncgen_hooks())

    def start(self) -> None:
        """Start the browser, unless it runs; after a crash it starts again."""
        if self._browser is not None and self._browser.is_connected():
            return
        self.end()
        with self._in_loop():
            before = set(psutil.Process().children())
            self._playwright = sync_playwright().start()
            [self._driver] = set(psutil.Process().children()) - before
            leaks.kept.add(self._driver.pid)
            options = {"executable_path": find_chromium(), "args": ARGUMENTS, "timeout": 3 * PATIENCE_MS}
            self._browser = self._playwright.chromium.launch(**options)
            self._loop = (asyncio.get_running_loop(), sys.get_asyncgen_hooks())

    @contextmanager
    def lent(self) -> Iterator[Browser]:
        """The browser, for the contexts of one test: they are closed at the end."""
        assert self._browser is not None, "a test without the marker `browser` has no browser"
        with self._in_loop():
            try:
                yield self._browser
            finally:
                for context in self._browser.contexts:
                    context.close()

    def end(self) -> None:
        """End the browser and its driver, if they run."""
        if self._playwright is None or self._driver is None:
            return
        with self._in_loop():
            self._playwright.stop()  # the driver ends the browser and its processes
        self._driver.wait(PATIENCE_MS / 1000)
        leaks.kept.remove(self._driver.pid)
        self.__init__()  # type: ignore[misc]

    @contextmanager
    def _in_loop(self) -> Iterator[None]:
        """The loop of the driver is the running one in the block only."""
        hooks = sys.get_asyncgen_hooks()
        asyncio._set_running_loop(self._loop[0])
        sys.set_asyncgen_hooks(*self._loop[1])
        try:
            yield
        finally:
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)


shared = SharedBrowser()
