"""A real browser before the console: a server of the test's own, a page in which an administrator is logged in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from threading import Lock, Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.contrib.auth.models import User
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections
from django.test import Client
from playwright.sync_api import Page, expect

from tests.support.shared_browser import PATIENCE_MS, shared

Open = Callable[..., Page]

expect.set_options(timeout=PATIENCE_MS)


class Server(ThreadingMixIn, WSGIServer):
    """Answers in threads of its own, which all end with it."""

    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser may hang up in the middle."""


class Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def serving(console: Callable[..., Any] | None = None) -> Iterator[str]:
    """The console on a free port, in this process and in the test's own transaction: its end takes all back."""
    shared = connections["default"]
    shared.inc_thread_sharing()
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    console, turn = console or StaticFilesHandler(WSGIHandler()), Lock()

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        with turn:  # one connection, one request at a time
            connections["default"] = shared
            return console(environ, start_response)

    with make_server("127.0.0.1", 0, answer, Server, Quiet) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
    shared.dec_thread_sharing()


@contextmanager
def browsing(url: str) -> Iterator[Open]:
    """A function that opens a page of the console in a new context; every complaint of the browser fails the test.

    Nothing moves in it: a machine without a graphics card would spend a third of a core on the animations of each page.
    The browser's driver runs a loop in this thread, in which Django has other connections: ask the database before.
    """
    session = log_in()
    complaints: list[str] = []
    with shared.lent() as browser:

        def open_page(path: str = "", *, logged_in: bool = True, **options: Any) -> Page:
            context = browser.new_context(base_url=url, **{"reduced_motion": "reduce"} | options)
            context.set_default_timeout(PATIENCE_MS)
            if logged_in:
                context.add_cookies([{"name": "sessionid", "value": session, "url": url}])
            page = context.new_page()
            watch(page, url, complaints)
            page.goto(f"/ops/{path}")
            return page

        yield open_page
    assert complaints == [], complaints


def log_in() -> str:
    """The cookie of a session of an administrator; the login page has tests of its own."""
    client = Client()
    client.force_login(User.objects.create_superuser("ada", password="correct horse"))
    return client.cookies["sessionid"].value


def watch(page: Page, url: str, complaints: list[str]) -> None:
    """Take down errors of scripts, broken rules of the policy, and requests to other hosts."""

    def heard(kind: str, text: str) -> None:
        if kind == "error" and not text.startswith(("Failed to load resource", "Response Status Error")):
            complaints.append(text)

    page.on("console", lambda message: heard(message.type, message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request", lambda request: None if request.url.startswith((url, "data:")) else complaints.append(request.url)
    )


def tick(page: Page, times: int = 1) -> None:
    """Fire the tick of the live regions, and wait until it was answered and settled."""
    for _ in range(times):
        with page.expect_response(lambda response: "/_" in response.url):
            page.evaluate("htmx.trigger(document.body, 'ops:tick')")
        expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)


def menus_stay(page: Page, *menus: str) -> None:
    """Open each of these menus, and compare its panel with the edges of the screen."""
    for menu in menus:
        opened = page.locator(menu).first
        opened.locator("> summary").click()
        box = opened.locator("> .menu-panel").bounding_box()
        assert box is not None
        assert box["x"] >= 0, menu
        assert box["x"] + box["width"] <= page.evaluate("innerWidth"), menu
        opened.locator("> summary").click()
