"""All URLs of the console, with an example of each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from django.db import transaction
from django.urls import URLPattern, reverse

from console.access.headers import HEADERS
from console.access.permissions import TABLE, changes
from console.urls import PAGES as PATTERNS
from tests.support.for_each import for_each

EXAMPLES = {
    "id": "task-1",
    "fingerprint": "f00",
    "pool": "default",
    "lane": "slow",
    "pk": 1,
    "number": 6,
    "list": "tasks",
}
WHOLE = (
    *("retry", "reinstate", "run_now", "requeue", "postpone", "move"),
    *("cancel", "interrupt", "release", "delete", "discard"),
)
QUERIES = {
    "task-live": "?tab=summary",
    "find": "?q=task",
    "palette": "?q=task",
    **{f"tasks-all-{verb}": "?state=failed" for verb in WHOLE},
    **{f"callbacks-{verb}-all": "?show=dead" for verb in ("redeliver", "redirect")},
}
GOING_ON, BY_WORKERS = 2, 3
"""The entry that has not come to its end."""
CHUNKED = ("task-chunk", "task-mapreduce")
"""URLs that begin so are of map-reduce tasks."""
POSTED = {"login", "logout", "settings-save", "audit-dismiss", "view-save", "view-rename", "view-delete"}
USUAL_FORM: dict[str, object] = {"task": "default task-1", "pool": "default", "chunk": "6"}
SCHEDULE: dict[str, object] = {
    "line": "0 3 * * *",
    "zone": "Europe/Berlin",
    "jitter": "1.5",
    "catch_up": "all",
    "overlap": "skip",
    "args": "[1]",
    "kwargs": "{}",
}
FORMS: dict[str, dict[str, object]] = {
    "task-postpone": {"delay": "60"},
    "task-priority": {"priority": "5"},
    "task-move": {"lane": "slow"},
    "task-keep": {"days": "7"},
    "task-edit-save": {"args": "[1]", "kwargs": '{"a": 2}'},
    "tasks-postpone": {"delay": "60"},
    "tasks-move": {"lane": "slow"},
    **{
        f"tasks-all-{verb}": {"confirmed": "1", "typed": "1", "reason": "all", "delay": "60", "lane": "slow"}
        for verb in WHOLE
    },
    "name-push": {"p-order": "7"},
    "pool-pause": {"confirmed": "1"},
    "pool-empty_trash": {"confirmed": "1"},
    "lane-set": {"limit": "4", "rate": "0.5", "weight": "2"},
    "aggregation-set": {"limit": "4", "rate": "0.5", "weight": "2"},
    "alert-silence": {"seconds": "3600"},
    "alert-rule-silence": {"seconds": "3600", "confirmed": "1"},
    "api-token-create": {"name": "shop", "scopes": ["submit"]},
    "api-token-revoke": {"confirmed": "1"},
    "aggregation-drain": {"confirmed": "1"},
    "aggregation-proxy": {"confirmed": "1", "proxy": "https://proxy.example"},
    "aggregation-remove": {"confirmed": "1", "typed": "1", "reason": "not needed"},
    "callbacks-redirect": {"url": "https://shop.example/new", "confirmed": "1"},
    "callbacks-redirect-all": {"url": "https://shop.example/new", "confirmed": "1"},
    "callbacks-redeliver-all": {"rate": "20", "confirmed": "1"},
    "callbacks-test": {"url": "https://shop.example/new"},
    "maintenance-start": {"confirmed": "1", "reason": "new disks"},
    "task-discard": {"confirmed": "1", "typed": "1", "reason": "broken"},
    "task-rerun": {"confirmed": "1"},
    **{f"{page}-{verb}": {"confirmed": "1"} for page in ("task", "tasks") for verb in ("interrupt", "release")},
    "worker-quiet": {"confirmed": "1"},
    "worker-stop": {"confirmed": "1"},
    "tasks-discard": {"confirmed": "1", "typed": "1", "reason": "broken"},
    "schedule-create": SCHEDULE | {"task": "demo.task", "id": "s"},
    "schedule-edit-save": SCHEDULE | {"task": "demo.task", "version": "7"},
    "schedule-backfill-run": {"since": "2026-01-01T00:00", "until": "2026-01-01T02:00"},
    "schedule-delete": {"confirmed": "1", "typed": "1", "reason": "not needed"},
    "file-delete": {"path": "tas/task-1", "confirmed": "1", "typed": "1", "reason": "too large"},
    "file-keep": {"path": "tas/task-1"},
    "chunks-retry": {"listed": "default count-1 6"},
    "task-chunks-postpone": {"delay": "3600"},
    "task-chunks-restart": {"stage": "reduce"},
    "task-chunks-edit-save": {"change": "fields", "value": '{"host": "b"}', "confirmed": "1"},
    "task-signal_runs": {"name": "approve", "value": "true"},
    "task-reset_runs": {"entry": "1", "confirmed": "1"},
    "task-retry-step": {"confirmed": "1"},
    "task-terminate-run": {"confirmed": "1"},
    "workflow-start": {"name": "demo.flow", "instance": "order-7", "args": "[7]", "kwargs": "{}"},
    "outbox-retry": {"task": "default 1"},
    "outbox-drop": {"task": "default 1", "confirmed": "1", "typed": "1", "reason": "not needed"},
    "commands-drop": {"confirmed": "1", "typed": "1", "reason": "not needed"},
    "commands-drop-dead": {"confirmed": "3", "typed": "3", "reason": "not needed"},
    "task-chunk-edit-save": {"data": '{"path": "a"}'},
}


SHOWN_ONCE = {"api-token-create"}
"""Actions whose answer is a page, and no redirect: it shows what is stored nowhere."""


class Address(NamedTuple):
    """A URL of the console: its name, an example of its path, and what a form would send there."""

    name: str
    path: str
    form: dict[str, object]

    def __str__(self) -> str:
        return f"{self.name} {self.path}"

    @property
    def changes(self) -> bool:
        return changes(self.name)

    @property
    def done(self) -> int:
        """The status of the answer once the action is done."""
        return 200 if self.name in SHOWN_ONCE else 302


def walk() -> Iterator[Address]:
    """Every URL pattern; one that has no example fails the test that walks."""
    for pattern in PATTERNS:
        assert isinstance(pattern, URLPattern)
        assert pattern.name in TABLE, f"{pattern.pattern} is not in the table of permissions"
        yield Address(pattern.name, example(pattern), USUAL_FORM | FORMS.get(pattern.name, {}))


def example(pattern: URLPattern) -> str:
    if pattern.name == "missing":
        return "/ops/no/such/page/"
    given = dict(pattern.default_args or {})
    keys = [key for key in pattern.pattern.converters if key not in given]
    kwargs = {key: EXAMPLES[key] for key in keys}
    if pattern.name and pattern.name.partition("-")[0] == "worker":
        kwargs["id"] = "host:1"
    if pattern.name and pattern.name.startswith(CHUNKED):
        kwargs["id"] = "count-1"
    if pattern.name in (
        "registry-task",
        "registry-task-live",
        "registry-push",
        "name-pause",
        "name-push",
        "name-resume",
    ):
        kwargs["id"] = "demo.task"
    if pattern.name == "audit-go-on":
        kwargs["pk"] = GOING_ON
    if pattern.name == "audit-operation":
        kwargs["pk"] = BY_WORKERS
    return reverse(f"console:{pattern.name}", kwargs=kwargs) + QUERIES.get(pattern.name or "", "")


ADDRESSES = tuple(walk())
PROBES = {"healthz", "readyz", "export", "task-export"}
"""Answers that are no pages."""
PAGES = tuple(one for one in ADDRESSES if not one.changes and one.name not in POSTED | PROBES | {"missing"})
MUTATIONS = tuple(one for one in ADDRESSES if one.changes)
OF_THE_ENGINE = tuple(one for one in MUTATIONS if not re.fullmatch(r"error-(resolve|reopen|note)", one.name))
"""Notes about errors are in the database alone."""


def for_each_address(addresses: Iterable[Address]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """One test for all these URLs: each meets the stand-in and the database as they are at the start of the test."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def anew(**fixtures: Any) -> None:
            if "client_of" in fixtures:
                fixtures["client_of"].stay_logged_in()
            with transaction.atomic():
                if "world" in fixtures:
                    fixtures["world"].start_over()
                test(**fixtures)
                transaction.set_rollback(True)

        anew.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
        anew.__name__, anew.__doc__, anew.__module__ = test.__name__, test.__doc__, test.__module__
        return for_each("address", addresses)(anew)

    return decorate


def assert_protected(answer: Any) -> None:
    """The answer has the headers of the console."""
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "HX-Request" in answer.headers["Vary"]
