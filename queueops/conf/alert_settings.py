"""Settings of alerts: reads `QUEUEOPS["ALERTS"]`: who is told of which alarms, and the heartbeat of the watchdog.

Targets are secrets: an error never shows one, and neither does the text of an object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings as django_settings

from queueops.conf import readers as read
from queueops.errors import advice
from queueops.model.redact import MASK

LEVELS = ("danger", "warning")
CHANNELS = ("mail", "webhook", "apprise")
MOST_RULES = 50
HOUR_S = 3600.0

_HTTP = re.compile(r"https?://[^\s/?#]+[^\s]*")
_SECRET = re.compile(r"whsec_(?:[A-Za-z0-9+/]{4}){8,21}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)(?: (\S+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertTarget:
    """Where a message goes: addresses of mail, or the URL of a webhook or of apprise."""

    name: str
    channel: str
    addresses: tuple[str, ...] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)  # of a webhook; each signs


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """A part of each day in which no message is sent. It may include midnight."""

    begin: time
    end: time
    zone: str = ""  # empty: TIME_ZONE of Django's settings

    def includes(self, now: datetime) -> bool:
        """Whether this moment, with any zone, is within the quiet hours."""
        here = now.astimezone(ZoneInfo(self.zone or django_settings.TIME_ZONE)).time()
        if self.begin <= self.end:
            return self.begin <= here < self.end
        return here >= self.begin or here < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """Which alarms are sent, when, and to which targets."""

    name: str
    to: tuple[str, ...]
    levels: tuple[str, ...] = LEVELS
    alarms: tuple[str, ...] = ("*",)  # patterns of alarm keys
    pools: tuple[str, ...] = ("*",)  # patterns; an alarm of no pool concerns all of them
    after: float = 0.0  # seconds that an alarm must last
    repeat: float = HOUR_S  # seconds; 0 = never
    recovered: bool = True  # whether the end of an alarm is sent, too
    quiet: QuietHours | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A URL that the watchdog calls, so that another system notices when it is gone."""

    url: str = field(repr=False)
    every: float = 60.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettings:
    """All of `QUEUEOPS["ALERTS"]`."""

    targets: Mapping[str, AlertTarget] = field(default_factory=dict)
    rules: tuple[AlertRule, ...] = ()
    heartbeat: Heartbeat | None = None
    console_url: str = ""  # where the console is, for links in messages

    @property
    def is_used(self) -> bool:
        """Whether the watchdog has anything to send."""
        return bool(self.rules or self.heartbeat)


NO_ALERTS = AlertSettings()


def read_alerts(value: Any) -> AlertSettings:
    """Read `QUEUEOPS["ALERTS"]`. Raises Unfit with the path of the wrong part."""
    for key in ("TARGETS", "HEARTBEAT"):
        if isinstance(value, Mapping) and not isinstance(value.get(key, {}), Mapping):
            raise read.Unfit("a dict", (key,), MASK)
    found = {key.lower(): item for key, item in read.table(READERS)(value).items()}
    targets, rules = found.get("targets", {}), found.get("rules", ())
    for rule in rules:
        for name in rule.to:
            if name not in targets:
                expected = f"a list of names in QUEUEOPS['ALERTS']['TARGETS']{advice(name, targets)}"
                raise read.Unfit(expected, ("RULES", rule.name, "to"), name)
    return AlertSettings(**found)


def _targets(value: Any) -> dict[str, AlertTarget]:
    """The targets by name. No error shows a value: a wrong one may hold a secret, too."""
    found = {}
    for name, item in value.items():
        try:
            found[read.name(name)] = _target(name, item)
        except read.Unfit as unfit:
            raise type(unfit)(unfit.expected, (str(name), *unfit.path), MASK) from None
    return found


def _target(name: str, value: Any) -> AlertTarget:
    expected = 'a dict with one of "mail", "webhook" and "apprise"'
    if not isinstance(value, Mapping):
        raise read.Unfit(expected)
    found = read.table(TARGET)(value)
    secrets = found.pop("secrets", ())
    if len(found) != 1 or (secrets and "webhook" not in found):
        raise read.Unfit(expected + ', and "secrets" only beside "webhook"')
    ((channel, addresses),) = found.items()
    return AlertTarget(name=name, channel=channel, addresses=addresses, secrets=secrets)


def _mail(value: Any) -> tuple[str, ...]:
    found = read.texts([value] if isinstance(value, str) else value)
    if not found or not all(re.fullmatch(r"[^\s@,]+@[^\s@,]+", each) for each in found):
        raise read.Unfit("an address of mail, or a list of them")
    return found


def _url(value: Any) -> str:
    if not isinstance(value, str) or not _HTTP.fullmatch(value):
        raise read.Unfit("a URL that begins with https:// or http://")
    return value


def _apprise(value: Any) -> tuple[str, ...]:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-z0-9]*://\S+", value):
        raise read.Unfit('a URL of apprise, such as "slack://..."')
    return (value,)


def _secrets(value: Any) -> tuple[str, ...]:
    found = read.texts(value)
    if not all(map(_SECRET.fullmatch, found)):
        raise read.Unfit('a list of "whsec_" and 24 to 64 bytes in base64')
    return found


def _rules(value: Any) -> tuple[AlertRule, ...]:
    if isinstance(value, Mapping) and len(value) > MOST_RULES:
        raise read.Unfit(f"a dict of at most {MOST_RULES} rules")
    found = read.each(read.table(RULE))(value)
    for name, rule in found.items():
        if not rule.get("to"):
            raise read.Unfit("a list of the targets that get the messages", (name, "to"), rule.get("to"))
    return tuple(AlertRule(name=name, **rule) for name, rule in found.items())


def _levels(value: Any) -> tuple[str, ...]:
    found = read.texts([value] if isinstance(value, str) else value)
    if not found or not set(found) <= set(LEVELS):
        raise read.Unfit(f"a list of {' and '.join(LEVELS)}")
    return found


def _patterns(value: Any) -> tuple[str, ...]:
    found = read.texts(value)
    if not found:
        raise read.Unfit("a list of patterns, in which * stands for any characters")
    return found


def _quiet(value: Any) -> QuietHours:
    found = _HOURS.fullmatch(value) if isinstance(value, str) else None
    expected = 'hours such as "22:00-07:00", or with a time zone such as "22:00-07:00 Europe/Berlin"'
    if found is None:
        raise read.Unfit(expected)
    zone = found[5] or ""
    try:
        ZoneInfo(zone or "UTC")
    except (KeyError, ValueError, OSError):
        raise read.Unfit(expected) from None
    begin, end = (time(int(found[each]), int(found[each + 1])) for each in (1, 3))
    return QuietHours(begin=begin, end=end, zone=zone)


def _heartbeat(value: Any) -> Heartbeat:
    """The heartbeat. Its URL is a secret, too."""
    found = read.table(HEARTBEAT)(value)
    try:
        return Heartbeat(**(found | {"url": _url(found.get("url"))}))
    except read.Unfit as unfit:
        raise read.Unfit(unfit.expected, ("url",), MASK) from None


TARGET: dict[str, read.Reader[Any]] = {
    "mail": _mail,
    "webhook": lambda value: (_url(value),),
    "apprise": _apprise,
    "secrets": _secrets,
}
RULE: dict[str, read.Reader[Any]] = {
    "to": read.texts,
    "levels": _levels,
    "alarms": _patterns,
    "pools": _patterns,
    "after": read.seconds(0, read.DAY),
    "repeat": read.seconds(0, 30 * read.DAY),
    "recovered": read.flag,
    "quiet": read.optional(_quiet),
}
HEARTBEAT: dict[str, read.Reader[Any]] = {"url": read.given, "every": read.seconds(1, read.DAY)}
READERS: dict[str, read.Reader[Any]] = {
    "TARGETS": _targets,
    "RULES": _rules,
    "HEARTBEAT": _heartbeat,
    "CONSOLE_URL": _url,
}
