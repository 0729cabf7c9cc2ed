"""The end of an iterator's own run, and of many of its tasks at once."""

from __future__ import annotations

import pytest

from queueops.eager.execution import run
from queueops.model.contracts import Outcome, RoundTrip
from queueops.redis.broker import get_broker
from tests.composites.channel import CHANNEL
from tests.composites.test_iterator import begun
from tests.composites.work import Wide
from tests.kernel.desk import Desk, end

pytestmark = pytest.mark.usefixtures("namespace")


def test_its_tasks_end_with_it_when_its_own_run_fails_for_good() -> None:
    handle, desk, running, (first, second) = begun()
    desk.exchange(settle=[end(first, Outcome.RELEASE), end(running, Outcome.ERROR, b"{}", delay_ms=-1)])
    assert (handle.state, desk.state(first.id)) == ("failed", "cancelled")
    assert [told[0] for told in desk.extend(second).cancels] == [second.id]
    desk.check()
    desk.settle(second, Outcome.CANCEL, b"told")
    assert desk.claim(9) == []


def test_of_many_that_end_in_one_call_the_last_hundred_are_known() -> None:
    handle, desk = Wide.push(), Desk(get_broker())
    desk.broker.exchange("default", "w1", RoundTrip(settle=[run(desk.lease(), CHANNEL)]))
    leases = [lease for lease in desk.claim(200) if lease.id != handle.id]
    assert len(leases) == 120
    desk.exchange(settle=[end(lease) for lease in leases])
    known = desk.client.lrange(f"{desk.keys.task(handle.id)}#latest", 0, -1)
    assert [task_id.decode() for task_id in known] == [lease.id for lease in leases[-100:]]
    desk.check()
