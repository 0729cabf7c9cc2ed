"""Commands between pools, as an operator sees them and acts on them, in Python and in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.models import AuditEntry
from queueops import control, inspect
from queueops.errors import BadOption, FilterError
from queueops.model.contracts import Told
from queueops.redis.broker import get_broker
from tests.composites.pools import Pools
from tests.composites.trees import chain_of, group_of
from tests.inspecting.test_queue_command import failing, queue, queue_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]


@pytest.fixture
def pools() -> Iterator[Pools]:
    """Two pools beside the default one; all are checked at the end."""
    pools = Pools(get_broker(), "north", "south")
    yield pools
    pools.check()


def give_up(pools: Pools, pool: str) -> None:
    """All commands of a pool are tried as often as they are, by an error."""
    while pools.waits(pool):
        pools.make_due(pool)
        taken = pools.take(pool)
        pools.tell(pool, *[Told(each.id, each.version, "FAILED", b"<boom>") for each in taken])


def words(place: str = "due", **given: object) -> list[tuple[str, str, str, str]]:
    return [(row.pool, row.verb, row.target, row.to) for row in inspect.commands(place, **given).rows]  # type: ignore[arg-type]


def test_commands_are_told_with_their_target_and_generation(pools: Pools) -> None:
    uid = pools.plant(group_of("g", "a", "b"), a="north", b="south").uid
    page = inspect.commands()
    assert (page.due, page.locked, page.dead, page.next) == (2, 0, 0, "")
    assert words() == [("default", "activate", "a", "north"), ("default", "activate", "b", "south")]
    assert {(row.sender, row.generation, row.round, row.tries) for row in page.rows} == {("g", str(uid), 0, 0)}
    pools.take("default", 1)
    assert [row.target for row in inspect.commands("locked").rows] == ["a"]


def test_pages_follow_each_other_over_pools(pools: Pools) -> None:
    names = [f"t{number:02d}" for number in range(30)]
    pools.plant(group_of("g", *names), **dict.fromkeys(names, "north"))
    pools.plant(group_of("h", *[f"h{name}" for name in names]), h="south", **{f"h{name}": "north" for name in names})
    seen, after = [], ""
    for _ in range(10):
        page = inspect.commands(limit=7, after=after)
        seen += [row.target for row in page.rows]
        after = page.next
        if not after:
            break
    assert sorted(seen) == sorted([*names, *[f"h{name}" for name in names]])
    with pytest.raises(FilterError):
        inspect.commands(after="nonsense")
    with pytest.raises(FilterError, match="due, taken, given up"):
        inspect.commands("anywhere")


def test_what_was_given_up_is_tried_again_and_arrives(pools: Pools) -> None:
    pools.plant(group_of("g", "a"), a="north")
    give_up(pools, "default")
    (row,) = inspect.commands("dead").rows
    assert (row.error, row.tries) == ("<boom>", 20)
    assert [each.state for each in control.requeue_commands([row.id], "default")] == ["dead"]
    pools.deliver()
    assert pools.state("a") == "pending"
    assert [each.word for each in control.requeue_commands([row.id], "default")] == ["GONE"]


def test_what_was_given_up_is_an_alarm(pools: Pools) -> None:
    pools.plant(group_of("g", "a"), a="north")
    give_up(pools, "default")
    alarms = [alarm for alarm in inspect.snapshot().alarms if alarm.url_hint == "commands?place=dead"]
    assert [alarm.text for alarm in alarms] == [
        "Pool default: 1 message to another pool was given up. The last one: <boom>"
    ]
    pools.make_due("default")


def test_what_somebody_has_taken_is_left_alone(pools: Pools) -> None:
    pools.plant(group_of("g", "a"), a="north")
    (command,) = pools.take("default")
    assert [row.word for row in control.drop_commands([command.id], "default")] == ["REFUSED"]
    pools.tell("default", *pools.apply(command))
    with pytest.raises(BadOption, match="pool"):
        control.drop_commands([command.id], "nowhere")


def test_all_that_was_given_up_is_dropped_in_bounded_steps(pools: Pools) -> None:
    pools.plant(group_of("g", *[f"t{number}" for number in range(600)]), **{f"t{n}": "north" for n in range(600)})
    pools["default"].tick()
    give_up(pools, "default")
    assert inspect.dead_commands() == {"default": 600, "north": 0}
    assert control.drop_dead_commands("default") == 600
    assert inspect.commands("dead").dead == 0
    assert pools["default"].counted("cmd|lost") == 600
    assert pools["default"].told("cancel", "g") == "OK"
    pools.deliver()


def test_a_terminal_lists_tries_again_and_drops(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    pools.plant(chain_of("c", "a", "b"), a="north", b="south")
    give_up(pools, "default")
    assert "0 due, 0 taken, 1 given up" in queue("commands")
    listed = queue("pool-messages", "--place", "given-up")
    assert listed == queue("commands", "--place", "dead")
    assert all(word in listed for word in ("activate", "north", "<boom>"))
    (row,) = queue_json("commands", "--place", "dead")["rows"]
    assert "1 message of the pool default was tried again." in queue("requeue-command", row["id"])
    give_up(pools, "default")
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert failing("drop-command", row["id"])[0] == 1
    assert failing("drop-command")[0] == 2
    assert queue_json("drop-command", "--dead", "--yes") == {"pool": "default", "changed": 1, "rows": []}
    assert failing("drop-command", row["id"], "--yes")[0] == 1
    verbs = list(AuditEntry.objects.order_by("pk").values_list("verb", "changed"))
    assert verbs == [("requeue_commands", 1), ("drop_commands", 1), ("drop_commands", 0)]
