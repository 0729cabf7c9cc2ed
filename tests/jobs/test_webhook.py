"""Callbacks on the wire: signatures, the same body at each attempt, and what an answer means."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from queueops.kinds.jobs.callbacks.webhook import Delivery, send
from queueops.kinds.jobs.http.http_failures import retry_after
from queueops.kinds.jobs.settings import JobSettings
from tests.jobs.servers import Exchange, LocalServer, Route, serving
from tests.support.for_each import for_each

OLD, NEW, OTHER = (f"whsec_{base64.b64encode(bytes([byte]) * 24).decode()}" for byte in (1, 2, 3))
BODY = '{"success":true,"extra":"é"}'.encode()


def answers(status: int, body: bytes = b"", **headers: str) -> Route:
    return lambda exchange: exchange.answer(status, body, **headers)


@pytest.fixture
def receiver() -> Iterator[LocalServer]:
    with serving({"/hook": answers(202)}) as server:
        yield server


@pytest.fixture
def delivery(receiver: LocalServer) -> Delivery:
    return Delivery(id="callback-1", url=receiver.url("/hook"), body=BODY)


def test_a_callback_is_delivered_and_each_key_verifies_its_signature(
    receiver: LocalServer, delivery: Delivery, local: JobSettings
) -> None:
    outcome = send(delivery, settings=replace(local, callback_secrets=(NEW, OLD)))
    assert (outcome.status, outcome.failure, outcome.gone) == (202, None, False)
    (asked,) = receiver.asked
    headers = {name.lower(): value for name, value in asked.headers.items()}
    assert (asked.method, asked.body, headers["content-type"]) == ("POST", BODY, "application/json")
    for secret in (NEW, OLD):
        assert Webhook(secret).verify(asked.body, headers) == {"success": True, "extra": "é"}
    for secret, body in ((OTHER, BODY), (NEW, BODY + b" ")):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, headers)


def test_each_attempt_has_the_same_body_and_id(receiver: LocalServer, delivery: Delivery, local: JobSettings) -> None:
    receiver.routes["/hook"] = answers(503)
    for _ in range(3):
        send(delivery, settings=local)
    kept = [(one.body, one.headers["webhook-id"], one.headers["idempotency-key"]) for one in receiver.asked]
    assert kept == [(BODY, "callback-1", "callback-1")] * 3


def test_without_a_secret_nothing_is_signed(receiver: LocalServer, delivery: Delivery, local: JobSettings) -> None:
    send(delivery, settings=local)
    assert "webhook-signature" not in receiver.asked[0].headers


def test_headers_of_a_callback_are_sent_but_never_instead_of_ours(
    receiver: LocalServer, delivery: Delivery, local: JobSettings
) -> None:
    send(replace(delivery, headers={"X-Shop": "7", "Webhook-Id": "forged"}), settings=local)
    assert receiver.asked[0].headers["X-Shop"] == "7"
    assert receiver.asked[0].headers["webhook-id"] == "callback-1"


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_status_that_may_pass_is_retriable(
    receiver: LocalServer, delivery: Delivery, local: JobSettings, status: int
) -> None:
    receiver.routes["/hook"] = answers(status, b"token=abc later", Retry_After="120")
    outcome = send(delivery, settings=local)
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.retriable, outcome.failure.retry_after) == (status, True, 120)
    assert outcome.failure.reason == f"The answer has the status {status}."
    assert outcome.answer == "token=[redacted] later"


@pytest.mark.parametrize("status", [301, 302, 303, 400, 401, 403, 404, 410, 413, 422])
def test_a_status_that_stays_is_permanent(
    receiver: LocalServer, delivery: Delivery, local: JobSettings, status: int
) -> None:
    receiver.routes["/hook"] = answers(status, Location="/other")
    outcome = send(delivery, settings=local)
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.retriable) == (status, False)
    assert outcome.gone == (status == 410)
    assert len(receiver.asked) == 1


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_keeps_the_body_is_followed(
    receiver: LocalServer, delivery: Delivery, local: JobSettings, status: int
) -> None:
    receiver.routes |= {"/hook": answers(status, Location="/there"), "/there": answers(200, b"thanks")}
    assert send(delivery, settings=local).answer == "thanks"
    assert [(one.method, one.body) for one in receiver.asked] == [("POST", BODY)] * 2


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_to_another_origin_keeps_the_signature_and_drops_credentials(
    receiver: LocalServer, delivery: Delivery, local: JobSettings, settings: Any, status: int
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"REDACT": ["webhook", "signature", "key"]}
    secrets = {"Authorization": "Basic eDp5", "Cookie": "a=b", "X-Api-Key": "abc"}
    with serving({"/there": answers(202)}) as other:
        receiver.routes["/hook"] = answers(status, Location=other.url("/there"))
        outcome = send(replace(delivery, headers=secrets), settings=replace(local, callback_secrets=(NEW,)))
        assert outcome.failure is None
        (asked,) = other.asked
    headers = {name.lower(): value for name, value in asked.headers.items()}
    assert Webhook(NEW).verify(asked.body, headers) == {"success": True, "extra": "é"}
    assert headers["idempotency-key"] == "callback-1"
    assert not headers.keys() & {name.lower() for name in secrets}


def test_a_callback_to_an_address_within_is_refused_for_good(receiver: LocalServer, delivery: Delivery) -> None:
    outcome = send(delivery, settings=JobSettings(ports=None))
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.kind, outcome.failure.retriable) == (None, "refused", False)
    assert "127.0.0.1 is loopback" in outcome.failure.reason
    assert receiver.asked == []


def endless(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Length", str(10**10))
    exchange.end_headers()
    while not exchange.local.over.is_set():
        exchange.wfile.write(b"." * 4096)


def test_at_most_the_beginning_of_an_answer_is_read(
    receiver: LocalServer, delivery: Delivery, local: JobSettings
) -> None:
    receiver.routes["/hook"] = endless
    outcome = send(delivery, settings=replace(local, callback_answer=100))
    assert (outcome.status, outcome.failure, outcome.answer) == (200, None, "." * 100)


def silent(exchange: Exchange) -> None:
    exchange.local.over.wait()
    exchange.close_connection = True


def test_a_receiver_that_is_silent_is_retriable(receiver: LocalServer, delivery: Delivery, local: JobSettings) -> None:
    receiver.routes["/hook"] = silent
    outcome = send(delivery, settings=replace(local, callback_timeout=0.3))
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.retriable) == ("timeout", True)
    assert outcome.failure.reason == "It took longer than 0.3 s."


def no_server(port: int) -> str:
    return f"http://127.0.0.1:{port}/"


def no_host(port: int) -> str:
    return "http://nothing.invalid/"


@pytest.mark.parametrize("url", [no_server, no_host])
def test_a_receiver_that_is_not_there_is_retriable(
    delivery: Delivery, local: JobSettings, url: Callable[[int], str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    outcome = send(replace(delivery, url=url(port)), settings=local)
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.kind, outcome.failure.retriable) == (None, "connection", True)


def test_a_server_that_speaks_no_tls_is_a_permanent_error(delivery: Delivery, local: JobSettings) -> None:
    outcome = send(replace(delivery, url=delivery.url.replace("http:", "https:")), settings=local)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.retriable) == ("tls", False)


@for_each(
    ("value", "seconds"),
    [("0", 0), ("120", 120), ("9" * 30, 86_400), ("-5", None), ("soon", None), ("", None), ("1.5", None),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("Wed, 21 Oct 9999 07:28:00 GMT", 86_400)],
)  # fmt: skip
def test_retry_after_is_read_as_seconds(value: str, seconds: float | None) -> None:
    assert retry_after(value) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert 3000 < (retry_after(formatdate(time.time() + 3600, usegmt=True)) or 0) <= 3600
