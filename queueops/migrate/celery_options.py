"""Options of a Celery task, and the options of `@task` that mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from queueops.migrate.code import UNKNOWN, is_none, keywords, literal, named, short, text_of
from queueops.migrate.plan import Task, Use

DROPPED = {
    "bind", "acks_late", "reject_on_worker_lost", "acks_on_failure_or_timeout", "track_started", "send_events",
    "store_errors_even_if_ignored", "max_retries", "default_retry_delay", "autoretry_for", "retry_kwargs",
    "retry_backoff", "retry_backoff_max", "retry_jitter", "soft_time_limit", "time_limit", "ignore_result",
    "trail", "resultrepr_maxsize",
}  # fmt: skip
"""Options that other options answer, or that are always so."""
PLACES = {
    "max_retries": "retries",
    "autoretry_for": "retry_on",
    "retry_backoff": "retry",
    "retry_kwargs": "retry",
    "default_retry_delay": "retry",
    "soft_time_limit": "timeout",
    "time_limit": "timeout",
}
"""The old option whose place and comment a new one takes."""
RENAMED = {"name": "name", "queue": "pool", "expires": "expires", "throws": "expected", "rate_limit": "rate"}
BLOCKING = {
    "base": "write a middleware, or receive the signals of tasks",
    "dont_autoretry_for": "raise Permanent(error) in the task for these errors: it fails without another attempt",
    "priority": "the order depends on Celery's broker; write priority=, where a higher number goes first (-100 to 100)",
    "routing_key": 'write pool="mail"',
    "exchange": 'write pool="mail"',
    "typing": "arguments are always checked; give the function the parameters that it takes",
    "shared": "there is no app object",
    "on_failure": "write @task(follow_up={'failure': other.s()})",
    "on_success": "write @task(follow_up={'success': other.s()})",
    "on_retry": "receive the signal task_retried",
}
RATE = re.compile(r"[1-9][0-9]*/[smh]")
NAME = re.compile(r"[A-Za-z0-9._:@/=+\-]{1,200}")
POOL = re.compile(r"[A-Za-z0-9._:@/=+\-]{1,100}")


def block(task: Task, line: int) -> None:
    """Note each option that cannot be rewritten."""
    options = keywords(task.args)
    if any(arg.star for arg in task.args) or any(arg.keyword is None for arg in task.args):
        task.blockers.append((line, "the decorator's arguments", "write each option by its name"))
    for name, value in options.items():
        if reason := _reason(name, value):
            task.blockers.append((line, f"{name}={short(value)}", reason))
    if "throws" in options and "autoretry_for" in options:
        why = "an error of both is retried in Celery, and fails at once with expected=; write one of them"
        task.blockers.append((line, "throws and autoretry_for", why))
    if not is_none(options.get("rate_limit", cst.Name("None"))):
        task.checks.append((line, "rate_limit", "Celery's limit is of each worker; rate= is of all workers together"))
    if not is_none(options.get("ignore_result", cst.Name("None"))):
        task.checks.append((line, "ignore_result", "results are kept for a day; keep=60 keeps the ended task a minute"))


def _reason(name: str, value: cst.BaseExpression) -> str:
    """Why an option stays; empty if it can be rewritten."""
    given = literal(value)
    if name in ("serializer", "compression"):
        return "" if given in ("json", None) else "arguments are JSON, converted by the annotations"
    if name == "name":
        return (
            ""
            if isinstance(given, str) and NAME.fullmatch(given)
            else "a name has 1 to 200 letters, digits and any of ._:@/=+-"
        )
    if name == "queue":
        unfit = given is not UNKNOWN and not (isinstance(given, str) and POOL.fullmatch(given))
        return "" if not unfit else "the name of a pool has 1 to 100 letters, digits and any of ._:@/=+-"
    if name == "autoretry_for" and given is UNKNOWN and not isinstance(value, (cst.Tuple, cst.List, cst.Name)):
        return "write retry_on= with exception classes"
    if name == "retry_kwargs" and not _readable_kwargs(value):
        return "write retries=3, retry=Retry(delay=60)"
    if name == "max_retries" and not (given is UNKNOWN or given is None or (isinstance(given, int) and given >= 0)):
        return "write retries=3"
    if name in ("soft_time_limit", "time_limit") and given == 0:
        return "write timeout= with more than 0 seconds"
    if name == "rate_limit" and not (given is None or (isinstance(given, str) and RATE.fullmatch(given))):
        return 'write rate="10/m"'
    if name in BLOCKING:
        return BLOCKING[name]
    return "" if name in DROPPED or name in RENAMED else "the option has no counterpart"


def _readable_kwargs(value: cst.BaseExpression) -> bool:
    found = literal(value)
    return isinstance(found, dict) and set(found) <= {"max_retries", "countdown"}


def settle_retries(task: Task, *, retries_itself: bool) -> None:
    """Find out how often the task is retried, and after which delay."""
    options = keywords(task.args)
    kwargs = literal(options.get("retry_kwargs"))
    task.delay = text_of(options["default_retry_delay"]) if "default_retry_delay" in options else "180"
    if not retries_itself and "autoretry_for" not in options:
        task.retries = "0"
    elif isinstance(kwargs, dict) and "max_retries" in kwargs:
        task.retries = _count(repr(kwargs["max_retries"]))
    else:
        task.retries = _count(text_of(options["max_retries"]) if "max_retries" in options else "3")


def _count(text: str) -> str:
    return "1_000_000" if text == "None" else text


def new_options(task: Task, use: Use, *, retries_itself: bool) -> Sequence[cst.Arg]:
    """The options of `@task`, the kept ones in their old place."""
    options = keywords(task.args)
    made = [*_retry_options(task, options, use, retries_itself), *_timeout(options)]
    new = {arg.keyword.value: arg for arg in made if arg.keyword is not None}
    kept = []
    for arg in task.args:
        name = arg.keyword.value if arg.keyword is not None else ""
        if name in RENAMED and not is_none(arg.value):
            kept.append(arg.with_changes(keyword=cst.Name(RENAMED[name])))
        elif PLACES.get(name) in new:
            one = new.pop(PLACES[name])
            kept.append(arg.with_changes(keyword=one.keyword, value=one.value))
    return [*kept, *new.values()]


def _retry_options(
    task: Task, options: Mapping[str, cst.BaseExpression], use: Use, retries_itself: bool
) -> Iterator[cst.Arg]:
    yield named("retries", task.retries)
    if "autoretry_for" in options:
        yield named("retry", f"{use('Retry')}({_delays(options, task.delay)})")
        yield named("retry_on", options["autoretry_for"])
    elif retries_itself:
        yield named("retry_on", "()")


def _delays(options: Mapping[str, cst.BaseExpression], default: str) -> str:
    backoff = options.get("retry_backoff")
    if backoff is None or literal(backoff) in (False, 0):
        kwargs = literal(options.get("retry_kwargs"))
        delay = kwargs.get("countdown", default) if isinstance(kwargs, dict) else default
        return f"delay={delay}, backoff=1, jitter=0"
    delay = "1" if literal(backoff) is True else text_of(backoff)
    most = text_of(options["retry_backoff_max"]) if "retry_backoff_max" in options else "600"
    still = ", jitter=0" if literal(options.get("retry_jitter")) is False else ""
    return f"delay={delay}, backoff=2, max_delay={most}{still}"


def _timeout(options: Mapping[str, cst.BaseExpression]) -> Iterator[cst.Arg]:
    """The soft limit, or else the hard one: the hard limit follows by itself."""
    for name in ("soft_time_limit", "time_limit"):
        if name in options and not is_none(options[name]):
            yield named("timeout", options[name])
            return
