"""One task name: its figures are those that the engine counts, its runs are the latest, its cost is bounded."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueops import inspect
from queueops.model.contracts import Outcome
from tests.inspecting.errors import stored
from tests.kernel.desk import Desk
from tests.support.monitoring import round_trips

NAME = "shop.resize"


def test_its_figures_are_counted_by_name(desk: Desk) -> None:
    desk.push("a", "b", "c", name=NAME, lane="pictures")
    desk.push("d", name="shop.other")
    counts = {f"ok|{NAME}": 3, f"err|{NAME}": 1, f"ms|{NAME}": 900, f"run|{NAME}|20": 4, f"wait|{NAME}|10": 4}
    desk.exchange(metrics=counts | {"ok|shop.other": 50, "run|shop.other|40": 50})
    found = inspect.task_name(NAME)
    assert found is not None
    assert (found.states, found.pools, found.waiting) == ({"pending": 3}, ("default",), 3)
    assert (found.ended, found.failed, found.failure_rate) == (4, 1, 0.25)
    assert 3 / 121 < found.in_rate < 3 / 59  # the rate is that of this minute and the one before
    assert (found.run_p50_ms, found.run_p95_ms) == (pytest.approx(109, rel=0.2), pytest.approx(126, rel=0.2))
    assert found.wait_p50_ms == pytest.approx(3.4, rel=0.2)
    assert found.lanes == (("default", "pictures", 3),)
    assert inspect.task_name("shop.unknown") is None


def test_it_is_shown_without_its_index(desk: Desk) -> None:
    desk.push("a", name=NAME)
    desk.client.delete(f"{desk.keys.prefix}:name:{NAME}")
    found = inspect.task_name(NAME)
    assert found is not None
    assert (found.waiting, found.oldest_ms, found.runs) == (1, None, ())


def test_its_runs_are_the_latest_that_began_also_behind_a_backlog(desk: Desk) -> None:
    desk.push(*[f"r{number}" for number in range(70)], name=NAME)
    for lease in desk.claim(69):
        desk.settle(lease, Outcome.ERROR if lease.id == "r68" else Outcome.SUCCESS, delay_ms=-1, **_failure(lease.id))
    running = desk.lease()
    desk.push(*[f"later{number}" for number in range(1000)], name=NAME)
    found = inspect.task_name(NAME)
    assert found is not None
    assert len(found.runs) == 60
    states = {run.id: run.state for run in found.runs}
    assert (states["r68"], states["r69"], states["r67"]) == ("failed", "locked", "succeeded")
    last = next(run for run in found.runs if run.id == "r69")
    assert last.ended_ms is None
    assert last.took_ms(last.begun_ms + 1500) == 1500
    assert [row.fingerprint for row in found.errors] == ["f1"]
    desk.settle(running)


def _failure(id: str) -> dict[str, Any]:
    return stored("f1") if id == "r68" else {}


def oldest() -> int | None:
    found = inspect.task_name("shop.mail")
    assert found is not None
    return found.oldest_ms


def test_it_has_the_time_since_which_its_oldest_task_waits(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.push("a", "b", name="shop.mail")
    entered = desk.now() - 90_000
    desk.client.zadd(desk.keys.state("pending"), {"b": entered}, xx=True)
    assert oldest() == entered
    call_command("queue", "name", "shop.mail")
    assert "oldest   waits for 1.5 min" in capsys.readouterr().out
    desk.push(*[f"more{number}" for number in range(58)], name="shop.mail")
    for lease in desk.claim(55)[:40]:
        desk.settle(lease)
    entered = desk.now() - 60_000
    desk.client.zadd(desk.keys.state("pending"), {"more53": entered}, xx=True)
    assert oldest() == entered, "it stands behind those that ended and those that run"
    desk.drain()
    assert oldest() is None


def test_it_has_the_keys_of_its_limit_for_which_tasks_wait_and_what_is_next(desk: Desk) -> None:
    for key, ids in (("u 1", "abc"), ("u 2", "de"), ("u 3", "f")):
        desk.push(*ids, name=NAME, own=(("lk", key), ("lm", 1)))
    desk.claim(9)
    found = inspect.task_name(NAME)
    assert found is not None
    rows = [(each.pool, each.key, each.waiting, each.running, each.next) for each in found.keys]
    assert rows == [("default", "u 1", 2, 1, "b"), ("default", "u 2", 1, 1, "e")]
    assert found.all_keys == 2


def test_it_costs_three_round_trips_and_reads_no_whole_index(desk: Desk) -> None:
    for start in range(0, 2000, 500):
        desk.push(*[f"t{number}" for number in range(start, start + 500)], name=NAME)
    inspect.task_name(NAME)
    asked = round_trips(desk, lambda: inspect.task_name(NAME))
    assert len(asked.sent) <= 3, asked.sent
    assert len(asked.inside) < 700
    assert asked.whole == []


def test_the_command_tells_a_name(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.push("a", name=NAME, lane="pictures")
    desk.exchange(metrics={f"ok|{NAME}": 3, f"err|{NAME}": 1, f"run|{NAME}|20": 4})
    call_command("queue", "name", NAME)
    told = capsys.readouterr().out
    assert "25 % of 4" in told
    assert "default/pictures" in told
    call_command(*shlex.split(f"queue name {NAME} --json"))
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["ended"], found["states"]) == (NAME, 4, {"pending": 1})
    with pytest.raises(CommandError, match=r"No task is named 'shop\.resise'"):
        call_command("queue", "name", "shop.resise")
