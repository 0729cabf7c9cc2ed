"""Tables of the settings: one class for each setting that is a dict, and the reader of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from queueops.conf import readers as read

DAY = 86400.0
MOST_RATE = 100_000.0
"""The highest rate of a lane, in starts per second: more than a pool can do."""
RETENTION = {"succeeded": DAY, "failed": 14 * DAY, "cancelled": DAY}


class Transactions(StrEnum):
    """What a push in a database transaction does."""

    NOW = "now"
    WARN = "warn"
    ON_COMMIT = "on_commit"
    OUTBOX = "outbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSettings:
    """A lane's initial settings; an operator may change them at run time."""

    limit: int | None = None  # tasks at once; None = no limit
    rate: float | None = None  # starts a second; None = no limit
    weight: int = 1  # share of the claims beside other lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """A pool's defaults, for options that neither the task nor the push sets."""

    timeout: float | None = None  # seconds; None = no limit
    retries: int | None = None  # None = the option of the task
    lanes: Mapping[str, LaneSettings] = field(default_factory=dict)
    lane_patterns: Mapping[str, LaneSettings] = field(default_factory=dict)  # for all other lanes; * = any characters

    def pattern_of(self, lane: str) -> LaneSettings | None:
        """The settings of the first matching pattern; None for a lane that has settings of its own."""
        if lane in self.lanes:
            return None
        return next((found for pattern, found in self.lane_patterns.items() if fnmatchcase(lane, pattern)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRetry:
    """Retries of the broker: `attempts` in all, `base` seconds apart, doubled up to `cap`, with jitter.

    It does not retry once `budget` seconds have passed.
    """

    attempts: int = 5
    base: float = 0.05
    cap: float = 1.0
    budget: float = 10.0


class Color(StrEnum):
    """The colors of an environment's mark."""

    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"
    GREY = "grey"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment that the console marks on its pages, so that no operator takes one for another."""

    name: str
    color: Color = Color.GREY


@dataclass(frozen=True, slots=True, kw_only=True)
class SentrySettings:
    """What `queueops.contrib.sentry` sends."""

    retries: bool = False  # an event also for an attempt that will be tried again
    monitors: bool = True  # a check-in for each run of a schedule of the code
    arguments: bool = True  # the arguments of a task in its events, masked by REDACT


def as_pool(value: Any) -> PoolSettings:
    """A pool of POOLS."""
    found = POOL(value)
    lanes: dict[str, LaneSettings] = found.pop("lanes", {})
    patterns = {lane: said for lane, said in lanes.items() if "*" in lane}
    named = {lane: said for lane, said in lanes.items() if "*" not in lane}
    return PoolSettings(**found, lanes=named, lane_patterns=patterns)


def as_lane(value: Any) -> LaneSettings:
    """A lane of a pool's lanes."""
    return LaneSettings(**LANE(value))


def as_retention(value: Any) -> dict[str, float]:
    """RETENTION, completed by the defaults."""
    return RETENTION | KEPT(value)


def as_environment(value: Any) -> Environment:
    """ENVIRONMENT, which needs a name."""
    found = ENVIRONMENT(value)
    if "name" not in found:
        raise read.Unfit('a dict with a "name", and perhaps a "color"')
    return Environment(**found)


def as_sentry(value: Any) -> SentrySettings:
    """SENTRY."""
    return SentrySettings(**SENTRY(value))


def as_retry(value: Any) -> BrokerRetry:
    """RETRY."""
    return BrokerRetry(**RETRY(value))


LANE = read.table(
    {
        "limit": read.optional(read.whole(1)),
        "rate": read.optional(read.number(0.001, MOST_RATE)),
        "weight": read.whole(1, 1000),
    }
)
POOL = read.table(
    {
        "timeout": read.optional(read.seconds(0.001)),
        "retries": read.optional(read.whole(0)),
        "lanes": read.each(as_lane, read.lane_or_pattern),
    }
)
KEPT = read.table(dict.fromkeys(RETENTION, read.seconds(0)))
CONNECT: dict[str, read.Reader[Any]] = (
    dict.fromkeys(("username", "password", "client_name"), read.text)
    | dict.fromkeys(("socket_timeout", "socket_connect_timeout"), read.optional(read.seconds(0.001, read.DAY)))
    | {"db": read.whole(0), "max_connections": read.whole(1), "socket_read_size": read.whole(1)}
    | {
        "health_check_interval": read.seconds(0, read.DAY),
        "socket_keepalive": read.flag,
        "ssl_check_hostname": read.flag,
    }
    | dict.fromkeys(("credential_provider", "redis_connect_func", "socket_keepalive_options"), read.given)
    | dict.fromkeys(("ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_ca_path", "ssl_ca_data"), read.given)
    | dict.fromkeys(("ssl_password", "ssl_cert_reqs", "ssl_min_version", "ssl_ciphers"), read.given)
)
"""The options of redis-py's connections that may be set."""
OURS: dict[str, read.Reader[Any]] = dict.fromkeys(
    ("decode_responses", "encoding", "encoding_errors", "protocol", "parser_class"),
    read.reserved("QueueOps relies on its own value"),
) | dict.fromkeys(
    ("retry", "retry_on_timeout", "retry_on_error"),
    read.reserved("QUEUEOPS['RETRY'] says how often a call is repeated"),
)
RETRY = read.table(
    {"attempts": read.whole(1, 100)} | dict.fromkeys(("base", "cap", "budget"), read.seconds(0.001, read.DAY))
)

ENVIRONMENT = read.table({"name": read.short_text, "color": read.choice(Color)})
SENTRY = read.table(dict.fromkeys(("retries", "monitors", "arguments"), read.flag))
