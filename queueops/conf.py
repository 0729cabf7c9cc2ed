"""The settings: `QUEUEOPS` of the Django settings, read once into a frozen object.

`current()` is what the rest of the engine asks. Durations are in seconds, as everywhere in Python code of this project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core.signals import setting_changed

from queueops import readings as read
from queueops.errors import BadSetting, QueueOpsError, UnknownSetting, advice
from queueops.scrub import scrub

DAY = 86400.0
MOST_RATE = 100_000.0
"""Starts a second that a lane may be limited to: more than a pool can do."""
RETENTION = {"succeeded": DAY, "failed": 14 * DAY, "cancelled": DAY}
REDACT = ("password", "passwd", "token", "secret", "authorization", "api_key", "cookie")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSettings:
    """What a lane starts with; an operator may change it while it runs."""

    limit: int | None = None  # tasks at once; None = no limit
    rate: float | None = None  # starts a second; None = no limit
    weight: int = 1  # its share of the claims beside other lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """A pool's defaults: they apply where neither the task nor the push says otherwise."""

    timeout: float | None = None  # seconds; None = no limit
    retries: int | None = None  # None = as the task says
    lanes: Mapping[str, LaneSettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRetry:
    """How often the broker asks again: `attempts` in all, `base` seconds apart, doubled up to `cap`, with jitter.

    It does not once `budget` seconds have passed.
    """

    attempts: int = 5
    base: float = 0.05
    cap: float = 1.0
    budget: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, with its default. The key in QUEUEOPS is the name in capitals."""

    url: str = "embedded:var/queueops"
    namespace: str = "queueops"
    pools: Mapping[str, PoolSettings] = field(default_factory=dict)
    payload_limit: int = 1024 * 1024  # bytes, for arguments and for results
    retention: Mapping[str, float] = field(default_factory=lambda: dict(RETENTION))  # seconds, by state
    retention_cap: int = 1_000_000  # ended tasks kept, by state
    middleware: tuple[str, ...] = ()
    lease: float = 30.0  # seconds; extended three times in that time
    max_crashes: int = 3
    grace: float = 25.0  # seconds that a worker's tasks have to end at shutdown
    unknown_after: float = 7 * DAY  # then a task whose name no worker knows is quarantined
    redact: tuple[str, ...] = REDACT
    read_only: bool = False  # the console shows and changes nothing
    connect: Mapping[str, Any] = field(default_factory=dict)  # options for redis-py's client
    retry: BrokerRetry = BrokerRetry()

    def pool(self, name: str) -> PoolSettings:
        """The defaults of a pool; a pool that is not declared has none."""
        return self.pools.get(name, PoolSettings())


def _pool(value: Any) -> PoolSettings:
    return PoolSettings(**POOL(value))


def _lane(value: Any) -> LaneSettings:
    return LaneSettings(**LANE(value))


def _retention(value: Any) -> dict[str, float]:
    return RETENTION | KEPT(value)


def _retry(value: Any) -> BrokerRetry:
    return BrokerRetry(**RETRY(value))


LANE = read.table(
    {
        "limit": read.optional(read.whole(1)),
        "rate": read.optional(read.number(0.001, MOST_RATE)),
        "weight": read.whole(1, 1000),
    }
)
POOL = read.table(
    {"timeout": read.optional(read.seconds(0.001)), "retries": read.optional(read.whole(0)), "lanes": read.each(_lane)}
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

READERS: dict[str, read.Reader[Any]] = {
    "URL": read.url,
    "NAMESPACE": read.namespace,
    "POOLS": read.each(_pool),
    "PAYLOAD_LIMIT": read.whole(1, 256 * 1024 * 1024),
    "RETENTION": _retention,
    "RETENTION_CAP": read.whole(0),
    "MIDDLEWARE": read.texts,
    "LEASE": read.seconds(0.1, read.DAY),
    "MAX_CRASHES": read.whole(1),
    "GRACE": read.seconds(0, read.DAY),
    "UNKNOWN_AFTER": read.seconds(1),
    "REDACT": read.texts,
    "READ_ONLY": read.flag,
    "CONNECT": read.table(CONNECT, refused=OURS),
    "RETRY": _retry,
}


def read_settings(raw: Any, environment: Mapping[str, str] | None = None) -> tuple[Settings, list[QueueOpsError]]:
    """The settings and everything that is wrong with them; what is wrong keeps its default.

    `QUEUEOPS_URL` in the environment wins over `URL`.
    """
    if not isinstance(raw, Mapping):
        return Settings(), [BadSetting(place="QUEUEOPS", value=repr(raw), expected="a dict")]
    chosen = dict(raw)
    if address := (os.environ if environment is None else environment).get("QUEUEOPS_URL"):
        chosen["URL"] = address
    errors: list[QueueOpsError] = []
    values = dict(_values(chosen, errors))
    return Settings(**values), errors


@cache
def current() -> Settings:
    """The settings of this process. Raises the first of their errors."""
    found, errors = read_settings(getattr(django_settings, "QUEUEOPS", {}))
    if errors:
        raise errors[0]
    return found


def problems() -> list[QueueOpsError]:
    """Everything that is wrong with the settings; empty when all is well."""
    return read_settings(getattr(django_settings, "QUEUEOPS", {}))[1]


def _values(chosen: Mapping[Any, Any], errors: list[QueueOpsError]) -> Iterator[tuple[str, Any]]:
    yield "url", _absolute(Settings().url)
    for key, value in chosen.items():
        if key not in READERS:
            errors.append(UnknownSetting(place=_place(key), advice=advice(str(key), READERS)))
            continue
        try:
            found = READERS[key](value)
        except read.Unfit as unfit:
            errors.append(_error(key, value, unfit))
        else:
            yield key.lower(), _absolute(found) if key == "URL" else found


def _error(key: str, value: Any, unfit: read.Unfit) -> QueueOpsError:
    place = _place(key, *unfit.path)
    if isinstance(unfit, read.Unknown):
        return UnknownSetting(place=place, advice=unfit.expected)
    shown = scrub(repr(unfit.value if unfit.path else value))
    return BadSetting(place=place, value=shown, expected=unfit.expected)


def _place(*keys: object) -> str:
    return "QUEUEOPS" + "".join(f"[{key!r}]" for key in keys)


def _absolute(url: str) -> str:
    """The embedded server's directory does not depend on where a process was started."""
    if not url.startswith("embedded:"):
        return url
    base = Path(getattr(django_settings, "BASE_DIR", None) or Path.cwd())
    return f"embedded:{base / Path(url.removeprefix('embedded:').removeprefix('//')).expanduser()}"


def _forget(*, setting: str, **_: Any) -> None:
    if setting in ("QUEUEOPS", "BASE_DIR"):
        current.cache_clear()


setting_changed.connect(_forget, dispatch_uid="queueops.conf")
