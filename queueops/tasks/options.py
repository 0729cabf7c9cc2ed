"""Task options: the arguments of `@task(...)` and `using(...)`, checked when they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from django.db import connections

from queueops.conf import Settings, pool_names
from queueops.errors import BadOption, UnknownOption
from queueops.model import retry as retries_module
from queueops.model.contracts import DEFAULT_LANE, Conflict, LeaseRef
from queueops.model.durations import AT_ONCE, Delay, When, to_ms, when
from queueops.model.expiry import written
from queueops.model.ids import check_id, check_lane
from queueops.model.rates import per_second
from queueops.model.retry import Retry
from queueops.model.weights import shown
from queueops.tasks.follow_up import FollowUp, encode_follow_ups, read_follow_ups
from queueops.tasks.foreign_names import unknown_option
from queueops.tasks.metadata import encode_meta, merged

if TYPE_CHECKING:
    from queueops.schedules.schedule import Schedule
    from queueops.tasks.follow_up import Call, FollowUpOutcome

UNSET: Any = object()
DEFAULT_RETRIES = 2
MAX_TAGS = 20
MOST_TOTAL = 1e15
MOST_LIMIT = 10_000
OF_A_TASK = ("name", "unique", "limit_key", "retry_on", "expected", "middleware", "encoder", "on_yield", "cron")
"""Options of `@task` alone."""
OF_IDS = ("unique_for", "throttle", "debounce")
"""Options of a time within which an id has one call."""
OnConflict = Literal["ignore", "reject", "replace", "replace_postponed", "run_after", "skip"]


class PushOptions(TypedDict, total=False):
    """Options of `using`, for type checkers."""

    pool: str
    lane: str | None
    priority: int
    retries: int
    retry: Retry
    timeout: float | timedelta | None
    tags: Iterable[str]
    keep: float | timedelta | None
    total: float | None
    delay: Delay | None
    expires: Delay | None
    limit: int | None
    rate: str | float | None
    unique_for: float | timedelta | None
    throttle: float | timedelta | None
    debounce: float | timedelta | None
    id: str | None
    on_conflict: OnConflict
    durable: bool
    outbox: bool | str
    meta: Mapping[str, Any] | None
    follow_up: Mapping[FollowUpOutcome, Call | Iterable[Call]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a task is pushed. `retries` and `timeout` default to the pool's settings, then to 2 and no limit."""

    pool: str = "default"
    lane: str | None = None
    priority: int = 0
    retries: int | None = None
    retry: Retry = retries_module.DEFAULT
    timeout: Any = UNSET  # seconds; None = no limit
    tags: tuple[str, ...] = ()
    keep: Any = None  # seconds that the ended task is kept; None: the settings' value
    total: float | None = None  # of its progress
    delay: When = AT_ONCE
    postpone_delay: When | None = None
    expires: When | None = None
    limit: int | None = None  # of tasks of one key that run at a time
    rate: float | None = None  # of tasks of one key that begin in a second
    unique_for: Any = None
    throttle: Any = None
    debounce: Any = None
    id: str | None = None
    on_conflict: Conflict = Conflict.IGNORE
    durable: bool = False
    outbox: bool | str = False  # keep the push as a row; a text is the name of the database
    meta: bytes = b""
    follow_up: tuple[FollowUp, ...] = ()
    root: str = ""
    under: LeaseRef | None = None

    def but(self, **changes: Any) -> Options:
        """The same with some options changed. Raises UnknownOption and BadOption."""
        for name in changes:
            if name in OF_A_TASK:
                raise UnknownOption(what="A task", name=name, advice=f". Write @task({name}=...)")
            if name not in READERS:
                raise unknown_option(name, set(READERS))
        return replace(self, **{name: READERS[name](name, value) for name, value in changes.items()})

    def but_descending(self, root: str, under: LeaseRef, meta: bytes) -> Options:
        """The same for a descendant of the task `root`, pushed under the lease of a running task with `meta`."""
        return replace(self, root=root, under=under, meta=merged(meta, self.meta))

    def with_postpone_delay(self, value: Any) -> Options:
        """The same with a delay for `postpone()`; None leaves it out. Raises BadOption for an invalid duration."""
        if isinstance(value, datetime):
            raise BadOption(name="delay", value=value, expected="seconds or a timedelta; a moment is for postpone()")
        return self if value is None else replace(self, postpone_delay=when("delay", value))

    def postponed(self, delay: Delay | None) -> Options:
        """The same, not before `delay`, by default not before the delay that was set. Raises BadOption for neither."""
        if delay is not None:
            return self.but(delay=delay)
        if self.delay != AT_ONCE:
            return self
        if self.postpone_delay is None:
            expected = "given to postpone(60, ...), or set for the task with @task(delay=60)"
            raise BadOption(name="delay", value=delay, expected=expected)
        return replace(self, delay=self.postpone_delay)

    def push_fields(self, settings: Settings) -> dict[str, Any]:
        """The fields of a Push that these options set; defaults are omitted."""
        pool_names.warn_about(self.pool, settings)
        pool = settings.pool(self.pool)
        retries = self.retries if self.retries is not None else pool.retries
        timeout = pool.timeout if self.timeout is UNSET else self.timeout
        found = {
            "pool": self.pool,
            "lane": self.lane or DEFAULT_LANE,
            "priority": self.priority,
            "retries": DEFAULT_RETRIES if retries is None else retries,
            "retry": self.retry.text(),
            "timeout_ms": None if timeout is None else to_ms("timeout", timeout),
            "tags": self.tags,
            "keep_ms": None if self.keep is None else to_ms("keep", self.keep),
            "own": self._own_fields(),
            "due": self.delay.due_ms,
            "delay_ms": self.delay.delay_ms,
            "conflict": self.on_conflict,
            "root": self.root,
            "meta": self.meta,
        }
        return {name: value for name, value in found.items() if value or name == "retries"}

    @property
    def needs_key(self) -> bool:
        """Whether a push needs a key, or a lock that ends by time."""
        limits = (self.limit, self.rate, self.unique_for, self.throttle, self.debounce)
        return any(each is not None for each in limits)

    def limit_fields(self, key: str) -> tuple[tuple[str, str], ...]:
        """The fields of a record with this key."""
        limit = () if self.limit is None else (("lm", str(self.limit)),)
        return (("lk", key), *limit, *(() if self.rate is None else (("lr", f"{self.rate:.9g}"),)))

    def _own_fields(self) -> tuple[tuple[str, str], ...]:
        own = () if self.total is None else (("to", shown(self.total)),)
        if self.expires is not None:
            own = (*own, ("xe", written(self.expires)))
        return (*own, ("fu", encode_follow_ups(self.follow_up))) if self.follow_up else own


Reader = Callable[[str, Any], Any]


def _whole(least: int, most: int) -> Reader:
    def read(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise BadOption(name=name, value=value, expected=f"a whole number from {least} to {most}")
        return int(value)

    return read


def _duration(name: str, value: Any) -> Any:
    """Refuse zero: it would mean "at once", which is not a valid timeout or retention."""
    if value is not None and to_ms(name, value) == 0:
        raise BadOption(name=name, value=value, expected="more than 0 seconds, or None")
    return value


def _expires(name: str, value: Any) -> When | None:
    if not isinstance(value, datetime):
        _duration(name, value)
    return None if value is None else when(name, value)


def _total(name: str, value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < value <= MOST_TOTAL):
        raise BadOption(name=name, value=value, expected=f"a number above 0, up to {MOST_TOTAL:g}, or None")
    return None if value is None else float(value)


def _lane(name: str, value: Any) -> str | None:
    return None if value is None else check_lane(value)


def _retry(name: str, value: Any) -> Retry:
    if not isinstance(value, Retry):
        raise BadOption(name=name, value=value, expected="a Retry, such as Retry(delay=60); how often is retries=")
    return value


def _tags(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise BadOption(name=name, value=value, expected="a list of texts")
    tags = tuple(dict.fromkeys(check_lane(tag, "tag") for tag in value))
    if len(tags) > MAX_TAGS:
        raise BadOption(name=name, value=tags, expected=f"at most {MAX_TAGS} tags")
    return tags


def _conflict(name: str, value: Any) -> Conflict:
    choices = [choice for choice in Conflict if choice not in (Conflict.NEW, Conflict.DEBOUNCE)]
    if value not in choices:
        raise BadOption(name=name, value=value, expected=f"one of {', '.join(choices)}")
    return Conflict(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadOption(name=name, value=value, expected="True or False")
    return value


def _database(name: str, value: Any) -> bool | str:
    if not isinstance(value, bool) and not (isinstance(value, str) and value in connections):
        raise BadOption(
            name=name, value=value, expected=f"True, False or a name of DATABASES: {', '.join(connections)}"
        )
    return bool(value) if isinstance(value, bool) else str(value)


READERS: Mapping[str, Reader] = {
    "pool": lambda name, value: check_lane(value, "name of a pool"),
    "lane": _lane,
    "priority": _whole(-100, 100),
    "retries": _whole(0, 1_000_000),
    "retry": _retry,
    "timeout": _duration,
    "tags": _tags,
    "keep": _duration,
    "total": _total,
    "delay": lambda name, value: AT_ONCE if value is None else when(name, value),
    "expires": _expires,
    "limit": lambda name, value: None if value is None else _whole(1, MOST_LIMIT)(name, value),
    "rate": lambda name, value: None if value is None else per_second(name, value),
    "unique_for": _duration,
    "throttle": _duration,
    "debounce": _duration,
    "id": lambda name, value: None if value is None else check_id(value),
    "on_conflict": _conflict,
    "durable": _flag,
    "outbox": _database,
    "meta": lambda name, value: encode_meta(value),
    "follow_up": read_follow_ups,
}
"""How each option is read; only the engine sets `root`."""


def schedule_of(cron: Any) -> Schedule | None:
    """Read the option `cron` of a task or a class. Raises BadSchedule, BadZone and BadOption."""
    if cron is None:
        return None
    from queueops.schedules.schedule import Schedule  # slow to import, and few processes have tasks with a schedule

    return Schedule.of(cron)
