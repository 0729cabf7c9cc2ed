"""Callbacks that wait are postponed: some of them, or all that match."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import control
from tests.console.conftest import client_of, collected, operator  # noqa: F401  fixtures
from tests.jobs.conftest import Register
from tests.jobs.servers import LocalServer
from tests.jobs.test_callbacks import callback_of, target  # noqa: F401  a fixture
from tests.jobs.test_console import submitted

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]


def test_scheduled_callbacks_are_postponed_by_selection_and_all_at_once(
    target: LocalServer,  # noqa: F811
    handler: Register,
    operator: Client,  # noqa: F811
) -> None:
    handler(lambda job: None)
    made = [submitted(target) for _ in range(3)]
    control.redeliver_callbacks([callback_of(job).id for job in made], delay=600)
    before = [callback_of(job).due_ms for job in made]
    page = operator.get("/ops/callbacks/?show=scheduled").content.decode()
    assert 'formaction="/ops/tasks/_postpone"' in page
    (whole,) = set(re.findall(r'formaction="(/ops/tasks/_all_postpone[^"]+)"', page))
    chosen = callback_of(made[0])
    operator.post("/ops/tasks/_postpone", {"task": f"{chosen.pool} {chosen.id}", "delay": "3600"})
    assert callback_of(made[0]).due_ms > before[0] + 2_000_000
    entry = AuditEntry.objects.latest("pk")
    operator.post(f"/ops/audit/{entry.pk}/_undo")
    assert abs(callback_of(made[0]).due_ms - before[0]) < 5_000
    form = {"delay": "86400", "confirmed": "3", "typed": "3", "reason": "closed"}
    operator.post(whole.replace("&amp;", "&"), form)
    assert all(callback_of(job).due_ms > due + 80_000_000 for job, due in zip(made, before, strict=True))
