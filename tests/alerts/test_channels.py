"""Channels of alerts, each with a real server: what arrives, and what a failure tells."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from standardwebhooks import Webhook

from queueops import conf
from queueops.alerts import channels
from queueops.alerts.heartbeat import DeadMansSwitch
from queueops.alerts.message import Message, message_of_test, of_incident
from queueops.conf.alert_settings import AlertTarget
from queueops.model.alerts import FIRING, RECOVERED, Incident
from tests.alerts.conftest import Mailbox, UseAlerts
from tests.jobs.servers import LocalServer
from tests.support.mail import use_mail

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # apprise imports it where it is
SECRET = f"whsec_{base64.b64encode(bytes([7]) * 24).decode()}"
PASSWORD = "hunter2hunter2"


def target(channel: str, *addresses: str, secrets: tuple[str, ...] = ()) -> AlertTarget:
    return AlertTarget(name="ops", channel=channel, addresses=addresses, secrets=secrets)


@pytest.fixture
def message(use_alerts: UseAlerts) -> Message:
    use_alerts({}, CONSOLE_URL="https://ops.example/ops")
    incident = Incident(
        rule="urgent",
        key="unserved mail",
        level="danger",
        text="No live worker serves the pool mail\nfor 3 min; its password=hunter2hunter2.",
        command="manage.py runworker --pool mail",
        pools=["mail"],
        begun_ms=1_795_860_000_000,
        seen_ms=1_795_860_180_000,
        status=FIRING,
        number=1,
        sent_ms=1_795_860_180_000,
    )
    return of_incident(incident)


def test_a_mail_has_the_alarm_its_remedy_and_the_way_to_the_console(mailbox: Mailbox, message: Message) -> None:
    assert channels.send(target("mail", "ada@example.com", "bob@example.com"), message) is None
    (letter,) = mailbox.letters
    assert letter["To"] == "ada@example.com, bob@example.com"
    namespace = conf.current().namespace
    assert letter["Subject"].replace("\r\n", "").startswith(f"[{namespace}] Alarm, urgent: No live worker serves")
    assert letter["Message-ID"] == f"<{message.id}@queueops>"  # a repeated mail has the same
    body = letter.get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert "Since 2026-11-28" in body
    assert "Command: manage.py runworker --pool mail" in body
    assert "Console: https://ops.example/ops/alerts/" in body
    assert "hunter2" not in body


def test_a_refused_recipient_is_final_and_a_missing_server_is_not(
    mailbox: Mailbox, message: Message, settings: Any
) -> None:
    mailbox.refusal = "550 no such user ada@example.com"
    refused = channels.send(target("mail", "ada@example.com"), message)
    assert refused is not None
    assert refused.is_final
    assert "ada@" not in refused.error
    use_mail(settings, "smtp", port=1)
    gone = channels.send(target("mail", "ada@example.com"), message)
    assert gone is not None
    assert not gone.is_final
    assert "ConnectionRefusedError" in gone.error


def test_a_webhook_is_signed_and_each_attempt_has_the_same_id(receiver: LocalServer, message: Message) -> None:
    to = target("webhook", receiver.url("/hook"), secrets=(SECRET,))
    assert [channels.send(to, message) for _ in range(2)] == [None, None]
    first, second = receiver.asked
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == message.id
    found = Webhook(SECRET).verify(first.body, {name.lower(): value for name, value in first.headers.items()})
    assert found["type"] == "queueops.alert.firing"
    data = found["data"]
    assert (data["key"], data["pools"], data["rule"], data["level"]) == ("unserved mail", ["mail"], "urgent", "danger")
    assert (data["incident"], data["number"]) == (message.incident, 1)


def test_the_network_guard_refuses_a_private_address_of_each_channel(
    receiver: LocalServer, message: Message, settings: Any
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {"PORTS": None}}
    apprise = f"json://127.0.0.1:{receiver.port}/{PASSWORD}"
    for to in (target("webhook", receiver.url(f"/{PASSWORD}")), target("apprise", apprise)):
        failure = channels.send(to, message)
        assert failure is not None
        assert failure.is_final
        assert "loopback" in failure.error
        assert PASSWORD not in failure.error
    assert not receiver.asked


def test_apprise_sends_to_its_url_and_tells_no_secret_of_a_failure(receiver: LocalServer, message: Message) -> None:
    to = target("apprise", f"json://ada:{PASSWORD}@127.0.0.1:{receiver.port}/hook")
    assert channels.send(to, message) is None
    sent = json.loads(receiver.asked[0].body)
    assert (sent["title"], sent["message"], sent["type"]) == (message.title, message.body, "failure")
    receiver.routes["/hook"] = lambda exchange: exchange.answer(500)
    failure = channels.send(to, message)
    assert failure is not None
    assert "500" in failure.error
    for unread in ("nosuchservice://abc", "slack://too-short"):
        failure = channels.send(target("apprise", unread), message)
        assert failure is not None
        assert failure.is_final
        assert "too-short" not in failure.error


def test_a_shown_target_and_a_failure_of_it_have_no_secret(message: Message, receiver: LocalServer) -> None:
    url = f"http://127.0.0.1:{receiver.port}/{PASSWORD}?key={PASSWORD}"
    receiver.routes[f"/{PASSWORD}"] = lambda exchange: exchange.answer(404)
    failure = channels.send(target("webhook", url), message)
    assert failure is not None
    assert (failure.is_final, "404" in failure.error) == (True, True)
    shown = [
        channels.shown(target("mail", "ada@example.com", "bob@example.com")),
        channels.shown(target("webhook", url)),
        channels.shown(target("apprise", f"slack://{PASSWORD}/b/c")),
    ]
    assert shown == ["a***@example.com, b***@example.com", "http://127.0.0.1/[redacted]", "slack://[redacted]"]
    assert PASSWORD not in repr(target("webhook", url, secrets=(SECRET,)))
    said = f"550 ada@example.com: no\n{PASSWORD} at 127.0.0.1, {SECRET}"
    for to, left in (
        (target("mail", "ada@example.com"), f"550 [redacted]: no {PASSWORD} at 127.0.0.1, {SECRET}"),
        (target("webhook", url, secrets=(SECRET,)), "550 ada@example.com: no [redacted] at 127.0.0.1, [redacted]"),
    ):
        assert channels.without_secrets(to, said) == left


def test_titles_tell_what_has_happened_and_a_test_says_that_it_is_one(message: Message) -> None:
    over = msgspec.structs.replace(message, status=RECOVERED)
    assert "Recovered: No live worker" in over.title
    assert "Command" not in over.body
    test = message_of_test("ops", "ada", 1_795_860_000_000)
    assert "Test: A test of the alert target ops, sent by ada. No action is needed." in test.title


def test_the_heartbeat_calls_its_url_only_while_the_watchdog_works(
    use_alerts: UseAlerts, receiver: LocalServer, caplog: pytest.LogCaptureFixture
) -> None:
    use_alerts({}, HEARTBEAT={"url": receiver.url("/beat?key=hunter2hunter2"), "every": 1})
    heartbeat = conf.current().alerts.heartbeat
    assert heartbeat is not None
    works = True
    switch = DeadMansSwitch(heartbeat, lambda: works)
    assert switch.beat()
    assert [(each.method, each.path) for each in receiver.asked] == [("GET", "/beat?key=hunter2hunter2")]
    works = False
    assert not switch.beat()
    assert len(receiver.asked) == 1
    works = True
    receiver.routes["/beat"] = lambda exchange: exchange.answer(404)
    assert not switch.beat()
    assert "404" in caplog.text
    assert "hunter2" not in caplog.text
