"""What changes something: POST, a token, a permission, and one line in the audit log, whatever happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from console.access.permissions import Verb
from console.actions.catalog import label, verbs
from console.audit.log import judge
from console.models import AuditedTask, AuditEntry, Outcome
from queueops import inspect
from queueops.errors import BadArguments
from queueops.inspect import detail
from queueops.kinds.mapreduce.inspect import overview
from queueops.model.contracts import Row
from tests.console.standin import World
from tests.console.test_permissions import entry, user_may
from tests.console.walk import MUTATIONS, OF_THE_ENGINE, Address, for_each_address

pytestmark = pytest.mark.django_db
every_mutation = for_each_address(MUTATIONS)


def new_entries() -> list[AuditEntry]:
    return list(AuditEntry.objects.exclude(actor_name="x"))


@every_mutation
def test_only_a_post_changes_anything(address: Address, world: World, client_of: Callable[..., Client]) -> None:
    client = client_of("administrators")
    entry(client)
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
        answer = client.generic(method, address.path)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST"), method
    assert world.calls == []
    assert new_entries() == []


@pytest.mark.parametrize("path", ["/ops/tasks/_all_cancel?state=pending", "/ops/logout/"])
def test_the_address_of_an_action_says_so_where_it_is_opened_as_a_page(
    path: str, world: World, administrator: Client
) -> None:
    answer = administrator.get(path)
    assert answer.status_code == 405
    assert "This address is an action, not a page. Nothing was changed." in answer.content.decode()


def test_whoever_is_not_logged_in_is_told_so_too(world: World, client: Client) -> None:
    assert "Not a page" in client.get("/ops/logout/").content.decode()


def test_a_project_without_the_middleware_is_protected_all_the_same(
    world: World, client_of: Callable[..., Client], settings: Any
) -> None:
    settings.MIDDLEWARE = [each for each in settings.MIDDLEWARE if not each.endswith("CsrfViewMiddleware")]
    client = client_of("administrators", enforce_csrf_checks=True)
    assert client.post("/ops/lanes/default/slow/_pause").status_code == 403
    assert world.calls == []
    client.get("/ops/lanes/")
    form = {"csrfmiddlewaretoken": client.cookies["csrftoken"].value}
    assert client.post("/ops/lanes/default/slow/_pause", form).status_code == 302
    assert [verb for verb, _ in world.calls] == ["pause_lane"]


def test_a_post_from_another_site_is_refused(world: World, client_of: Callable[..., Client]) -> None:
    client = client_of("administrators", enforce_csrf_checks=True)
    client.get("/ops/lanes/")
    token = client.cookies["csrftoken"].value
    form = {"csrfmiddlewaretoken": token}
    path = "/ops/lanes/default/slow/_pause"
    assert client.post(path, form, headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.post(path, form, headers={"Origin": "http://testserver"}).status_code == 302
    assert [verb for verb, _ in world.calls] == ["pause_lane"]


@every_mutation
def test_an_action_leaves_one_entry_that_tells_who_and_what(
    address: Address, world: World, client_of: Callable[..., Client]
) -> None:
    client = client_of("administrators")
    user_may("administrators", Verb.PUSH)
    entry(client)
    client.post(address.path, address.form, REMOTE_ADDR="192.0.2.7")
    (found,) = new_entries()
    assert (found.actor_name, found.address, found.outcome) == ("administrators", "192.0.2.7", Outcome.DONE)
    assert found.verb
    assert found.target
    assert found.count == 1


@for_each_address(OF_THE_ENGINE)
def test_an_action_that_fails_leaves_one_entry_too(
    address: Address, world: World, client_of: Callable[..., Client]
) -> None:
    world.broken = BadArguments(name="demo.task", reason="it takes one argument")
    client = client_of("administrators")
    user_may("administrators", Verb.PUSH)
    entry(client)
    answer = client.post(address.path, address.form)
    (found,) = new_entries()
    assert found.outcome == Outcome.FAILED
    assert "it takes one argument" in found.detail
    if answer.status_code == 302:  # an edit is shown again instead
        answer = client.get("/ops/settings/")
    assert "it takes one argument" in answer.content.decode()


@for_each_address(OF_THE_ENGINE)
def test_an_action_that_breaks_leaves_one_entry_too(
    address: Address, world: World, client_of: Callable[..., Client]
) -> None:
    world.broken = ZeroDivisionError("secret text")
    client = client_of("administrators")
    user_may("administrators", Verb.PUSH)
    entry(client)
    with pytest.raises(ZeroDivisionError):
        client.post(address.path, address.form)
    (found,) = new_entries()
    assert (found.outcome, found.detail) == (Outcome.FAILED, "ZeroDivisionError")


@for_each_address(one for one in MUTATIONS if one.name.startswith("task-"))
def test_an_action_on_one_task_reads_the_task_once(
    address: Address, world: World, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()
    for module, name in ((inspect, "task"), (detail, "brief"), (overview, "counts_of")):
        ask = getattr(module, name)
        monkeypatch.setattr(module, name, lambda id, pool="", name=name, ask=ask: read.append(name) or ask(id, pool))
    assert administrator.post(address.path, address.form).status_code == 302
    assert len(world.calls) == 1
    assert set(Counter(read).values()) == {1}
    assert not {"task", "brief"} <= set(read)


def test_an_entry_tells_what_was_before_and_after(world: World, operator: Client) -> None:
    operator.post("/ops/tasks/task-1/_retry", {"pool": "default"})
    (found,) = new_entries()
    assert found.before["default task-1"]["state"] == "failed"
    assert found.after["default task-1"]["word"] == "OK"
    assert (found.ids, found.changed) == ([["default", "task-1"]], 1)
    assert AuditedTask.objects.get(task_id="task-1").entry == found


def test_tasks_that_were_left_as_they_are_are_told(world: World, operator: Client) -> None:
    operator.post("/ops/tasks/_retry", {"task": ["default task-1", "default no-more"]})
    (found,) = new_entries()
    assert (found.outcome, found.count, found.changed) == (Outcome.PARTLY, 2, 1)
    page = operator.get("/ops/tasks/").content.decode()
    assert "1 was not changed: it is gone." in page
    operator.post("/ops/tasks/_retry", {"task": ["default task-1", "default no-more", "default nor-this"]})
    page = operator.get("/ops/tasks/").content.decode()
    assert "2 were not changed. The first reason: it is gone." in page


def test_tasks_that_were_so_already_are_counted_apart() -> None:
    rows = [
        Row("a", "OK", "cancelled", ""),
        Row("b", "REPEAT", "cancelled", ""),
        Row("c", "REPEAT", "cancelled", ""),
        Row("d", "GONE", "", "it is gone"),
    ]
    partly, already = AuditEntry(count=4), AuditEntry(count=2)
    judge(partly, "default", rows)
    assert (partly.changed, partly.outcome) == (1, Outcome.PARTLY)
    assert partly.detail == "2 were already in this state; it is gone"
    judge(already, "default", rows[1:3])
    assert (already.changed, already.outcome, already.detail) == (0, Outcome.BEGUN, "2 were already in this state")


def test_every_verb_of_the_audit_log_is_spelled_in_one_way() -> None:
    labels = [label(f"{before}{verb}") for before in ("", "undo ") for verb in verbs()]
    assert [name for name in labels if not name[0].isupper() or "_" in name] == []


def test_the_filter_under_which_rows_were_ticked_is_recorded(world: World, operator: Client) -> None:
    form = {"task": "default task-1", "next": "/ops/tasks/?state=failed&nonsense=1"}
    answer = operator.post("/ops/tasks/_retry", form)
    assert answer.headers["Location"] == "/ops/tasks/?state=failed&nonsense=1"
    assert new_entries()[0].filter == {"state": "failed"}


def test_an_edit_goes_to_the_engine_as_data(world: World, operator: Client) -> None:
    operator.post("/ops/tasks/task-1/_edit", {"args": '[1, "a"]', "kwargs": '{"b": null}'})
    assert world.calls == [("edit", ("task-1", [1, "a"], {"b": None}))]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ("{}", "{}"),
        ("[]", "[]"),
        ("[", "{}"),
        ("", "{}"),
        ('["[redacted]"]', "{}"),
        ('["https://***@h"]', "{}"),
        ('["https://h?token=***"]', "{}"),
        ("[" * 99_999, "{}"),
    ],
)
def test_an_edit_that_makes_no_sense_is_shown_again(args: str, kwargs: str, world: World, operator: Client) -> None:
    answer = operator.post("/ops/tasks/task-1/_edit", {"args": args, "kwargs": kwargs})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert world.calls == []
    assert new_entries() == []


@pytest.mark.parametrize(
    "form",
    [{"delay": ""}, {"delay": "17"}, {"delay": "x"}, {"until": "2020-01-01T00:00"}, {"until": "9999-01-01T00:00"}],
)
def test_a_postponement_needs_a_moment_that_lies_ahead(form: dict[str, str], world: World, operator: Client) -> None:
    answer = operator.post("/ops/tasks/task-2/_postpone", form)
    assert answer.status_code == 200
    assert 'role="alert"' in answer.content.decode()
    assert world.calls == []


@pytest.mark.parametrize("value", ["", "no-space", "default ", "default {x}", "a b c", "default \x00", "x" * 300])
def test_a_task_that_cannot_be_read_is_refused(value: str, world: World, operator: Client) -> None:
    assert operator.post("/ops/tasks/_retry", {"task": value}).status_code == 400
    assert world.calls == []


def test_nothing_ticked_is_no_action(world: World, operator: Client) -> None:
    assert operator.post("/ops/tasks/_retry").status_code == 302
    assert (world.calls, new_entries()) == ([], [])


def test_an_entry_cannot_be_deleted() -> None:
    with pytest.raises(PermissionError):
        AuditEntry.objects.create(actor_name="x", verb="retry", target="x").delete()
