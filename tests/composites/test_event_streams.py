"""Events of a composite whose parts are in several pools, on several servers."""

from __future__ import annotations

import pytest

from queueops import chain, events, group
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.composites.work import tell
from tests.support.waiting import until_end

pytestmark = pytest.mark.usefixtures("namespace")


def test_by_its_root_a_composite_is_followed_through_all_pools() -> None:
    north, south = tell.using(pool="north"), tell.using(pool="south")
    whole = chain(north.s(1), group(south.s(), tell.s()).using(pool="north"), south.s()).push()
    with events.follow(root=whole, kinds=["end"]) as stream:
        run_worker()
        found = [(event.kind, event.pool, event.name, event.state) for _, event in zip(range(7), stream, strict=False)]
    name = "tests.composites.work.tell"
    assert sorted(found) == sorted([
        ("now", whole.pool, "chain", "idle"),
        ("end", "north", name, "succeeded"),
        ("end", "south", name, "succeeded"),
        ("end", "default", name, "succeeded"),
        ("end", "north", "group", "succeeded"),
        ("end", "south", name, "succeeded"),
        ("end", whole.pool, "chain", "succeeded"),
    ])  # fmt: skip
    assert found[0][0] == "now"


def test_a_lost_connection_is_a_gap_for_every_stream_and_each_goes_on() -> None:
    handles = [tell.using(pool=pool).push(1) for pool in ("default", "north", "south")]
    streams = [events.follow(id=handle) for handle in handles]
    for stream in streams:
        assert next(stream).kind == "now"
    for pool in ("default", "north", "south"):
        get_broker().at(pool).client_kill_filter(_type="pubsub")
    for stream in streams:
        assert next(stream).kind == "gap"
        while (event := next(stream)).kind == "gap":
            continue
        assert (event.kind, event.state) == ("now", "pending")
    run_worker()
    for stream in streams:
        kinds = [event.kind for event in until_end(stream)]
        assert kinds[-1] in ("end", "now")
        stream.close()
