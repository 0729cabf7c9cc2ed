"""The page of commands between pools, on the real engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from console.models import AuditEntry
from queueops import inspect
from queueops.redis.broker import get_broker
from tests.composites.pools import Pools
from tests.composites.trees import group_of
from tests.inspecting.test_commands import give_up

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]


@pytest.fixture
def pools() -> Iterator[Pools]:
    """A group whose parts are in another pool, and whose commands were given up."""
    pools = Pools(get_broker(), "north")
    pools.plant(group_of("g", "a", "b"), a="north", b="north")
    give_up(pools, "default")
    yield pools
    pools.check()


def ids() -> list[str]:
    return [f"{row.pool} {row.id}" for row in inspect.commands("dead").rows]


def test_what_was_given_up_is_shown_with_its_target(pools: Pools, viewer: Client, operator: Client) -> None:
    assert "&lt;boom&gt;" in operator.get("/ops/commands/?place=dead").content.decode()
    page = viewer.get("/ops/commands/?place=dead").content.decode()
    assert "<h1>Pool messages</h1>" in page
    for word in ("dead", "given-up", "given up"):
        assert "&lt;boom&gt;" in operator.get("/ops/pool-messages/", {"place": word}).content.decode()
    assert 'href="/ops/tasks/a/?pool=north"' in page
    assert "boom" not in page
    assert "the turn of the part has come" in page
    assert "_drop" not in page
    assert "No message waits for delivery." in viewer.get("/ops/commands/").content.decode()
    assert "No message was given up." not in page
    assert viewer.get("/ops/commands/?after=nonsense").status_code == 200


def test_one_is_tried_again_at_once(pools: Pools, operator: Client) -> None:
    assert operator.post("/ops/commands/_requeue", {"task": ids()[0]}).status_code == 302
    pools.deliver()
    assert sorted(pools.states("a", "b")) == ["pending", "waiting"]
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.changed, entry.outcome) == ("requeue_commands", 1, "done")


def test_all_are_tried_again(pools: Pools, operator: Client) -> None:
    operator.post("/ops/commands/_requeue_dead")
    pools.deliver()
    assert pools.states("a", "b") == ["pending", "pending"]
    assert AuditEntry.objects.get().after == {"default": 2}


def test_dropping_asks_for_the_count_and_a_reason(pools: Pools, administrator: Client) -> None:
    asked = administrator.post("/ops/commands/_drop_dead").content.decode()
    assert "2 messages" in asked
    assert "A dropped cancel or retry is not" in asked
    assert len(ids()) == 2
    sent = {"confirmed": "2", "typed": "2", "reason": "not needed"}
    administrator.post("/ops/commands/_drop_dead", sent)
    assert ids() == []
    assert AuditEntry.objects.get().reason == "not needed"
    pools["default"].told("cancel", "g")
    pools.deliver()


def test_one_is_dropped_once_that_was_confirmed(pools: Pools, administrator: Client) -> None:
    one = ids()[0]
    assert administrator.post("/ops/commands/_drop", {"task": one}).status_code == 200
    administrator.post("/ops/commands/_drop", {"task": one, "confirmed": "1", "typed": "1", "reason": "lost"})
    assert one not in ids()
    assert len(ids()) == 1
