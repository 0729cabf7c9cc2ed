"""The list of blocked runs: by the index of blocked runs, page by page, with the other filters and a live count."""

from __future__ import annotations

from typing import Any

import pytest

from queueops import inspect
from queueops.errors import FilterError
from queueops.inspect import RunPage
from queueops.kinds.workflows.handle import WorkflowHandle
from queueops.kinds.workflows.inspect import run_filter
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker
from tests.workflows.test_blocked import behaviour, changes, forgets, waits_then_flaky
from tests.workflows.test_cli import asked, queue
from tests.workflows.test_run_filter import packed

pytestmark = pytest.mark.usefixtures("namespace")
Run = WorkflowHandle[str]


@pytest.fixture(autouse=True)
def _clean() -> Any:
    yield
    behaviour.clear()


def blocked(*instances: str, **options: Any) -> list[Run]:
    """Runs that wait for what nothing ends: each is blocked after the one before it."""
    behaviour["code"] = forgets
    found = []
    for number, instance in enumerate(instances):
        found.append(changes.using(id=instance, **options).start())
        run_worker(until_idle=False)
        set_blocked_since(found[-1], number + 1)
    return found


def set_blocked_since(run: Run, minute: int) -> None:
    """Let a run be blocked since a minute of the next day: after its creation, and in the order of the minutes."""
    broker = get_broker()
    at = inspect.now_ms() + 60_000 * minute
    keys = broker.keys(run.pool)
    broker.ask_one(run.pool, lambda client: client.hset(keys.task(run.id), "vb", at))
    broker.ask_one(run.pool, lambda client: client.zadd(keys.blocked, {run.id: at}))


def ids(page: RunPage) -> list[str]:
    return [row.instance for row in page.rows]


def test_blocked_runs_are_listed_alone_the_last_one_first() -> None:
    blocked("order-1", "order-2")
    packed.using(id="order-3", delay=3600).start("")  # postponed, and not blocked
    page = inspect.workflow_runs("blocked")
    assert (ids(page), page.total, page.exact, page.next) == (["order-2", "order-1"], 2, True, "")
    assert ids(inspect.workflow_runs("postponed")) == ["order-3", "order-2", "order-1"]
    assert inspect.blocked_run_count() == 2


def test_pages_of_blocked_runs_have_each_once() -> None:
    wanted = [f"order-{number}" for number in range(7)]
    blocked(*wanted)
    found, after = [], ""
    while True:
        page = inspect.workflow_runs("blocked", after=after, limit=3)
        found += ids(page)
        after = page.next
        if not after:
            break
    assert found == wanted[::-1]
    with pytest.raises(FilterError, match="not one of this list"):
        inspect.workflow_runs("failed", after=inspect.workflow_runs("blocked", limit=3).next)


def test_a_page_of_blocked_runs_looks_at_no_other_run() -> None:
    blocked("order-1", "order-2")
    for number in range(300):
        packed.using(id=f"other-{number}", delay=3600).start("")
    assert inspect.workflow_runs("blocked").seen == 2


def test_blocked_runs_are_filtered_by_the_other_parts() -> None:
    blocked("order-1", "order-2", "return-1")
    blocked("order-3", tags=["rare"])
    for number in range(3):
        packed.using(id=f"order-1{number}", delay=3600, tags=["rare"]).start("")
    assert ids(inspect.workflow_runs("blocked", instance="order-1")) == ["order-1"]
    assert ids(inspect.workflow_runs("blocked", search="order-2")) == ["order-2"]
    assert ids(inspect.workflow_runs("blocked", search="order-10")) == []
    assert sorted(ids(inspect.workflow_runs("blocked", instance="order-*"))) == ["order-1", "order-2", "order-3"]
    assert ids(inspect.workflow_runs("blocked", name="wf.packed")) == []
    assert ids(inspect.workflow_runs("blocked", tag="rare")) == ["order-3"]
    assert ids(inspect.workflow_runs("blocked", older="1h")) == []
    assert len(inspect.workflow_runs("blocked", younger="1h").rows) == 4


def test_a_filter_with_a_smaller_index_finds_blocked_runs_of_it_alone() -> None:
    blocked("order-1", "order-2", "order-3")
    blocked("order-4", tags=["rare"])
    packed.using(id="order-5", tags=["rare"]).start("")
    page = inspect.workflow_runs("blocked", tag="rare")
    assert (ids(page), page.total) == (["order-4"], 2)  # the index of the tag was walked


def test_blocked_runs_of_two_pools_are_one_list() -> None:
    blocked("order-1", "order-2")
    behaviour["code"] = forgets
    other = changes.using(id="order-3", pool="wf-other").start()
    run_worker(pools=["wf-other"], until_idle=False)
    set_blocked_since(other, 1)  # between the others
    first = inspect.workflow_runs("blocked", limit=2)
    assert len(first.rows) == 2
    assert ids(first)[0] == "order-2"
    assert inspect.blocked_run_count() == 3
    assert inspect.blocked_run_count("wf-other") == 1
    rest = inspect.workflow_runs("blocked", limit=2, after=first.next)
    assert sorted(ids(first) + ids(rest)) == ["order-1", "order-2", "order-3"]


def test_a_run_that_is_tried_again_stays_in_the_list_until_its_step_is_made() -> None:
    (run,) = blocked("order-1")
    assert run.run_now()
    assert ids(inspect.workflow_runs("blocked")) == ["order-1"]
    behaviour["code"] = waits_then_flaky
    run_worker()
    assert ids(inspect.workflow_runs("blocked")) == []
    assert inspect.blocked_run_count() == 0


def test_a_blocked_run_that_is_terminated_is_not_shown_as_blocked() -> None:
    (run,) = blocked("order-1")
    run.terminate("given up")
    assert inspect.workflow_runs("blocked").rows == ()
    assert inspect.workflow_runs("blocked", instance="order-1").rows == ()
    (row,) = inspect.workflow_runs().rows
    assert (row.state, row.blocked_ms) == ("cancelled", None)


def test_an_unknown_state_names_the_one_that_is_meant() -> None:
    with pytest.raises(FilterError, match=r"no state 'bloked'.*blocked"):
        inspect.workflow_runs("bloked")


def test_a_search_for_blocked_runs_goes_on_behind_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_filter, "BUDGET", 5)
    blocked(*(f"order-{number}" for number in range(8)))
    first = inspect.workflow_runs("blocked", instance="order-0*")
    assert (first.rows, first.partial, first.seen) == ((), True, 5)
    assert ids(inspect.workflow_runs("blocked", instance="order-0*", after=first.next)) == ["order-0"]


@pytest.mark.django_db
def test_a_terminal_lists_blocked_runs() -> None:
    (run, _) = blocked("order-1", "order-2")
    page = asked("runs", "--state", "blocked", "--limit", "1")
    assert [row["instance"] for row in page["rows"]] == ["order-2"]
    (row,) = asked("runs", "--state", "blocked", "--after", page["next"])["rows"]
    assert (row["id"], row["blocked_times"]) == (run.id, 1)
    assert "waits for something" in row["reason"]
    shown = queue("runs", "--state", "blocked")
    assert "2 of 2" in shown


def test_the_index_of_blocked_runs_is_read_where_it_is() -> None:
    """The count is the size of an index: no run is read for it."""
    blocked("order-1")
    store = get_role(WorkflowCalls)

    def reads() -> int:
        stats = store.ask_one("default", lambda client: client.info("commandstats"))
        return int(stats["cmdstat_hmget"]["calls"])

    inspect.blocked_run_count()
    before = reads()
    assert inspect.blocked_run_count() == 1
    assert reads() == before
