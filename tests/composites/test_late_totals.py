"""Totals that a part says after its parent has ended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.composites.pools import Pools
from tests.composites.test_weights import FAR, advance, lease_of, planted, progress_of
from tests.composites.trees import group_of
from tests.kernel.conftest import MakeDesk


@pytest.fixture
def pools(make_desk: MakeDesk) -> Iterator[Pools]:
    """Two pools beside the default one; all are checked at the end."""
    pools = Pools(make_desk().broker, "north", "south")
    yield pools
    pools.check()


@pytest.mark.parametrize("ends_before", [True, False], ids=["ended", "running"])
@pytest.mark.parametrize("where", FAR.values(), ids=FAR)
def test_a_total_said_when_the_parent_is_over_does_not_count(
    pools: Pools, where: dict[str, str], ends_before: bool
) -> None:
    planted(pools, group_of("g", group_of("h", "a", "b"), "d"), {"a": 10}, where)
    a = lease_of(pools, "a", where)
    advance(pools, a, 5)
    pools.broker.control("default", "cancel", ["g"])
    pools.deliver()
    advance(pools, a, 60, 100)
    if ends_before:
        pools.settle(a)
        pools.deliver()
    assert progress_of(pools, "g") == (5, 12)
    pools.broker.control("default", "retry", ["g"])
    pools.deliver()
    if not ends_before:
        assert progress_of(pools, "g") == (5, 12)
        pools.settle(a)
        pools.deliver()
    assert progress_of(pools, "g") == (10, 12)
