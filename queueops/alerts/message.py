"""Alert message: what a target gets, as text for people and as JSON for programs."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from queueops import conf
from queueops.model.alerts import AGAIN, FIRING, RECOVERED, TEST, Incident, digest

WORDS = {FIRING: "Alarm", AGAIN: "Still", RECOVERED: "Recovered", TEST: "Test"}
URGENT = "danger"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message. Each attempt to send it has the same id; all messages of an incident have its id."""

    id: str
    incident: str
    status: str  # firing, again, recovered, test
    namespace: str
    rule: str = ""
    key: str = ""
    level: str = "warning"
    text: str
    command: str = ""
    pools: list[str] = []
    begun_ms: int
    sent_ms: int
    number: int = 1
    url: str = ""

    @property
    def title(self) -> str:
        """One line, for the subject of a mail."""
        urgent = ", urgent" if self.level == URGENT and self.status in (FIRING, AGAIN) else ""
        return f"[{self.namespace}] {WORDS[self.status]}{urgent}: {' '.join(self.text.split())[:150]}"

    @property
    def body(self) -> str:
        """The text for people."""
        lines = [self.text, "", f"Since {_moment(self.begun_ms)}."]
        if self.status == RECOVERED:
            lines[-1] = f"It began at {_moment(self.begun_ms)}, and was over at {_moment(self.sent_ms)} at the latest."
        if self.command and self.status != RECOVERED:
            lines.append(f"Command: {self.command}")
        if self.url:
            lines.append(f"Console: {self.url}")
        told = f"Rule {self.rule}, message {self.number:,}, id {self.id}." if self.rule else f"Id {self.id}."
        return "\n".join([*lines, told])

    def json(self) -> bytes:
        """The body of a webhook."""
        return msgspec.json.encode(
            {
                "type": f"queueops.alert.{self.status}",
                "timestamp": datetime.fromtimestamp(self.sent_ms / 1000, UTC).isoformat(),
                "data": msgspec.to_builtins(self) | {"title": self.title},
            }
        )


def of_incident(incident: Incident) -> Message:
    """The current message of an incident, with masked secrets."""
    settings = conf.current()
    redact = conf.redactor().text
    return Message(
        id=incident.message_id,
        incident=incident.id,
        status=incident.status,
        namespace=settings.namespace,
        rule=incident.rule,
        key=incident.key,
        level=incident.level,
        text=redact(incident.text),
        command=redact(incident.command),
        pools=incident.pools,
        begun_ms=incident.begun_ms,
        sent_ms=incident.sent_ms,
        number=incident.number,
        url=page_url(),
    )


def message_of_test(target: str, who: str, now_ms: int) -> Message:
    """A message that tells of no alarm."""
    id = digest("test", target, str(now_ms))
    text = f"A test of the alert target {target}, sent by {who}. No action is needed."
    namespace = conf.current().namespace
    return Message(
        id=id, incident=id, status=TEST, namespace=namespace, text=text, begun_ms=now_ms, sent_ms=now_ms, url=page_url()
    )


def page_url() -> str:
    """The console's page of alerts; empty without the setting CONSOLE_URL."""
    base = conf.current().alerts.console_url
    return f"{base.rstrip('/')}/alerts/" if base else ""


def _moment(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
