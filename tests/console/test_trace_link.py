"""The link from a task to its trace, by the setting TRACE_URL."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from queueops import inspect, task
from queueops.model.trace_context import LINKED, TRACEPARENT, read, written
from queueops.redis.broker import get_broker

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]
TRACE = "0af7651916cd43dd8448eb211c80319c"


@task()
def traced() -> None: ...


def trace_of(stored: str) -> tuple[str, str]:
    """The link and the text of a task whose record has this trace context."""
    handle = traced.push()
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "tr", stored)
    found = inspect.task(handle.id)
    assert found is not None
    return found.trace_url, found.trace


def test_a_page_links_a_sampled_trace_and_no_other_text(administrator: Client, settings: Any) -> None:
    parent = f"00-{TRACE}-b7ad6b7169203331-01"
    stored = written({TRACEPARENT: parent, "sentry-trace": "secret-header", "broken": "two\nlines", LINKED: "1"})
    assert read(stored) == {TRACEPARENT: parent, "sentry-trace": "secret-header", LINKED: "1"}
    assert trace_of(stored) == ("", parent)
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRACE_URL": "https://tracing.example/trace/{trace_id}?a=1&b=2"}
    link = f"https://tracing.example/trace/{TRACE}?a=1&b=2"
    assert trace_of(stored) == (link, parent)
    for other in (f"{parent[:-2]}00", "javascript:alert(1)", f"00-{TRACE.upper()}-b7ad6b7169203331-01", "\n", "-"):
        assert trace_of(other)[0] == ""
        assert read(other).keys() <= {TRACEPARENT}
    handle = traced.push()
    broker = get_broker()
    broker.client.hset(broker.keys("default").task(handle.id), "tr", stored)
    page = administrator.get(f"/ops/tasks/{handle.id}/").content.decode()
    assert f'<a href="{link.replace("&", "&amp;")}" rel="noreferrer">Open the trace</a>' in page
    assert "secret-header" not in page
