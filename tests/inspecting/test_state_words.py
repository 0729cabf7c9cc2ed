"""Usual words for a state, and for all ended tasks, in a filter: in the terminal, the console and `inspect`."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from queueops import control, inspect
from queueops.errors import FilterError
from queueops.inspect import TaskQuery
from queueops.inspect.facets import count_in
from queueops.model.contracts import Outcome
from tests.inspecting.test_lists import ids
from tests.kernel.desk import Desk
from tests.support.for_each import for_each


@pytest.fixture
def ended(desk: Desk) -> Desk:
    """Tasks in each state of a plain task, with the state as the id."""
    for name, outcome in (("succeeded", Outcome.SUCCESS), ("failed", Outcome.ERROR), ("restart", Outcome.ERROR)):
        desk.push(name, name="shop.mail", tags=("t",), retries=int(name == "restart"))
        delay = {} if name == "succeeded" else {"delay_ms": -1 if name == "failed" else 60_000}
        desk.settle(desk.lease(), outcome, **delay)
    desk.push("cancelled", name="shop.mail")
    control.cancel(["cancelled"])
    desk.push("locked")
    desk.lease()
    desk.push("pending", name="shop.mail")
    desk.push("postponed", delay_ms=60_000)
    return desk


@for_each(
    ("word", "found"),
    [
        ("startable", ["pending"]),
        ("ready", ["pending"]),
        ("running", ["locked"]),
        ("retrying", ["restart"]),
        ("delayed", ["postponed"]),
        ("done", ["succeeded"]),
        ("dead", ["failed"]),
        ("canceled", ["cancelled"]),
        ("finished", ["cancelled", "failed", "succeeded"]),
        ("ended", ["cancelled", "failed", "succeeded"]),
    ],
)
def test_a_set_is_found_by_each_of_its_words(ended: Desk, word: str, found: list[str]) -> None:
    query = TaskQuery(state=word)
    assert sorted(ids(query, limit=1)) == found
    assert inspect.tasks(query).total == len(found)
    assert TaskQuery.from_params({"state": word}).state in (*found, "finished")
    out = StringIO()
    call_command("queue", "list", "--state", word, "--json", stdout=out)
    assert sorted(row["id"] for row in json.loads(out.getvalue())["rows"]) == found
    assert count_in(query.checked(), inspect.facets(query)) == len(found)


@pytest.mark.django_db
def test_finished_tasks_are_found_within_other_facets_and_named_for_an_action_on_all(ended: Desk) -> None:
    assert sorted(ids(TaskQuery(state="finished", name="shop.mail"))) == ["cancelled", "failed", "succeeded"]
    assert sorted(ids(TaskQuery(state="finished", tag="t"))) == ["failed", "succeeded"]
    names = dict(inspect.facets(TaskQuery(state="finished"))["name"])
    assert names["shop.mail"] == 3
    assert inspect.browse(TaskQuery(state="finished"), shown=[("default", "locked")]).page.total == 3
    with pytest.raises(FilterError, match="write one of succeeded, failed, cancelled"):
        TaskQuery(state="finished").whole()
    call_command("queue", "delete", "--state", "finished", "--yes", stdout=StringIO())
    assert sorted(ids(TaskQuery())) == ["locked", "pending", "postponed", "restart"]
    with pytest.raises(FilterError, match="did you mean 'startable'"):
        TaskQuery(state="startible").checked()
