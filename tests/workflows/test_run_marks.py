"""Lists of suspended runs, and of runs that continued as new: by an index of each, which fsck repairs."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from queueops import control, inspect, wf, workflow
from queueops.errors import FilterError
from queueops.redis.broker import get_broker
from queueops.testing import run_worker
from tests.workflows.test_check import found
from tests.workflows.test_cli import asked, queue

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]


@workflow(name="marks.rounds")
async def rounds(left: int) -> str:
    """Continues as new so often, then waits for a signal."""
    if left:
        wf.continue_as_new(left - 1)
    await wf.signal("go")
    return "fine"


def begin(instance: str, left: int = 0) -> Any:
    """A run that waits for its signal."""
    run = rounds.using(id=instance).start(left)
    run_worker()
    return run


def ids(state: str, **filters: Any) -> list[str]:
    return [row.instance for row in inspect.workflow_runs(state, **filters).rows]


def names(mark: str) -> list[bytes]:
    """The index of a mark."""
    broker = get_broker()
    return list(broker.client.zrange(f"{broker.keys('default').prefix}:{mark}", 0, -1))


def test_suspended_runs_are_listed_and_counted_until_they_go_on() -> None:
    one, two, other = begin("one"), begin("two"), begin("other")
    for run in (one, two):
        assert run.suspend()
    assert sorted(ids("suspended")) == ["one", "two"]
    assert ids("suspended", instance="one") == ["one"]
    assert ids("suspended", instance="other") == []
    assert (inspect.run_count("suspended"), inspect.workflow_runs("suspended").total) == (2, 2)
    assert one.resume()
    assert two.terminate("enough")
    assert other.state == "idle"
    assert (ids("suspended"), inspect.run_count("suspended"), names("suspended")) == ([], 0, [])


def test_a_suspended_run_that_is_reset_leaves_the_list() -> None:
    run = begin("one")
    run.suspend()
    run.reset(1)
    assert names("suspended") == []


def test_a_run_that_continued_as_new_has_not_succeeded_in_counts_and_filters() -> None:
    run = begin("loop", left=3)
    ended = begin("other")
    ended.signal("go")
    run_worker()
    assert ids("succeeded") == ["other"]
    assert ids("continued") == ["loop"] * 3
    assert inspect.run_count("continued") == 3
    assert ids("succeeded", instance="loop") == []
    assert ids("continued", search="loop") == ["loop"] * 3
    run.signal("go")
    run_worker()
    assert sorted(ids("succeeded")) == ["loop", "other"]
    assert {row.shown_state for row in inspect.workflow_runs(instance="loop").rows} == {"continued", "succeeded"}


def test_a_continued_run_that_is_deleted_leaves_its_index_and_comes_back_with_its_record() -> None:
    run = begin("loop", left=1)
    control.delete([run.id])
    assert names("continued") == []
    control.restore([run.id])
    assert names("continued") == [run.id.encode()]


@pytest.mark.parametrize("mark", ["suspended", "continued"])
def test_fsck_repairs_the_index_of_a_mark(mark: str) -> None:
    marked, other = begin("one", left=int(mark == "continued")), begin("two")
    marked.suspend()
    broker = get_broker()
    key = f"{broker.keys('default').prefix}:{mark}"
    before = names(mark)
    broker.client.delete(key)
    broker.client.zadd(key, {other.id: 1})
    faults = {f"it is not {mark}, and in that index", f"it is {mark}, and not in that index"}
    assert set(found(repair=True)) == faults
    assert found() == []
    assert names(mark) == before


def test_an_unknown_mark_is_refused() -> None:
    with pytest.raises(FilterError, match="'suspend' is none of blocked, suspended, continued"):
        inspect.run_count("suspend")


def test_a_terminal_lists_suspended_and_continued_runs() -> None:
    run = begin("loop", left=1)
    run.suspend()
    (row,) = asked("runs", "--state", "suspended")["rows"]
    assert row["instance"] == "loop"
    (row,) = asked("runs", "--state", "continued")["rows"]
    assert row["id"] == run.id
    shown = queue("runs")
    assert (shown.count("suspended"), shown.count("continued"), shown.count("succeeded")) == (1, 1, 0)
    assert "continued" in queue("run", run.id)


def test_the_console_has_chips_and_badges_of_both() -> None:
    run = begin("loop", left=1)
    run.suspend()
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    shown = html.unescape(client.get("/ops/workflows/").content.decode())
    for word in ("suspended", "continued"):
        assert f"?state={word}" in shown
        assert shown.count(f'<span class="q-tag">{word}</span>') == 1
    newest = rounds.handle("loop").id
    head = client.get(f"/ops/tasks/{newest}/").content.decode().split("<h1>")[0]
    assert '<span class="q-tag">suspended</span>' in head
    head = client.get(f"/ops/tasks/{run.id}/").content.decode().split("<h1>")[0]
    assert '<span class="q-tag">continued</span>' in head
