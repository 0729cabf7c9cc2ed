"""Settings: reads `QUEUEOPS` of the Django settings once into a frozen object.

The rest of the engine calls `current()`. Durations are in seconds, as in all Python code of this project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from queueops.conf import readers as read
from queueops.conf.alert_settings import NO_ALERTS, AlertSettings, read_alerts
from queueops.conf.tables import (
    CONNECT,
    DAY,
    OURS,
    RETENTION,
    as_environment,
    as_pool,
    as_retention,
    as_retry,
    as_sentry,
)
from queueops.conf.tables import BrokerRetry as BrokerRetry
from queueops.conf.tables import Environment as Environment
from queueops.conf.tables import LaneSettings as LaneSettings
from queueops.conf.tables import PoolSettings as PoolSettings
from queueops.conf.tables import SentrySettings as SentrySettings
from queueops.conf.tables import Transactions as Transactions
from queueops.errors import BadSetting, QueueOpsError, UnknownSetting, advice
from queueops.model import encryption, kinds, store_url
from queueops.model.encryption import Keyring
from queueops.model.redact import DEFAULT, MASK, PATTERNS, Redactor

FOREIGN = {
    **dict.fromkeys(("BROKER", "BROKER_URL", "RESULT_BACKEND", "REDIS_URL", "CONNECTION"), "URL"),
    **dict.fromkeys(("QUEUES", "TASK_QUEUES"), "POOLS"),
    **dict.fromkeys(("RESULT_EXPIRES", "RESULT_TTL"), "RETENTION"),
    "PREFIX": "NAMESPACE",
}
"""Settings of other queues: what to write in their place."""
URL_VARIABLE = "QUEUEOPS_URL"
"""The environment variable that overrides the setting ``URL``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, with its default. The key in QUEUEOPS is the name in capitals."""

    url: str = "embedded:var/queueops"
    store: str = ""  # dotted path of another store; empty: Redis or Valkey
    executor: str = ""  # dotted path of the executor of workers; empty: their own threads
    encoder: str = ""  # dotted path of the encoder for classes of the project; empty: none
    namespace: str = "queueops"
    store_name: str = ""  # the name in STORES; empty: the project's own store
    stores: Mapping[str, Settings] = field(default_factory=dict)  # other stores that the console shows, too
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
    encryption: tuple[str | None, ...] = field(default=(), repr=False)  # keys of Fernet; the first one encrypts
    transactions: Transactions | None = None  # what a push in a database transaction does; None: the pusher's default
    read_only: bool = False  # the console is read-only
    environment: Environment | None = None  # the mark on the pages of the console
    metrics_token: str = ""  # what a client of the metrics must send; empty: the view refuses all
    alerts: AlertSettings = NO_ALERTS  # who is told of alarms
    trace_url: str = ""  # where the console finds a trace; with {trace_id}
    sentry: SentrySettings = field(default_factory=SentrySettings)
    connect: Mapping[str, Any] = field(default_factory=dict)  # options for redis-py's client
    retry: BrokerRetry = field(default_factory=BrokerRetry)
    of_kinds: Mapping[str, Any] = field(default_factory=dict)  # what each kind reads, by the name of the kind

    @property
    def place(self) -> tuple[str, str, str]:
        """The store and its namespace: what a process remembers of one of them is not true of another."""
        return self.store_name, self.url, self.namespace

    def pool(self, name: str) -> PoolSettings:
        """The defaults of a pool; an undeclared pool has none."""
        return self.pools.get(name, PoolSettings())

    def kind(self, name: str) -> Any:
        """The settings of a kind, as its own reader gives them."""
        return self.of_kinds[name] if name in self.of_kinds else kinds.settings_reader(name)({})


OF_STORES = frozenset({"URL", "NAMESPACE", "CONNECT", "POOLS", "ENVIRONMENT", "READ_ONLY", "ENCRYPTION"})
"""What an entry of STORES may set; all else is as in the project's own store."""
READERS: dict[str, read.Reader[Any]] = {
    "URL": read.url,
    "STORE": read.dotted("shop.stores.SqliteStore"),
    "EXECUTOR": read.dotted("shop.executors.ProcessExecutor"),
    "ENCODER": read.dotted("shop.encoders.MoneyEncoder"),
    "NAMESPACE": read.namespace,
    "POOLS": read.each(as_pool),
    "PAYLOAD_LIMIT": read.whole(1, 256 * 1024 * 1024),
    "RETENTION": as_retention,
    "RETENTION_CAP": read.whole(0),
    "MIDDLEWARE": read.texts,
    "TASK_MODULES": read.modules,
    "LEASE": read.seconds(0.1, read.DAY),
    "MAX_CRASHES": read.whole(1),
    "HUNG_AFTER": read.seconds(1, DAY),
    "GRACE": read.seconds(0, read.DAY),
    "UNKNOWN_AFTER": read.seconds(1),
    "REDACT": read.texts,
    "ENCRYPTION": read.keys,
    "TRANSACTIONS": read.choice(Transactions),
    "READ_ONLY": read.flag,
    "ENVIRONMENT": read.optional(as_environment),
    "METRICS_TOKEN": read.token,
    "ALERTS": read_alerts,
    "TRACE_URL": read.trace_url,
    "SENTRY": as_sentry,
    "CONNECT": read.table(CONNECT, refused=OURS),
    "RETRY": as_retry,
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
    stores = chosen.pop("STORES", {})
    of_kinds = dict(_of_kinds(chosen, errors))
    found = Settings(**dict(_values(chosen, errors)), of_kinds=of_kinds)
    errors = [_of_variable(error) if address else error for error in errors]
    return replace(found, stores=dict(_stores(stores, found, errors))), errors


def _stores(raw: Any, project: Settings, errors: list[QueueOpsError]) -> Iterator[tuple[str, Settings]]:
    """The settings of each entry of STORES: those of the project, with what the entry sets in their place."""
    try:
        entries = read.each(read.anything, read.slug)(raw)
    except read.Unfit as unfit:
        errors.append(_error("STORES", raw, unfit))
        return
    for name, entry in entries.items():
        place = ("STORES", name)
        if unknown := [key for key in entry if key not in OF_STORES]:
            errors.append(UnknownSetting(place=_place(*place, unknown[0]), advice=advice(unknown[0], OF_STORES)))
        elif "URL" not in entry and (project.store or "NAMESPACE" not in entry):
            shown = DEFAULT.text(repr(entry))
            errors.append(BadSetting(place=_place(*place), value=shown, expected='a dict with a "URL"'))
        else:
            own: dict[str, Any] = {"environment": Environment(name=name), "pools": {}, "alerts": NO_ALERTS}
            if "URL" in entry:
                own["connect"] = {}  # those of the project are for the server of its own URL
            yield name, replace(project, **own | dict(_read(entry, errors, place)), store="", store_name=name)


_other: ContextVar[Settings | None] = ContextVar("queueops_other_store", default=None)


@contextmanager
def in_store(name: str) -> Iterator[None]:
    """Let all calls of this block go to a store of STORES; an empty name is the project's own. Raises KeyError."""
    token = _other.set(own().stores[name] if name else None)
    try:
        yield
    finally:
        _other.reset(token)


def current() -> Settings:
    """The settings of this process, or of the store that `in_store` has chosen. Raises the first of their errors."""
    return _other.get() or own()


def store_name() -> str:
    """The name in STORES of the store that `in_store` has chosen; empty: the project's own."""
    other = _other.get()
    return other.store_name if other else ""


@cache
def own() -> Settings:
    """The settings of this process and of its own store. Raises the first of their errors."""
    found, errors = read_settings(getattr(django_settings, "QUEUEOPS", {}))
    if errors:
        raise errors[0]
    return found


def keyring() -> Keyring | None:
    """The keys of the setting ENCRYPTION, to encrypt; None if values are written in clear. Raises NoCryptography."""
    ring = encryption.keyring(current().encryption)
    return ring if ring is not None and ring.encrypts else None


def keyring_to_read() -> Keyring | None:
    """The keys of the setting ENCRYPTION, to decrypt; None if there are none. Raises NoCryptography."""
    return encryption.keyring(current().encryption)


def keyring_of_databases() -> Keyring | None:
    """The same for values in the project's databases, also while it shows another store."""
    return encryption.keyring(own().encryption)


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


def store_names() -> tuple[str, ...]:
    """The names in STORES. Invalid settings add none."""
    return tuple(read_settings(getattr(django_settings, "QUEUEOPS", {}))[0].stores)


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
    yield from _read(chosen, errors)


def _read(
    chosen: Mapping[str, Any], errors: list[QueueOpsError], within: tuple[str, ...] = ()
) -> Iterator[tuple[str, Any]]:
    for key, value in chosen.items():
        if key not in READERS:
            known = [*READERS, "STORES", *kinds.settings_readers()]
            instead = f"; write {FOREIGN[key]!r}" if key in FOREIGN else advice(str(key), known)
            errors.append(UnknownSetting(place=_place(key), advice=instead))
            continue
        try:
            found = (read.text if key == "URL" and chosen.get("STORE") else READERS[key])(value)
        except read.Unfit as unfit:
            errors.append(_error(key, value, unfit, within))
        else:
            yield key.lower(), _absolute(found) if key == "URL" else found


def _error(key: str, value: Any, unfit: read.Unfit, within: tuple[str, ...] = ()) -> QueueOpsError:
    place = _place(*within, key, *unfit.path)
    if isinstance(unfit, read.Unknown):
        return UnknownSetting(place=place, advice=unfit.expected)
    wrong = unfit.value if unfit.path else value
    shown = DEFAULT.text(repr(store_url.masked(wrong) if key == "URL" and isinstance(wrong, str) else wrong))
    if key == "ENCRYPTION" or DEFAULT.hides(unfit.path[-1] if unfit.path else key):
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
        own.cache_clear()


setting_changed.connect(_forget, dispatch_uid="queueops.conf")
