"""Fixtures of alerts: a real mail server, a real web server, and settings that send to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from email.message import Message
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as Letters

from tests.jobs.conftest import LOCAL
from tests.jobs.servers import LocalServer, serving
from tests.support.mail import use_mail
from tests.support.topology import free_ports

UseAlerts = Callable[..., None]
"""Sets `QUEUEOPS["ALERTS"]`."""


class Mailbox(Letters):
    """A mail server's handler that keeps what it gets, or refuses all recipients with an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.letters: list[Message] = []
        self.refusal = ""

    def handle_message(self, message: Message) -> None:
        self.letters.append(message)

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        if self.refusal:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    """A real mail server, which Django's settings name."""
    box = Mailbox()
    controller = Controller(box, hostname="127.0.0.1", port=free_ports(1)[0])
    controller.start()
    use_mail(settings, "smtp", *controller.server.sockets[0].getsockname()[:2])
    yield box
    controller.stop()


@pytest.fixture
def receiver() -> Iterator[LocalServer]:
    """A real web server that takes messages at /hook and heartbeats at /beat."""
    routes = {path: lambda exchange: exchange.answer(204) for path in ("/hook", "/beat")}
    with serving(routes) as server:
        yield server


@pytest.fixture
def use_alerts(settings: Any, namespace: str) -> UseAlerts:
    """Set the alerts of this test; the network guard permits local servers."""

    def use(targets: dict[str, Any], rules: dict[str, Any] | None = None, **more: Any) -> None:
        alerts = {"TARGETS": targets, "RULES": rules or {}} | more
        settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL, "ALERTS": alerts}

    return use
