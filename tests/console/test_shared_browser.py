"""The browser that all tests of a process share: contexts of two tests are apart, and its loop is in no test's way."""

from __future__ import annotations

import asyncio
import threading

import pytest
from playwright.sync_api import Browser

from tests.support import leaks
from tests.support.shared_browser import SharedBrowser, shared

pytestmark = pytest.mark.browser
URL = "http://127.0.0.1/"


def cookies(browser: Browser) -> list[str]:
    """The names of the cookies of a new context, which gets one more and stays open."""
    context = browser.new_context()
    found = [cookie["name"] for cookie in context.cookies(URL)]
    context.add_cookies([{"name": "sessionid", "value": "x", "url": URL}])
    return found


def test_a_loan_leaves_no_context_to_the_next() -> None:
    for _ in range(2):
        with shared.lent() as browser:
            assert browser.contexts == []
            assert cookies(browser) == []
            assert len(browser.contexts) == 1


def test_a_test_runs_a_loop_of_its_own_between_two_loans() -> None:
    with shared.lent() as browser:
        assert cookies(browser) == []
    assert asyncio.run(asyncio.sleep(0, "done")) == "done"
    with shared.lent() as browser:
        assert cookies(browser) == []


def test_a_failed_test_gives_the_browser_back() -> None:
    def fail() -> None:
        with shared.lent() as browser:
            raise RuntimeError(cookies(browser))

    with pytest.raises(RuntimeError, match=r"\[\]"):
        fail()
    with shared.lent() as browser:
        assert browser.contexts == []


def test_a_browser_that_is_gone_is_started_again_and_ends_with_its_processes() -> None:
    outcome: list[str] = []
    before = leaks.running()

    def run() -> None:  # a driver has its loop in the thread that started it
        own = SharedBrowser()
        own.start()
        with own.lent() as browser:
            browser.close()
        own.start()
        with own.lent() as browser:
            outcome.extend(cookies(browser) or ["no cookie"])
        own.end()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert outcome == ["no cookie"]
    assert leaks.left_over(before) == ""
