"""Who may do what: every URL of the console against every group."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any
from unittest import mock

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.http import HttpResponse
from django.test import Client

import console.urls  # noqa: F401  the kinds add their URL names
from console.access import guard
from console.access.permissions import TABLE, Verb
from console.models import AuditEntry, ErrorTriage
from tests.console.permission_table import GROUPS, TAKING_ARGUMENTS, VERB_OF, may
from tests.console.standin import World
from tests.console.walk import (
    ADDRESSES,
    BY_WORKERS,
    GOING_ON,
    MUTATIONS,
    PAGES,
    Address,
    assert_protected,
    for_each_address,
)

pytestmark = pytest.mark.django_db


def test_every_url_needs_the_permission_that_is_written_here() -> None:
    assert {address.name for address in ADDRESSES} == set(VERB_OF)
    assert {name: str(verb or "anyone") for name, verb in TABLE.items() if not name.startswith("demo")} == VERB_OF


def test_the_first_migration_makes_three_groups() -> None:
    made = {group.name: {p.codename for p in group.permissions.all()} for group in Group.objects.all()}
    assert made == GROUPS


def test_tables_and_permissions_have_the_label_of_the_app() -> None:
    models = apps.get_app_config("queueops_console").get_models()
    assert {model._meta.db_table.startswith("queueops_console_") for model in models} == {True}
    ada = User.objects.create_user("ada")
    ada.groups.add(Group.objects.get(name="administrators"))
    assert ada.get_all_permissions() == {
        "queueops_console.view",
        "queueops_console.operate",
        "queueops_console.destroy",
        "queueops_console.configure",
        "queueops_console.see_arguments",
    }


def test_a_group_of_the_project_that_has_such_a_name_gets_no_permission(capsys: pytest.CaptureFixture[str]) -> None:
    Group.objects.all().delete()
    Permission.objects.filter(content_type__app_label="queueops_console").delete()
    Group.objects.create(name="operators")
    import_module("console.migrations.0001_console").make_groups(apps, mock.Mock(connection=connection))
    made = {group.name: group.permissions.count() for group in Group.objects.all()}
    assert made == {"viewers": 1, "operators": 0, "administrators": 5}
    assert "a group 'operators' already" in capsys.readouterr().out


@for_each_address(one for one in ADDRESSES if VERB_OF[one.name] != "anyone")
def test_who_is_not_logged_in_is_sent_to_the_login(address: Address, world: World, client: Client) -> None:
    for answer in (client.get(address.path), client.post(address.path, address.form)):
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/ops/login/?next=%2Fops%2F")
        assert_protected(answer)
    assert world.calls == []


@for_each_address(PAGES)
def test_a_fragment_without_a_login_reloads_the_page(address: Address, client: Client) -> None:
    answer = client.get(address.path, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Refresh"]) == (401, "true")


@pytest.mark.parametrize("group", ["", *GROUPS])
@for_each_address(PAGES)
def test_a_page_is_shown_to_those_who_may_see_it(
    address: Address, group: str, world: World, client_of: Callable[..., Client]
) -> None:
    client = client_of(group)
    entry(client)
    answer = client.get(address.path)
    assert answer.status_code == (200 if may(group, address.name) else 403)
    assert_protected(answer)


@pytest.mark.parametrize("group", ["", *GROUPS])
@for_each_address(MUTATIONS)
def test_an_action_is_done_for_those_who_may_do_it(
    address: Address, group: str, world: World, client_of: Callable[..., Client]
) -> None:
    client = client_of(group)
    entry(client)
    answer = client.post(address.path, address.form)
    assert answer.status_code == (address.done if may(group, address.name) else 403)
    assert _has_acted(world) is may(group, address.name)
    assert_protected(answer)


def _has_acted(world: World) -> bool:
    """Whether the engine was called, or the notes about errors were changed, which are in the database alone."""
    return bool(world.calls) or ErrorTriage.objects.exists()


@for_each_address([*PAGES, *MUTATIONS])
def test_no_other_permission_stands_for_the_one_that_is_needed(
    address: Address, world: World, client_of: Callable[..., Client]
) -> None:
    client = client_of()
    entry(client)
    others = Permission.objects.filter(content_type__app_label="queueops_console").exclude(
        codename=VERB_OF[address.name]
    )
    User.objects.get(username="nobody").user_permissions.set(others)
    answer = client.post(address.path, address.form) if address in MUTATIONS else client.get(address.path)
    assert answer.status_code == 403
    assert world.calls == []


@for_each_address(MUTATIONS)
def test_an_action_that_takes_arguments_is_refused_without_the_permission_to_see_them(
    address: Address, world: World, client_of: Callable[..., Client]
) -> None:
    client = client_of()
    entry(client)
    own = Permission.objects.filter(content_type__app_label="queueops_console").exclude(codename="see_arguments")
    User.objects.get(username="nobody").user_permissions.set(own)
    refused = address.name in TAKING_ARGUMENTS
    assert client.post(address.path, address.form).status_code == (403 if refused else address.done)
    assert _has_acted(world) is not refused


@pytest.mark.parametrize("verb", ["delete", "pause", "set_lane"])
def test_who_may_not_do_an_action_cannot_undo_it(verb: str, world: World, operator: Client) -> None:
    entry(operator, verb=verb)
    refused = operator.post("/ops/audit/1/_undo")
    assert refused.status_code == 403
    assert "does not have the permission for this." in refused.content.decode()
    assert world.calls == []


@for_each_address(MUTATIONS)
def test_read_only_turns_every_action_off(
    address: Address, world: World, client_of: Callable[..., Client], settings: Any
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": True}
    client = client_of("administrators")
    entry(client)
    answer = client.post(address.path, address.form)
    assert answer.status_code == 403
    assert "READ_ONLY" in answer.content.decode()
    assert world.calls == []


def test_read_only_offers_no_action(world: World, administrator: Client, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": True}
    for path in ("/ops/tasks/", "/ops/tasks/task-1/", "/ops/lanes/", "/ops/workers/"):
        page = administrator.get(path).content.decode()
        assert "Read-only" in page
        assert not any(f"/_{word}" in page for word in ("retry", "delete", "pause", "stop", "set"))


@pytest.mark.parametrize("tab", ["", "attempts/", "log/", "edit/", "raw/"])
def test_who_may_not_see_arguments_sees_none(tab: str, viewer: Client, world: World) -> None:
    world.states["secret"] = "failed"
    answer = viewer.get(f"/ops/tasks/secret/{tab}")
    if tab in ("edit/", "raw/"):
        assert answer.status_code == 403
    page = answer.content.decode()
    assert "&quot;key&quot;" not in page
    assert "the arguments were" not in page


def test_the_live_fragment_does_not_show_the_raw_record_to_who_may_not_see_arguments(
    viewer: Client, world: World
) -> None:
    assert viewer.get("/ops/tasks/task-1/_live?tab=raw").status_code == 403


def test_a_list_shows_no_arguments_to_who_may_not_see_them(
    viewer: Client, operator: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'class="args"' in operator.get("/ops/tasks/").content.decode()
    assert 'class="args"' not in viewer.get("/ops/tasks/").content.decode()


def test_an_edit_needs_the_right_to_see_the_arguments(world: World, client_of: Callable[..., Client]) -> None:
    client = client_of("viewers")
    user_may("viewers", Verb.OPERATE)
    assert client.post("/ops/tasks/task-1/_edit", {"args": "[]", "kwargs": "{}"}).status_code == 403
    assert world.calls == []


def test_a_disabled_account_may_nothing(world: World, administrator: Client) -> None:
    from django.contrib.auth.models import User

    User.objects.update(is_active=False)
    assert administrator.get("/ops/").status_code == 302


def user_may(name: str, verb: Verb) -> None:
    User.objects.get(username=name).user_permissions.add(Permission.objects.get(codename=verb))


def entry(client: Client, verb: str = "cancel") -> AuditEntry:
    """An entry that can be undone; beside it stand one of an action that goes on, and one that workers perform."""
    performed = {"operations": [["default", "task-1"]]}
    AuditEntry.objects.create(
        pk=BY_WORKERS, actor_name="x", verb="retry", target="x", filter={"state": "failed"}, count=1, before=performed
    )
    AuditEntry.objects.create(
        pk=GOING_ON, actor_name="x", verb="retry", target="x", filter={"state": "failed"}, count=1, place=""
    )
    ids = [["default", "task-1"]] if verb in ("cancel", "delete") else []
    after = {"default task-1": {"word": "OK", "state": "cancelled"}}
    before = {"default task-1": {"state": "pending"}, "pool": "default", "lane": "slow", "limit": None, "weight": 1}
    return AuditEntry.objects.create(
        pk=1, actor_name="x", verb=verb, target="x", ids=ids, before=before, after=after, outcome="done"
    )


def test_no_request_is_atomic_in_any_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry of an action that fails stays, also where the console's tables are not in the default database."""
    monkeypatch.setattr(guard, "connections", ["default", "other"])
    view: Any = guard.guarded("overview", lambda request: HttpResponse())
    assert view._non_atomic_requests == {"default", "other"}


@for_each_address([*PAGES, *MUTATIONS])
def test_no_method_passes_the_permission(address: Address, world: World, client_of: Callable[..., Client]) -> None:
    """HEAD is as GET is; what is not offered is refused before anything is read or done."""
    client = client_of()
    head = client.head(address.path)
    assert head.status_code == (405 if address.changes else 403)
    for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "GET" if address.changes else "POST"):
        answer = client.generic(method, address.path)
        assert_protected(answer)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST" if address.changes else "GET, HEAD")
    assert world.calls == []
