"""Alert channels: one attempt to send a message to a target, by mail, by a signed webhook or by apprise.

A failure is a text without secrets. The network guard of jobs permits or refuses the address of a webhook, and the
host that a URL of apprise names.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from smtplib import SMTPRecipientsRefused
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from django.core import mail

from queueops import conf
from queueops.alerts.message import Message
from queueops.conf.alert_settings import AlertTarget
from queueops.errors.job_network import AddressRefused
from queueops.model.alerts import RECOVERED, TEST
from queueops.model.redact import MASK

TIMEOUT_S = 10.0
MISSING = "The package {name} is not installed: pip install 'queueops[alerts]'"
LONGEST_ERROR = 300
WEBHOOK = "alert target"
"""What the network guard calls an address that it refuses."""


class Failure(NamedTuple):
    """Why a message was not sent. `is_final`: another attempt would fail in the same way."""

    error: str
    is_final: bool = False


def send(target: AlertTarget, message: Message) -> Failure | None:
    """Make one attempt; None if the target has the message. Raises nothing."""
    try:
        failure = CHANNELS[target.channel](target, message)
    except ModuleNotFoundError as error:
        failure = Failure(MISSING.format(name=error.name), is_final=True)
    except Exception as error:  # of a mail backend or a plugin, which may raise anything
        failure = Failure(f"{type(error).__name__}: {error}", is_final=isinstance(error, AddressRefused))
    return failure and failure._replace(error=without_secrets(target, failure.error))


def call(url: str, what: str) -> None:
    """GET a URL that the network guard of jobs permits. Raises its errors, and ValueError without a success."""
    from queueops.kinds.jobs.http.http_client import Deadline, answer_to
    from queueops.kinds.jobs.http.net_guard import check_url
    from queueops.kinds.jobs.settings import of_jobs

    settings = of_jobs()
    target, deadline = check_url(url, what, settings), Deadline(TIMEOUT_S)
    with answer_to("GET", target, what=what, headers={}, settings=settings, deadline=deadline) as answer:
        if not answer.is_success:
            raise ValueError(f"the answer has the status {answer.status_code}")


def shown(target: AlertTarget) -> str:
    """The address of a target, masked: enough to tell it from others."""
    if target.channel == "mail":
        return ", ".join(f"{each[0]}***@{each.rpartition('@')[2]}" for each in target.addresses)
    parts = urlsplit(target.addresses[0])
    if target.channel == "apprise":
        return f"{parts.scheme}://{MASK}"
    return f"{parts.scheme}://{parts.hostname}/{MASK}"


def without_secrets(target: AlertTarget, text: str) -> str:
    """A text without any part of the target's addresses, in one line and cut."""
    parts = {part for each in (*target.addresses, *target.secrets) for part in _parts(target.channel, each)}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, MASK)
    return conf.redactor().text(" ".join(text.split()))[:LONGEST_ERROR]


def _parts(channel: str, address: str) -> set[str]:
    """The parts of an address that may be secret: all but the host of a webhook."""
    if channel == "mail":
        return {address}
    host = urlsplit(address).hostname if channel == "webhook" else None
    words = {word for each in (address, unquote(address)) for word in re.split(r"[/?&=:@#,]+", each)}
    return {address, *(word for word in words if len(word) >= 6 and word != host)} - {"apprise", "webhook"}


def _mail(target: AlertTarget, message: Message) -> Failure | None:
    mailers: Any = getattr(mail, "mailers", None)  # since Django 6.1
    connection: Any = mail.get_connection() if mailers is None else mailers.default
    if getattr(connection, "timeout", 0) is None:
        connection.timeout = TIMEOUT_S
    headers = {"Message-ID": f"<{message.id}@queueops>", "References": f"<{message.incident}@queueops>"}
    letter = mail.EmailMessage(message.title, message.body, to=list(target.addresses), headers=headers)
    try:
        return None if connection.send_messages([letter]) else Failure("The mail backend sent nothing.")
    except SMTPRecipientsRefused as error:
        codes = ", ".join(sorted({str(code) for code, _ in error.recipients.values()}))
        return Failure(f"The mail server refused the recipients ({codes}).", is_final=codes.startswith("55"))


def _webhook(target: AlertTarget, message: Message) -> Failure | None:
    from queueops.kinds.jobs.callbacks.webhook import Delivery  # its packages are an extra, and slow to import
    from queueops.kinds.jobs.callbacks.webhook import send as deliver
    from queueops.kinds.jobs.settings import of_jobs

    settings = of_jobs()
    secrets = target.secrets or settings.callback_secrets
    settings = replace(settings, callback_secrets=secrets, callback_timeout=TIMEOUT_S, callback_answer=0)
    sent = deliver(
        Delivery(id=message.id, url=target.addresses[0], body=message.json()), settings=settings, what=WEBHOOK
    )
    return None if sent.failure is None else Failure(sent.failure.reason, is_final=not sent.failure.retriable)


def _apprise(target: AlertTarget, message: Message) -> Failure | None:
    import apprise

    plugin = apprise.Apprise.instantiate(target.addresses[0], suppress_exceptions=True)
    if plugin is None:
        return Failure("Apprise cannot read the URL of this target.", is_final=True)
    _guard(plugin)
    kind = apprise.NotifyType.SUCCESS if message.status == RECOVERED else apprise.NotifyType.WARNING
    kind = apprise.NotifyType.FAILURE if message.level == "danger" and message.status != RECOVERED else kind
    kind = apprise.NotifyType.INFO if message.status == TEST else kind
    capture: Any = apprise.LogCapture
    with capture(level=logging.WARNING, fmt="%(message)s") as log:
        if plugin.notify(body=message.body, title=message.title, notify_type=kind):
            return None
        said = log.getvalue()
    return Failure(said or "Apprise could not send it.")


def _guard(plugin: Any) -> None:
    """Check the host that a URL names; the hosts of services such as Slack are those of apprise. Raises as a job."""
    if not plugin.host or not any("{host}" in str(template) for template in plugin.templates):
        return
    from queueops.kinds.jobs.http.net_guard import public_addresses
    from queueops.kinds.jobs.settings import of_jobs

    port = int(plugin.port or (443 if plugin.secure else 80))
    public_addresses(str(plugin.host), port, WEBHOOK, of_jobs())


CHANNELS = {"mail": _mail, "webhook": _webhook, "apprise": _apprise}
