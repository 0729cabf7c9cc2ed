"""While a node of a cluster is silent some pools are not known: nothing is said, or done, as if they were all."""

from __future__ import annotations

import pytest

from queueops import control, inspect
from queueops.errors import BrokerUnavailable
from queueops.redis.broker import get_broker
from queueops.redis.pool_registry import Registry
from tests.kernel.desk import Desk
from tests.support.for_each import for_each

CALLS = {
    "pause a name": lambda: control.pause_name("shop.resize", new=True),
    "mute an error": lambda: control.mute_error("f1", None),
    "stop a worker": lambda: control.stop_worker("w1"),
    "pause a schedule": lambda: control.pause_schedule("s1"),
    "show a schedule": lambda: inspect.schedule("s1"),
    "show a task": lambda: inspect.task("t1"),
    "show chunks": lambda: inspect.chunks_of("m1"),
}


@for_each("call", list(CALLS))
def test_no_answer_is_given_as_if_all_pools_were_known(
    namespace: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Desk(get_broker()).push("a")
    monkeypatch.setattr(Registry, "seen", lambda _: (["default"], "no answer"))
    with pytest.raises(BrokerUnavailable, match="no answer"):
        CALLS[call]()
