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
from queueops.kinds.operations.order import Step
from queueops.model.contracts import Outcome
from queueops.model.states import states_of
from tests.inspecting.test_lists import ids
from tests.kernel.desk import Desk
from tests.operations.playing import claimed, through
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
        ("failed,retrying", ["failed", "restart"]),
        ("pending, delayed,pending", ["pending", "postponed"]),
        ("finished,failed", ["cancelled", "failed", "succeeded"]),
    ],
)
def test_a_set_is_found_by_each_of_its_words(ended: Desk, word: str, found: list[str]) -> None:
    query = TaskQuery(state=word)
    assert sorted(ids(query, limit=1)) == found
    page = inspect.tasks(query)
    assert (page.total, page.exact, page.seen) == (len(found), True, len(found))
    assert set(states_of(TaskQuery.from_params({"state": word}).state)) == set(found)
    out = StringIO()
    call_command("queue", "list", "--state", word, "--json", stdout=out)
    assert sorted(row["id"] for row in json.loads(out.getvalue())["rows"]) == found
    assert count_in(query.checked(), inspect.facets(query)) == len(found)


@pytest.mark.django_db
def test_finished_tasks_are_found_within_other_facets_and_deleted_at_once(ended: Desk) -> None:
    assert sorted(ids(TaskQuery(state="finished", name="shop.mail"))) == ["cancelled", "failed", "succeeded"]
    assert sorted(ids(TaskQuery(state="finished", tag="t"))) == ["failed", "succeeded"]
    names = dict(inspect.facets(TaskQuery(state="finished"))["name"])
    assert names["shop.mail"] == 3
    assert inspect.browse(TaskQuery(state="finished"), shown=[("default", "locked")]).page.total == 3
    call_command("queue", "delete", "--state", "finished", "--yes", stdout=StringIO())
    assert sorted(ids(TaskQuery())) == ["locked", "pending", "postponed", "restart"]
    with pytest.raises(FilterError, match="did you mean 'startable'"):
        TaskQuery(state="startible").checked()


def test_several_states_are_one_list_of_all_pools_with_exact_counts_and_one_action(ended: Desk) -> None:
    mail = Desk(ended.broker, pool="mail")
    for number in range(5):
        mail.push(f"later-{number}", name="shop.mail", retries=number % 2)
        mail.settle(mail.lease(), Outcome.ERROR, delay_ms=60_000 if number % 2 else -1)
    query = inspect.parse_filter("(state:failed or state:retry)")
    every = [f"later-{number}" for number in reversed(range(5))]
    assert ids(query, limit=2) == [*every, "restart", "failed"]
    assert ids(inspect.parse_filter("state:failed,retry name:shop.mail pool:default")) == ["restart", "failed"]
    found = inspect.browse(query)
    assert (found.page.total, found.page.exact, count_in(query, found.facets)) == (7, True, 7)
    assert dict(found.facets["pool"]) == {"default": 2, "mail": 5}
    assert dict(found.facets["name"])["shop.mail"] == 7
    out = StringIO()
    call_command("queue", "count", "(state:failed or state:retry)", stdout=out)
    assert out.getvalue().split()[0] == "7"
    seen = inspect.operation_preview("retry", query, asked_ms=inspect.now_ms())
    assert (seen.looked, seen.matched, seen.whole, seen.refused) == (7, 7, True, ())
    begun = dict(control.begin_operation("retry", query))
    assert through(claimed(ended, begun["default"])) == Step("END", 2, 2)
    assert through(claimed(mail, begun["mail"])) == Step("END", 5, 5)
    assert ids(query) == []
    assert (ended.state("failed"), mail.state("later-1")) == ("pending", "pending")
