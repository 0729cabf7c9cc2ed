"""An iterator whose tasks the store does not take just then: that is no fault of the iterator."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from queueops import Iterator, inspect
from queueops.errors import BrokerUnavailable, QueueOpsError, StoreFull
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.composites.test_async_iterators import Later
from tests.composites.work import Count, seen
from tests.kernel import invariants

FULL = StoreFull(reason="no room")
AWAY = BrokerUnavailable(url="redis://x", attempts=5, reason="gone")


def raising(error: Exception) -> Callable[..., None]:
    """A call that the store refuses."""

    def call(*_: object) -> None:
        raise error

    return call


@pytest.mark.usefixtures("namespace")
@pytest.mark.parametrize("error", [FULL, AWAY])
@pytest.mark.parametrize("iterator", [Count, Later])
def test_a_store_that_takes_none_of_its_tasks_costs_it_no_attempt(
    monkeypatch: pytest.MonkeyPatch, error: QueueOpsError, iterator: type[Iterator]
) -> None:
    seen.clear()
    handle = iterator.push(7)
    for _ in range(5):  # more often than it may fail
        with monkeypatch.context() as patch:
            patch.setattr(get_broker(), "emit", raising(error))
            run_worker()
        status = handle.status()
        assert status is not None
        assert (status.state, status.attempt) == ("postponed", 0)
        handle.run_now()
    run_worker()
    assert handle.state == "succeeded"
    assert sorted(seen) == list(range(7))
    detail = inspect.task(handle.id)
    assert detail is not None
    assert any(line.text.endswith("It begins again in 5 s.") for line in detail.log)
    invariants.check(get_broker(), "default")
