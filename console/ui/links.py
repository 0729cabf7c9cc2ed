"""Links: the URLs of tasks and alarms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from django.urls import URLResolver, get_resolver, get_script_prefix, get_urlconf, reverse
from django.utils.http import urlencode
from django.utils.translation import get_language

from console.ui.kind_pages import kind_pages, parts_of
from queueops import conf
from queueops.inspect import Alarm

TOLD = ("tasks", "lanes", "workers", "errors", "alerts")
"""Pages that an alarm may lead to, beside those of the kinds."""


def url(name: str, query: Mapping[str, Any] | None = None, **kwargs: Any) -> str:
    """The URL of this name, with the parameters that are not empty."""
    return with_query(full_name_url(f"console:{name}", **kwargs), query or {})


def full_name_url(name: str, **kwargs: Any) -> str:
    """The URL of a name with its namespace, also of other apps. Raises NoReverseMatch for an unknown name."""
    return _reversed(*url_scope(), name, tuple(kwargs.items()))


def overview_of(store: str) -> str:
    """The first page of the console of this store; an empty name is the project's own."""
    return reverse("console:overview", current_app=console_of(store))


Scope = tuple[URLResolver, str, str | None, str]
_OF_REQUEST: ContextVar[Scope | None] = ContextVar("queueops_url_scope", default=None)


def url_scope() -> Scope:
    """All that a URL depends on, besides its name and its parts: the last is the console of the current store."""
    return _OF_REQUEST.get() or _scope()


@contextmanager
def one_scope() -> Iterator[None]:
    """Ask once for what all URLs of a request depend on: a page has some hundred."""
    token = _OF_REQUEST.set(_scope())
    try:
        yield
    finally:
        _OF_REQUEST.reset(token)


def _scope() -> Scope:
    app = console_of(conf.store_name())
    return get_resolver(get_urlconf()), get_script_prefix(), get_language(), app


def console_of(store: str) -> str:
    """The namespace of the URLs of a store's console: Django's `current_app`. An empty name is the project's own."""
    return f"console-{store}" if store else "console"


@lru_cache(maxsize=4096)
def _reversed(
    _resolver: URLResolver,
    _prefix: str,
    _language: str | None,
    app: str,
    name: str,
    kwargs: tuple[tuple[str, Any], ...],
) -> str:
    """Django's `reverse`, kept by all that it depends on: a list has several URLs a row, and is read each second."""
    return reverse(name, kwargs=dict(kwargs), current_app=app)


def with_query(address: str, query: Mapping[str, Any]) -> str:
    """The address with the parameters that are not empty."""
    given = {key: value for key, value in query.items() if value}
    return f"{address}?{urlencode(given, doseq=True)}" if given else address


def task_url(id: str, pool: str = "", name: str = "task", **more: Any) -> str:
    """The URL of a task's page, or of one of its tabs or actions; the pool distinguishes tasks of the same id.

    For the id of a part of a record it is the part's page.
    """
    if (part := parts_of(id)) is not None:
        return part.url(id, pool)
    return url(name, {"pool": pool, **more}, id=id)


def alarm_url(alarm: Alarm) -> str:
    """The URL of the page with more about an alarm; empty if there is none."""
    name, _, query = alarm.url_hint.partition("?")
    given = dict(parse_qsl(query))
    if name == "name":
        return url("registry-task", id=given["id"])
    if name == "lane":
        return url("lane", pool=given["pool"], lane=given["id"])
    if name == "worker":
        return url("worker", id=given["id"])
    if name == "why":
        return task_url(given["id"], given["pool"], "task-why")
    name = name.strip("/")
    of_kinds = {item[0] for pages in kind_pages() for item in pages.navigation}
    return url(name, given) if name in of_kinds.union(TOLD) else ""


def tab_url(id: str, pool: str, tab: str) -> str:
    """The URL of one of a task's tabs."""
    return task_url(id, pool, "task" if tab == "summary" else f"task-{tab}")
