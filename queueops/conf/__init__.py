"""Settings: reads `QUEUEOPS` of the Django settings once into a frozen object.

The rest of the engine calls `current()`. Durations are in seconds, as in all Python code of this project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from queueops.conf import readers as read
from queueops.conf.alert_settings import NO_ALERTS, AlertSettings, read_alerts
from queueops.errors import BadSetting, QueueOpsError, UnknownSetting, advice
from queueops.model import kinds, store_url
from queueops.model.redact import DEFAULT, MASK, PATTERNS, Redactor

DAY = 86400.0
FOREIGN = {
    **dict.fromkeys(("BROKER", "BROKER_URL", "RESULT_BACKEND", "REDIS_URL", "CONNECTION"), "URL"),
    **dict.fromkeys(("QUEUES", "TASK_QUEUES"), "POOLS"),
    **dict.fromkeys(("RESULT_EXPIRES", "RESULT_TTL"), "RETENTION"),
    "PREFIX": "NAMESPACE",
}
"""Settings of other queues: what to write in their place."""
URL_VARIABLE = "QUEUEOPS_URL"
"""The environment variable that overrides the setting ``URL``."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, with its default. The key in QUEUEOPS is the name in capitals."""

    url: str = "embedded:var/queueops"
    store: str = ""  # dotted path of another store; empty: Redis or Valkey
    namespace: str = "queueops"
    pools: Mapping[str, PoolSettings] = field(default_factory=dict)
    payload_limit: int = 1024 * 1024  # bytes, for arguments and for results
    retention: Mapping[str, float] = field(default_factory=lambda: dict(RETENTION))  # seconds, by state
    retention_cap: int = 1_000_000  # ended tasks kept, by state
    middleware: tuple[str, ...] = ()
    task_modules: tuple[str, ...] = ()  # modules of each app that hold tasks, beside tasks.py
    lease: float = 30.0  # seconds; renewed three times in that time
    max_crashes: int = 3
    hung_after: float = 300.0  # seconds without a sign of life, before a process is killed and its tasks are recovered
    grace: float = 25.0  # seconds that a worker's tasks get to end at shutdown
    unknown_after: float = 7 * DAY  # after this time a task whose name no worker knows is quarantined
    redact: tuple[str, ...] = PATTERNS
    transactions: Transactions | None = None  # what a push in a database transaction does; None: the pusher's default
    read_only: bool = False  # the console is read-only
    environment: Environment | None = None  # the mark on the pages of the console
    metrics_token: str = ""  # what a client of the metrics must send; empty: the view refuses all
    alerts: AlertSettings = NO_ALERTS  # who is told of alarms
    trace_url: str = ""  # where the console finds a trace; with {trace_id}
    sentry: SentrySettings = SentrySettings()
    connect: Mapping[str, Any] = field(default_factory=dict)  # options for redis-py's client
    retry: BrokerRetry = BrokerRetry()
    of_kinds: Mapping[str, Any] = field(default_factory=dict)  # what each kind reads, by the name of the kind

    def pool(self, name: str) -> PoolSettings:
        """The defaults of a pool; an undeclared pool has none."""
        return self.pools.get(name, PoolSettings())

    def kind(self, name: str) -> Any:
        """The settings of a kind, as its own reader gives them."""
        return self.of_kinds[name] if name in self.of_kinds else kinds.settings_reader(name)({})


def _pool(value: Any) -> PoolSettings:
    found = POOL(value)
    lanes: dict[str, LaneSettings] = found.pop("lanes", {})
    patterns = {lane: said for lane, said in lanes.items() if "*" in lane}
    named = {lane: said for lane, said in lanes.items() if "*" not in lane}
    return PoolSettings(**found, lanes=named, lane_patterns=patterns)


def _lane(value: Any) -> LaneSettings:
    return LaneSettings(**LANE(value))


def _retention(value: Any) -> dict[str, float]:
    return RETENTION | KEPT(value)


def _environment(value: Any) -> Environment:
    found = ENVIRONMENT(value)
    if "name" not in found:
        raise read.Unfit('a dict with a "name", and perhaps a "color"')
    return Environment(**found)


def _sentry(value: Any) -> SentrySettings:
    return SentrySettings(**SENTRY(value))


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
    {
        "timeout": read.optional(read.seconds(0.001)),
        "retries": read.optional(read.whole(0)),
        "lanes": read.each(_lane, read.lane_or_pattern),
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
READERS: dict[str, read.Reader[Any]] = {
    "URL": read.url,
    "STORE": read.dotted,
    "NAMESPACE": read.namespace,
    "POOLS": read.each(_pool),
    "PAYLOAD_LIMIT": read.whole(1, 256 * 1024 * 1024),
    "RETENTION": _retention,
    "RETENTION_CAP": read.whole(0),
    "MIDDLEWARE": read.texts,
    "TASK_MODULES": read.modules,
    "LEASE": read.seconds(0.1, read.DAY),
    "MAX_CRASHES": read.whole(1),
    "HUNG_AFTER": read.seconds(1, DAY),
    "GRACE": read.seconds(0, read.DAY),
    "UNKNOWN_AFTER": read.seconds(1),
    "REDACT": read.texts,
    "TRANSACTIONS": read.choice(Transactions),
    "READ_ONLY": read.flag,
    "ENVIRONMENT": read.optional(_environment),
    "METRICS_TOKEN": read.token,
    "ALERTS": read_alerts,
    "TRACE_URL": read.trace_url,
    "SENTRY": _sentry,
    "CONNECT": read.table(CONNECT, refused=OURS),
    "RETRY": _retry,
}


def read_settings(raw: Any, environment: Mapping[str, str] | None = None) -> tuple[Settings, list[QueueOpsError]]:
    """The settings and all of their errors; an invalid setting keeps its default.

    `QUEUEOPS_URL` in the environment overrides `URL`.
    """
    if not isinstance(raw, Mapping):
        return Settings(), [BadSetting(place="QUEUEOPS", value=repr(raw), expected="a dict")]
    chosen = dict(raw)
    if address := (os.environ if environment is None else environment).get(URL_VARIABLE):
        chosen["URL"] = address
    errors: list[QueueOpsError] = []
    of_kinds = dict(_of_kinds(chosen, errors))
    values = dict(_values(chosen, errors))
    return Settings(**values, of_kinds=of_kinds), [_of_variable(error) if address else error for error in errors]


@cache
def current() -> Settings:
    """The settings of this process. Raises the first of their errors."""
    found, errors = read_settings(getattr(django_settings, "QUEUEOPS", {}))
    if errors:
        raise errors[0]
    return found


def redactor() -> Redactor:
    """The redactor of the setting REDACT; the default one while the settings cannot be read."""
    try:
        return _redactor(current().redact)
    except (QueueOpsError, ImproperlyConfigured):  # their error must be shown, and not hidden by a second one
        return DEFAULT


@lru_cache(maxsize=8)
def _redactor(patterns: tuple[str, ...]) -> Redactor:
    return Redactor(patterns)


def task_modules() -> tuple[str, ...]:
    """The modules of each app that are imported for their tasks; `tasks` is always one. Invalid settings add none."""
    return tuple(dict.fromkeys(("tasks", *read_settings(getattr(django_settings, "QUEUEOPS", {}))[0].task_modules)))


def problems() -> list[QueueOpsError]:
    """All errors of the settings; empty if they are valid."""
    return read_settings(getattr(django_settings, "QUEUEOPS", {}))[1]


def _of_kinds(chosen: dict[Any, Any], errors: list[QueueOpsError]) -> Iterator[tuple[str, Any]]:
    """Take the settings of kinds out, and read each by its kind's own reader."""
    for key, name in kinds.settings_readers().items():
        if key in chosen:
            value = chosen.pop(key)
            try:
                yield name, kinds.settings_reader(name)(value)
            except read.Unfit as unfit:
                errors.append(_error(key, value, unfit))


def _values(chosen: Mapping[Any, Any], errors: list[QueueOpsError]) -> Iterator[tuple[str, Any]]:
    yield "url", "" if chosen.get("STORE") else _absolute(Settings().url)
    for key, value in chosen.items():
        if key not in READERS:
            known = [*READERS, *kinds.settings_readers()]
            instead = f"; write {FOREIGN[key]!r}" if key in FOREIGN else advice(str(key), known)
            errors.append(UnknownSetting(place=_place(key), advice=instead))
            continue
        try:
            found = (read.text if key == "URL" and chosen.get("STORE") else READERS[key])(value)
        except read.Unfit as unfit:
            errors.append(_error(key, value, unfit))
        else:
            yield key.lower(), _absolute(found) if key == "URL" else found


def _error(key: str, value: Any, unfit: read.Unfit) -> QueueOpsError:
    place = _place(key, *unfit.path)
    if isinstance(unfit, read.Unknown):
        return UnknownSetting(place=place, advice=unfit.expected)
    wrong = unfit.value if unfit.path else value
    shown = DEFAULT.text(repr(store_url.masked(wrong) if key == "URL" and isinstance(wrong, str) else wrong))
    if DEFAULT.hides(unfit.path[-1] if unfit.path else key):
        shown = MASK
    return BadSetting(place=place, value=shown, expected=unfit.expected)


def _of_variable(error: QueueOpsError) -> QueueOpsError:
    """An error of a URL from the environment names the variable, and not the setting."""
    if not isinstance(error, BadSetting) or error.place != _place("URL"):
        return error
    text = f"The environment variable {URL_VARIABLE} is {error.value}, but it must be {error.expected}."
    return BadSetting(text, place=URL_VARIABLE, value=error.value, expected=error.expected)


def url_source() -> str:
    """The source of the store's URL: the environment variable or the setting."""
    return f"the environment variable {URL_VARIABLE}" if os.environ.get(URL_VARIABLE) else _place("URL")


def _place(*keys: object) -> str:
    return "QUEUEOPS" + "".join(f"[{key!r}]" for key in keys)


def _absolute(url: str) -> str:
    """Make the embedded server's directory absolute. A relative one is below BASE_DIR, else the working directory."""
    if not url.startswith("embedded:"):
        return url
    base = Path(getattr(django_settings, "BASE_DIR", None) or Path.cwd())
    return f"embedded:{base / Path(url.removeprefix('embedded:').removeprefix('//')).expanduser()}"


def _forget(*, setting: str, **_: Any) -> None:
    if setting in ("QUEUEOPS", "BASE_DIR"):
        current.cache_clear()


setting_changed.connect(_forget, dispatch_uid="queueops.conf")
