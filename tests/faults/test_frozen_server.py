"""One server of a cluster stands still: what is on the others goes on as if nothing had happened.

The clock of these tests is a push to the server that stands still. It gives up after its timeout; what waits for that
server comes later.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

import queueops
from queueops import control, group, inspect
from queueops.alerts.alarm import alarms_now
from queueops.errors import BrokerUnavailable
from queueops.inspect import TaskQuery
from queueops.redis.broker import close_brokers
from tests.faults import tasks
from tests.faults.conftest import Bench
from tests.faults.layout import Layout
from tests.support.waiting import wait_until

pytestmark = pytest.mark.faults


def status() -> dict[str, Any]:
    out = StringIO()
    with suppress(SystemExit):  # it exits with 1 while anything is wrong
        call_command("queue", "status", "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


@pytest.mark.usefixtures("short_timeout")
def test_questions_show_the_other_pools_and_tell_which_one_did_not_answer(bench: Bench, layout: Layout) -> None:
    handles = {pool: tasks.work.using(pool=pool).push() for pool in layout.pools}
    assert {pool["name"] for pool in status()["pools"]} >= set(layout.pools)
    with layout.standing_still():
        found = status()
        assert set(layout.well) <= {pool["name"] for pool in found["pools"]}
        assert layout.frozen not in {pool["name"] for pool in found["pools"]}
        (alarm,) = [alarm["text"] for alarm in found["alarms"] if alarm["text"].startswith(f"Pool {layout.frozen} ")]
        assert "does not answer" in alarm
        assert str(layout.node.port) in alarm
        unknown = alarms_now()[1] & set(layout.pools)  # without `default`, which is on any server
        assert unknown == {layout.frozen}  # alerts about its other alarms neither end nor repeat
        lists: list[Callable[[], Any]] = [
            lambda: inspect.tasks(TaskQuery()),
            inspect.lanes,
            inspect.errors,
            inspect.workers,
            inspect.commands,
            inspect.schedules,
        ]
        for ask in lists:
            assert layout.frozen in {broken.pool for broken in ask().broken}
        rows = inspect.tasks(TaskQuery()).rows
        assert {row.id for row in rows} == {handles[pool].id for pool in layout.well}
        assert dict(inspect.facets(TaskQuery())["pool"]).keys() >= set(layout.well)
    wait_until(lambda: not inspect.tasks(TaskQuery()).broken)  # it is asked again after a while
    assert {row.id for row in inspect.tasks(TaskQuery()).rows} >= {handle.id for handle in handles.values()}


@pytest.mark.usefixtures("short_timeout")
def test_an_id_is_found_in_the_other_pools_and_not_said_to_be_gone(bench: Bench, layout: Layout) -> None:
    north, south = (tasks.work.using(pool=pool).push() for pool in layout.well)
    hidden = tasks.work.using(pool=layout.frozen).push()
    schedule = queueops.schedules.create(tasks.work.using(pool=south.pool), "@every 1d", id="daily")
    with layout.standing_still():
        close_brokers()  # as in a process that starts now
        assert queueops.get(north.id) == north
        assert inspect.task(south.id).pool == south.pool
        assert inspect.why(north.id)
        assert inspect.schedule(schedule).pool == south.pool
        looks: list[Callable[[str], Any]] = [queueops.get, inspect.task, inspect.why, inspect.raw, inspect.schedule]
        for look in looks:
            with pytest.raises(BrokerUnavailable, match=str(layout.node.port)):
                look(hidden.id)
        cancelled, kept, unknown = control.cancel([north.id, hidden.id, "never-pushed"])
        assert cancelled.word == "OK"
        assert kept.word == unknown.word == "REFUSED"
        assert str(layout.node.port) in kept.detail
        assert control.pause_lane(south.pool, "default") == {}
        with pytest.raises(BrokerUnavailable):
            control.stop_worker("nobody")
    assert inspect.task(hidden.id, hidden.pool).state == "pending"
    assert control.resume_lane(south.pool, "default")


@pytest.mark.usefixtures("short_timeout")
def test_a_tree_is_shown_without_the_parts_whose_pool_does_not_answer(bench: Bench, layout: Layout) -> None:
    north, south = layout.well
    parts = [tasks.work.using(pool=pool, id=pool).si() for pool in (north, south, layout.frozen)]
    handle = group(*parts).using(pool=north).push()
    with layout.standing_still():
        root = inspect.tree(handle.id, north).root
        assert [part.task is not None for part in root.rows] == [True, True, False]
        assert str(layout.node.port) in root.rows[2].silent
        out = StringIO()
        call_command("queue", "tree", handle.id, stdout=out)
        assert f"the pool {layout.frozen} does not answer" in out.getvalue()


@pytest.mark.usefixtures("short_timeout")
def test_the_console_shows_the_other_pools(bench: Bench, layout: Layout, admin_client: Client, settings: Any) -> None:
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)
    for pool in layout.pools:
        tasks.work.using(pool=pool).push()
    with layout.standing_still():
        for page in ("overview", "tasks", "lanes", "errors", "workers", "schedules", "commands"):
            answer = admin_client.get(reverse(f"console:{page}"))
            assert answer.status_code == 200, page
            text = html.unescape(answer.content.decode())
            assert f"Pool {layout.frozen} does not answer" in text, page


@pytest.mark.usefixtures("short_timeout")
def test_the_workers_are_listed_while_the_first_pool_of_one_does_not_answer(
    bench: Bench, layout: Layout, admin_client: Client, settings: Any
) -> None:
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)
    bench.worker(*layout.options)
    wait_until(lambda: [row.pools[0] for row in inspect.workers()] == [layout.frozen], say=bench.say)
    with layout.standing_still():
        answer = admin_client.get(reverse("console:workers"))
        assert answer.status_code == 200
        assert inspect.workers()[0].id in answer.content.decode()


@pytest.mark.usefixtures("short_timeout")
def test_an_operation_begins_in_the_other_pools_and_tells_where_it_does_not(
    bench: Bench, layout: Layout, admin_client: Client, settings: Any
) -> None:
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)
    for pool in layout.pools:
        tasks.work.using(pool=pool).postpone(600)
    with layout.standing_still():
        postponed = TaskQuery(state="postponed")
        asked_ms = inspect.now_ms()
        preview = inspect.operation_preview("cancel", postponed, asked_ms=asked_ms)
        assert (preview.matched, layout.silent(preview.broken)) == (2, [layout.frozen])
        page = admin_client.post(reverse("console:tasks-all-cancel") + "?state=postponed")
        assert f"Pool {layout.frozen} does not answer" in html.unescape(page.content.decode())
        begun = control.begin_operation("cancel", postponed)
        assert sorted(pool for pool, _ in begun) == sorted(layout.well)
        assert layout.silent(begun.broken) == [layout.frozen]
        with pytest.raises(BrokerUnavailable):
            control.begin_operation("cancel", TaskQuery(state="postponed", pool=layout.frozen))


def test_the_events_of_the_other_pools_are_followed(bench: Bench, layout: Layout) -> None:
    for pool in layout.pools:
        tasks.work.using(pool=pool).push()
    with layout.standing_still() as clock:
        events = inspect.tail()
        seen: set[str] = set()
        with ThreadPoolExecutor(1) as thread:
            collected = thread.submit(lambda: any(seen.add(event.pool) or len(seen) == 2 for event in events))
            while not collected.done():
                for pool in layout.well:
                    tasks.work.using(pool=pool).push()
        assert seen == set(layout.well)
        assert not clock.done()
        events.close()
