"""The navigation has the pages of jobs only where jobs are used, and no page asks the store for it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from queueops import inspect, jobs
from queueops.kinds.jobs import usage
from queueops.tasks import registry
from tests.console.conftest import client_of, collected, viewer  # noqa: F401  fixtures


@pytest.fixture
def unused(namespace: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project that has no jobs: neither settings nor a handler."""
    settings.QUEUEOPS = {name: value for name, value in settings.QUEUEOPS.items() if name != "JOBS"}
    others = {key: value for key, value in registry.handlers().items() if key[0] != "job"}
    monkeypatch.setattr(registry, "handlers", lambda: others)
    monkeypatch.setattr(usage, "_seen", set())
    monkeypatch.setattr(usage, "_next", {})


@pytest.mark.django_db
@pytest.mark.usefixtures("unused")
def test_the_links_are_shown_once_a_job_was_seen(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    asked: list[bool] = []
    has_jobs = usage._has_jobs
    monkeypatch.setattr(usage, "_has_jobs", lambda: asked.append(True) or has_jobs())
    for _ in range(3):
        assert "/ops/callbacks/" not in viewer.get("/ops/lanes/").content.decode()
    assert len(asked) == 1, "a page does not ask the store each time"
    jobs.submit(aggregation="a", handler="work")
    monkeypatch.setattr(usage, "_next", {})
    for _ in range(3):
        assert "/ops/callbacks/" in viewer.get("/ops/lanes/").content.decode()
    assert len(asked) == 2


@pytest.mark.usefixtures("unused")
def test_a_handler_or_the_settings_show_that_jobs_are_used(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not inspect.uses_jobs()
    with monkeypatch.context() as patched:
        patched.setattr(registry, "handlers", lambda: {("job", "resize"): object()})
        assert inspect.uses_jobs()
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {}}
    assert inspect.uses_jobs()
