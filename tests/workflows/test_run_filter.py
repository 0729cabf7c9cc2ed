"""The list of runs by instance, age, tag and custom status: each page at a cost that does not grow with the runs."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command

from queueops import control, inspect, wf, workflow
from queueops.errors import FilterError
from queueops.inspect import RunFacts, RunPage
from queueops.inspect.redaction import concealing
from queueops.kinds.workflows.inspect import run_filter
from queueops.kinds.workflows.store import WorkflowCalls
from queueops.redis.broker import get_broker, get_role
from queueops.testing import run_worker

pytestmark = pytest.mark.usefixtures("memory")
HOUR_MS = 3_600_000


@workflow(name="wf.packed", tags=("shop",))
async def packed(status: Any, waits: bool = True) -> None:
    """Shows a status, and waits for a signal."""
    wf.set_status(status)
    if waits:
        await wf.signal("go")


@workflow(name="wf.other_shop")
async def other_shop() -> None:
    """Waits for a signal."""
    await wf.signal("go")


def ids(page: RunPage) -> list[str]:
    return [row.instance for row in page.rows]


def pages(**wanted: Any) -> list[str]:
    """All pages of a list."""
    found: list[str] = []
    after = ""
    while True:
        page = inspect.workflow_runs(after=after, limit=3, **wanted)
        found += ids(page)
        after = page.next
        if not after:
            return found


def age(instance: str, hours: float) -> None:
    """Let the runs of an instance have begun earlier."""
    broker = get_broker()
    key = broker.keys("default").task(packed.handle(instance).id)
    begun = inspect.now_ms() - round(hours * HOUR_MS)
    broker.ask_one("default", lambda client: client.hset(key, "c", begun))


def test_runs_are_found_by_a_part_of_their_status() -> None:
    for number, status in enumerate(["waits for Ada", "is packed", {"step": "Waits for a van"}, None]):
        packed.using(id=f"order-{number}").start(status)
    run_worker()
    assert ids(inspect.workflow_runs(status="waits FOR")) == ["order-2", "order-0"]
    assert ids(inspect.workflow_runs(status="waits for", name="wf.packed", state="succeeded")) == []
    assert inspect.workflow_runs(status="nothing like it").rows == ()


@pytest.mark.parametrize("wanted", ["Äpfel", "äpfel", "ÄPFEL", "Ä", 'die "Ä', "a\\b", 'Äpfel"'])
def test_a_status_is_found_by_any_text_of_it(wanted: str) -> None:
    for number, status in enumerate(['packt die "Äpfel" in a\\b', "packt Birnen", ['die "Ä']]):
        packed.using(id=f"order-{number}").start(status)
    run_worker()
    assert "order-0" in ids(inspect.workflow_runs(status=wanted))
    assert "order-1" not in ids(inspect.workflow_runs(status=wanted))


def test_a_secret_in_a_status_is_not_found() -> None:
    packed.using(id="order-1").start({"password": "hunter2", "step": "open"})
    run_worker()
    assert ids(inspect.workflow_runs(status="open")) == ["order-1"]
    assert ids(inspect.workflow_runs(status="hunter")) == []
    with concealing(), pytest.raises(FilterError, match="permission to see arguments"):
        inspect.workflow_runs(status="open")


def test_runs_are_found_by_tag_and_by_the_beginning_of_their_instance() -> None:
    for number in range(3):
        packed.using(id=f"order-{number}").start("")
    packed.using(id="return-1", tags=["rare"]).start("")
    other_shop.using(id="order-9").start()
    assert ids(inspect.workflow_runs(tag="shop")) == ["order-2", "order-1", "order-0"]
    assert ids(inspect.workflow_runs(tag="rare")) == ["return-1"]
    assert ids(inspect.workflow_runs(instance="order-*")) == ["order-9", "order-2", "order-1", "order-0"]
    assert ids(inspect.workflow_runs(instance="order-*", tag="shop", state="idle")) == []
    newest = inspect.workflow_runs(instance="order-*", budget=1)
    assert (ids(newest), newest.partial) == (["order-9"], True)
    assert ids(inspect.workflow_runs(instance="order-1", name="wf.other_shop")) == []
    assert [row.tags for row in inspect.workflow_runs(tag="rare").rows] == [("rare",)]


def test_all_runs_of_an_instance_come_page_by_page_and_of_it_alone() -> None:
    packed.using(id="order-10").start("")
    runs = [packed.using(id="order-1").start("", False) for _ in one_after_the_other(7)]
    first = inspect.workflow_runs(instance="order-1", limit=3)
    assert [row.id for row in first.rows] == [run.id for run in runs[:-4:-1]]
    assert len(pages(instance="order-1")) == 7
    assert pages(instance="absent") == []


def one_after_the_other(count: int) -> Any:
    """Let a worker end what began before the next number."""
    for number in range(count):
        yield number
        run_worker()


def test_runs_behind_a_deleted_one_of_their_instance_are_found() -> None:
    runs = [packed.using(id="order-1").start("", False) for _ in one_after_the_other(5)]
    assert control.delete([runs[2].id])[0].word == "OK"
    assert pages(instance="order-1") == ["order-1"] * 4
    assert control.delete([runs[4].id])[0].word == "OK"
    assert pages(instance="order-1") == ["order-1"] * 3


def test_runs_are_found_by_their_age() -> None:
    for number in range(8):  # the latest start has the highest number
        packed.using(id=f"order-{number}").start("")
    run_worker()
    for number in range(8):
        age(f"order-{number}", 8 - number - 0.5)
    assert pages(older="5h") == ["order-2", "order-1", "order-0"]
    assert pages(younger=3 * 3600) == ["order-7", "order-6", "order-5"]
    assert pages(older="2h", younger="4h", state="idle") == ["order-5", "order-4"]
    assert pages(younger="2h", state="idle", name="wf.packed") == ["order-7", "order-6"]


def test_a_list_by_age_looks_at_no_run_that_is_too_young() -> None:
    for number in range(250):
        packed.using(id=f"order-{number}").start("")
    for number in range(20):
        age(f"order-{number}", 48)
    page = inspect.workflow_runs(older="1d", limit=10)
    assert ids(page) == [f"order-{number}" for number in range(19, 9, -1)]
    assert page.seen == 10
    recent = inspect.workflow_runs(younger="1d", limit=200, after=inspect.workflow_runs(younger="1d", limit=200).next)
    assert (len(recent.rows), recent.seen, recent.next) == (30, 30, "")


@pytest.mark.parametrize("older", ["soon", "-1h", "1y", "99999999d"])
def test_an_age_that_is_none_is_refused(older: str) -> None:
    with pytest.raises(FilterError, match="is not an age, such as 90s"):
        inspect.workflow_runs(older=older)


def test_an_age_without_any_run_is_refused() -> None:
    with pytest.raises(FilterError, match="both older and younger"):
        inspect.workflow_runs(older="2d", younger="1d")


def test_a_search_that_no_index_covers_stops_at_its_limit_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_filter, "BUDGET", 50)
    for number in range(80):
        packed.using(id=f"order-{number}").start("rare" if number == 5 else "common")
    run_worker()
    first = inspect.workflow_runs(status="rare")
    assert (first.rows, first.partial, first.seen) == ((), True, 50)
    second = inspect.workflow_runs(status="rare", after=first.next)
    assert ids(second) == ["order-5"]


def test_the_cost_of_a_page_does_not_grow_with_the_runs() -> None:
    """Counted by the commands that the store runs for one page."""
    for number in range(40):
        packed.using(id=f"order-{number}").start("", False)
    few = commands_of_a_page()
    for number in range(40, 400):
        packed.using(id=f"order-{number}").start("", False)
    assert commands_of_a_page() <= few + 30  # three binary searches


def commands_of_a_page() -> int:
    store = get_role(WorkflowCalls)

    def count() -> int:
        return int(store.ask_one("default", lambda client: client.info("commandstats"))["cmdstat_hmget"]["calls"])

    inspect.workflow_runs(instance="order-*", limit=20)
    before = count()
    inspect.workflow_runs(younger="1h", instance="order-*", limit=20)  # a full page
    inspect.workflow_runs(older="1d", younger="7d", instance="order-*", limit=20)  # no run is as old
    return count() - before


def test_a_list_in_a_terminal_takes_each_filter() -> None:
    packed.using(id="order-1", tags=["rare"]).start("waits")
    packed.using(id="order-2").start("waits")
    run_worker()
    age("order-1", 30)
    given = {"instance": "order-*", "tag": "rare", "status": "wait", "older": "1d", "younger": "7d"}
    shown = io.StringIO()
    call_command("queue", "runs", as_json=True, stdout=shown, **given)
    (row,) = json.loads(shown.getvalue())["rows"]
    assert (row["instance"], row["tags"]) == ("order-1", ["rare"])
    assert row["waits_for"][1].startswith("test_run_filter.py:")


def test_a_place_is_shown_without_its_folders() -> None:
    other_shop.start()
    run_worker()
    row: RunFacts = inspect.workflow_runs().rows[0]
    assert row.waits_for[0] == "signal go"
    assert row.waits_for[1].startswith("test_run_filter.py:")
    assert row.waits_for[1].endswith(" in other_shop")
