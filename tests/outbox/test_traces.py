"""A task that the outbox sends later continues the trace of its push."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from queueops.contrib.outbox.database_outbox import DatabaseOutbox
from queueops.model import observers
from queueops.model.contracts import Push
from queueops.redis.broker import get_broker
from tests.support import tasks_for_tests as tasks

pytestmark = pytest.mark.django_db(transaction=True)


class Caller:
    """An observer that is in this trace."""

    trace = f"00-{'1' * 32}-{'2' * 16}-01"

    @contextmanager
    def publishing(self, pushes: Sequence[Push], headers: dict[str, str]) -> Iterator[None]:
        headers["traceparent"] = self.trace
        yield


def test_a_relay_leaves_the_trace_of_the_caller(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DatabaseOutbox, "_committed", lambda *_: None)
    caller = Caller()
    monkeypatch.setattr(observers, "registered", [caller])
    with transaction.atomic():
        handle = tasks.add.push(1)
    before, caller.trace = caller.trace, caller.trace.replace("1", "3", 32)
    assert app.relay() == 1
    record = get_broker().record(handle.pool, handle.id)
    assert record is not None
    assert record.trace == before
