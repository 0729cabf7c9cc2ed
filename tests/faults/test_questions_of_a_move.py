"""What is asked while the slot of a pool goes to another server of the cluster, and after that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from queueops import inspect
from queueops.inspect import TaskQuery
from queueops.redis.broker import get_broker
from tests.faults.conftest import Bench
from tests.support import topology
from tests.support.questions import OF_ONE_POOL, QUESTIONS, refused
from tests.support.specimens import SICK, specimens

pytestmark = pytest.mark.faults


@pytest.fixture
def slot(bench: Bench, nodes: list[topology.Node], settings: Any) -> Iterator[int]:
    """The slot of a pool with something of everything."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"RETRY": {"attempts": 2}}
    with specimens():
        yield topology.slot_of(get_broker().keys(SICK).prefix)


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_a_question_meanwhile_shows_the_other_pools_and_tells_that_this_one_moves(
    slot: int, nodes: list[topology.Node], share: float
) -> None:
    with topology.moving(slot, nodes, share):
        found = refused(QUESTIONS)
        broken = {each.pool: each.reason for each in inspect.tasks(TaskQuery()).broken}
        assert share == 0 or "the slot of the pool is being moved" in broken[SICK]
    assert found.keys() <= OF_ONE_POOL
    assert [text for text in found.values() if "BrokerUnavailable" not in text or "is being moved" not in text] == []


def test_a_question_after_it_follows_the_pool(slot: int, nodes: list[topology.Node]) -> None:
    stores = [get_broker().servers, get_broker().hasty().servers]
    assert refused() == {}
    before = [list(store._slots) for store in stores]
    with topology.moving(slot, nodes):
        pass
    for name, ask in QUESTIONS.items():
        for store, slots in zip(stores, before, strict=True):
            store._slots = list(slots)  # as in a process that has asked nothing since the move
        assert refused({name: ask}) == {}
