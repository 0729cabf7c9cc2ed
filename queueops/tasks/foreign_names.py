"""Names of Celery, Dramatiq, RQ and Huey: error messages that say what to write in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from queueops.errors import UnknownOption, advice

_PUSH = "{it}.push(...)"
_ANY_PUSH = "{it}.push(...), {it}.postpone(delay, ...) or {it}.using(...).push(...)"
TASK_METHODS: Mapping[str, str] = {
    "delay": _PUSH,
    "apply_async": _ANY_PUSH,
    "delay_on_commit": "{it}.push_on_commit(...)",
    "apply_async_on_commit": "{it}.using(...).push_on_commit(...)",
    "apply": "{it}(...)",
    "signature": "{it}.s(...)",
    "subtask": "{it}.s(...)",
    "chunks": "{it}.push_many(...)",
    "starmap": "{it}.push_many(...)",
    "send": _PUSH,
    "send_with_options": _ANY_PUSH,
    "enqueue": _PUSH,
    "schedule": "{it}.postpone(delay, ...)",
    "call_local": "{it}(...)",
    "request": "current()",
    "update_state": "current().progress(done, total)",
    "retry": "raise RetryLater(seconds, error)",
}
"""Methods of a task. `it` stands for the task."""

PART_METHODS: Mapping[str, str] = {
    "delay": "{it}.push()",
    "apply_async": "{it}.push(), {it}.postpone(delay) or {it}.using(...).push()",
    "set": "{it}.using(...)",
    "link": '{it}.using(follow_up={{"success": other.s()}})',
    "link_error": '{it}.using(follow_up={{"failure": other.s()}})',
    "on_error": '{it}.using(follow_up={{"failure": other.s()}})',
}
HANDLE_METHODS: Mapping[str, str] = {
    "get": "{it}.result(timeout=...)",
    "wait": "{it}.result(timeout=...)",
    "get_result": "{it}.result(timeout=...)",
    "return_value": "{it}.result(timeout=...)",
    "join": "{it}.result(timeout=...)",
    "ready": "{it}.status().is_over",
    "successful": '{it}.state == "succeeded"',
    "failed": '{it}.state == "failed"',
    "info": "{it}.status()",
    "get_status": "{it}.state",
    "revoke": "{it}.cancel(reason)",
    "abort": "{it}.cancel(reason)",
    "traceback": "{it}.status().traceback",
    "task_id": "{it}.id",
}

_IMPORTS_INSTEAD: Mapping[str, tuple[str, ...]] = {
    "from queueops import task": (
        *("shared_task", "periodic_task", "db_task", "db_periodic_task", "actor", "job", "Task", "DjangoTask"),
        *("Celery", "Huey", "RedisHuey", "SqliteHuey"),
    ),
    "chain(group(...), other.s())": ("chord",),
    "chain(other.s(), task.si())": ("Dependency",),
    'task.using(follow_up={"success": other.s()})': ("Callback",),
    "task.s(...), whose type is Signature": ("signature", "subtask", "maybe_signature", "s"),
    "from queueops import chain": ("pipeline",),
    "from queueops import group": ("ResultSet",),
    "from queueops import Depends": ("TaskiqDepends",),
    "task.push_many([...]) or a MapReduce": ("chunks", "xmap", "starmap"),
    "queueops.get(id), which returns a TaskHandle": ("AsyncResult", "GroupResult", "Result", "Job", "get_result"),
    "from queueops import current": ("current_task", "get_current_job"),
    'queueops.push("app.tasks.name", ...): there is no app object': ("current_app",),
    'queueops.push("app.tasks.name", ...)': ("send_task", "enqueue", "async_task", "send"),
    "task.push(...)": ("delay", "apply_async"),
    "task.postpone(60, ...)": ("enqueue_in", "enqueue_at"),
    '@task(cron="0 3 * * *") or a Schedule': ("crontab", "cron", "schedule", "beat_schedule"),
    '@task(cron="@every 1h")': ("Repeat",),
    "from queueops import SoftTimeout": ("SoftTimeLimitExceeded", "TimeLimitExceeded", "JobTimeoutException"),
    "from queueops import TaskFailed": ("TaskException", "MaxRetriesExceededError"),
    "raise RetryLater(seconds, error)": ("RetryTask", "retry"),
    "raise Permanent(error)": ("Reject",),
    "current().cancel(reason)": ("CancelExecution", "Ignore", "Revoked", "TaskRevokedError"),
    "logging.getLogger(__name__)": ("get_task_logger",),
    "@task(limit=1)": ("lock_task",),
    '@task(limit=3), or @task(rate="10/m")': ("ConcurrentRateLimiter", "WindowRateLimiter", "BucketRateLimiter"),
    "QUEUEOPS['POOLS'] and @task(pool=\"mail\")": ("Queue", "Exchange", "get_queue"),
    "manage.py runworker": ("Worker", "get_worker"),
    "from queueops import task_started": ("task_prerun",),
    "from queueops import task_succeeded": ("task_success",),
    "from queueops import task_failed": ("task_failure",),
    "from queueops import task_retried": ("task_retry",),
    "from queueops import task_cancelled": ("task_revoked",),
    "from queueops import task_pushed": ("before_task_publish", "after_task_publish"),
    "from queueops import worker_started": ("worker_ready", "worker_init", "worker_process_init"),
    "from queueops import worker_stopping": ("worker_shutdown", "worker_process_shutdown", "worker_shutting_down"),
}
"""Names that other queues are imported by: what to write for each."""
_IMPORTS = {name: instead for instead, names in _IMPORTS_INSTEAD.items() for name in names}

_INSTEAD: Mapping[str, tuple[str, ...]] = {
    "A task function gets no self: current() is its context.": ("bind",),
    "Write a middleware, or receive the signals of tasks.": ("base",),
    'Write pool="mail".': ("queue", "queue_name", "routing_key", "exchange"),
    "Write retries=3.": ("max_retries", "retry_count", "retry_limit", "retrys"),
    "Write retries=2 for three attempts.": ("max_attempts",),
    "Write @task(retry_on=(OSError,)).": ("autoretry_for",),
    "Write raise Permanent(error) in the task: it fails without another attempt.": ("dont_autoretry_for",),
    "Write expected=(ValueError,).": ("throws",),
    "Write retries=3, retry=Retry(delay=60).": ("retry_kwargs",),
    "Write retry=Retry(delay=60).": ("default_retry_delay", "retry_delay", "min_delay"),
    "Write retry=Retry(delay=60, backoff=2).": ("retry_backoff", "min_backoff", "backoff"),
    "Write retry=Retry(max_delay=3600).": ("retry_backoff_max", "max_backoff", "max_delay"),
    "Write retry=Retry(jitter=0.1).": ("retry_jitter", "jitter"),
    "Write timeout=30.": ("time_limit", "soft_time_limit", "job_timeout"),
    'Write @task(unique="mail:{user_id}").': ("singleton", "exclusive", "deduplicate", "unique_id"),
    'Write @task(cron="0 3 * * *").': ("crontab", "schedule"),
    'Write @task(cron="@every 1h").': ("every", "interval", "periodic", "repeat", "run_every"),
    "It is always so: a task whose worker died runs again.": ("acks_late", "reject_on_worker_lost"),
    "Arguments and results are JSON.": ("serializer", "compression"),
    "Write keep=60 to keep the ended task for a minute.": ("ignore_result",),
    "Results are always stored, for as long as keep= says.": ("store_results",),
    "Write keep=3600.": ("result_ttl", "result_expires", "failure_ttl"),
    "It is always so.": ("track_started",),
    'Write follow_up={"success": other.s()}.': ("link", "on_success"),
    'Write follow_up={"failure": other.s()}.': ("link_error", "on_failure"),
    'Write meta={"name": "value"}, which current().meta has.': ("headers",),
    "Write chain(other.s(), task.si()).": ("depends_on",),
    "Write priority=100.": ("at_front",),
    "Write expires=60: a task that has not begun after a minute is cancelled.": (
        "max_age",
        "expire",
        "expiration",
        "ttl",
    ),
}
"""What to write instead of these options."""
_OPTIONS = {name: instead for instead, names in _INSTEAD.items() for name in names}
_OPTIONS_OF_A_PUSH: Mapping[str, tuple[str, str]] = {
    "countdown": ("Write postpone(60, ...) where it is pushed.", "Write delay=60."),
    "eta": ("Write postpone(moment, ...) where it is pushed.", "Write delay=moment."),
    "task_id": ('Write using(id="x") where it is pushed, or unique="mail:{user_id}".', 'Write id="x".'),
    "job_id": ('Write using(id="x") where it is pushed, or unique="mail:{user_id}".', 'Write id="x".'),
}
"""Options: what to write in `@task` and in `using`."""
_RATE = (
    'Write rate="10/m", for all calls or each value of a limit_key=.',
    "Write lane=, and give the lane a rate in QUEUEOPS['POOLS'].",
)
_LIMIT = (
    "Write limit=3, for all calls or each value of a limit_key=.",
    "Write lane=, and give the lane a limit in QUEUEOPS['POOLS'].",
)
_LIMITS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("rate_limit", "rate"), _RATE),
    **dict.fromkeys(("limit", "concurrency", "max_parallel", "lock"), _LIMIT),
}
"""Limits: what to write for what has limits of its own, and for what has not."""


def unknown_option(name: str, known: Iterable[str], what: str = "A task") -> UnknownOption:
    """The error for an option that `what` does not have."""
    names = set(known)
    if name in _OPTIONS_OF_A_PUSH:
        return UnknownOption(what=what, name=name, advice=f". {_OPTIONS_OF_A_PUSH[name]['id' in names]}")
    if name in _LIMITS:
        return UnknownOption(what=what, name=name, advice=f". {_LIMITS[name]['limit' not in names]}")
    if name in _OPTIONS:
        return UnknownOption(what=what, name=name, advice=f". {_OPTIONS[name]}")
    return UnknownOption(what=what, name=name, advice=advice(name, names))


def missing_import(name: str) -> ImportError | None:
    """The error for a name of another queue that `queueops` does not have; None for any other name."""
    if name not in _IMPORTS:
        return None
    text = f"cannot import name {name!r} from 'queueops'. Write {_IMPORTS[name]}"
    return ImportError(text, name=name)


def is_foreign(name: str) -> bool:
    """Whether another queue has an option of this name."""
    return name in _OPTIONS or name in _OPTIONS_OF_A_PUSH or name in _LIMITS


def missing_attribute(thing: object, name: str, it: str, methods: Mapping[str, str]) -> AttributeError:
    """The error for a missing attribute of `thing`, with the replacement if another queue has this attribute."""
    instead = f". Write {methods[name].format(it=it)}" if name in methods else ""
    owner = f"type object {thing.__name__!r}" if isinstance(thing, type) else f"{type(thing).__name__!r} object"
    return AttributeError(f"{owner} has no attribute {name!r}{instead}", name=name, obj=thing)


class ForeignMethod:
    """Class attribute that does not exist; reading it raises an error that names the replacement."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the attribute's name."""
        self._name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        """Raise AttributeError with the replacement."""
        raise missing_attribute(owner, self._name, owner.__name__, TASK_METHODS)
