"""Refused requests: they have the console's headers whatever the project sets, and denied actions are audited."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.conf import global_settings
from django.contrib.auth.models import Group, User
from django.db import connection, connections
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.utils import timezone

from console.actions.catalog import label
from console.models import AuditEntry, Outcome
from tests.console.standin import World
from tests.console.walk import MUTATIONS, Address, assert_protected, for_each_address

pytestmark = pytest.mark.django_db
CSRF = "django.middleware.csrf.CsrfViewMiddleware"

DENIED_VERBS = {
    "alert-rule-silence": "silence_alert",
    "alert-test": "test_alert",
    "audit-go-on": "go_on",
    "audit-operation": "steer_operation",
    "commands-drop-dead": "drop_commands",
    "commands-requeue": "requeue_commands",
    "lane-pause": "pause",
    "lane-set": "set_lane",
    "name-pause": "pause_name",
    "pool-pause": "pause_pool",
    "pool-empty_trash": "empty_trash",
    "api-token-create": "create_token",
    "api-token-revoke": "revoke_token",
    "aggregation-accept": "accept_jobs",
    "aggregation-drain": "drain_aggregation",
    "aggregation-proxy": "set_proxy",
    "aggregation-remove": "delete_aggregation",
    "aggregation-close_circuit": "close_circuit",
    "callbacks-redirect": "redirect_callbacks",
    "callbacks-redirect-all": "redirect_callbacks",
    "callbacks-redeliver-all": "retry",
    "callbacks-test": "send_test_callback",
    "maintenance-start": "start_maintenance",
    "schedule-create": "create_schedule",
    "schedule-edit-save": "edit_schedule",
    "schedule-pause": "pause_schedule",
    "task-chunk-edit-save": "edit_chunks",
    "task-chunks-edit-save": "set_chunks",
    "task-chunks-postpone": "postpone_chunks",
    "task-chunks-restart": "restart",
    "task-edit-save": "edit",
    "task-retry": "retry",
    "tasks-all-discard": "discard",
    "tasks-retry": "retry",
    "undo": "undo",
    "worker-stop": "stop",
}


def own_page(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page of a project for refused forms."""
    return HttpResponse(f"ours: {reason}", status=403)


@pytest.fixture(params=["with Django's middleware", "without it"])
def plain_project(request: pytest.FixtureRequest, settings: Any) -> None:
    """Of the settings that could give a refusal its headers, none is there."""
    removed = {"console.project.api_paths.DocumentPolicy", "django.middleware.clickjacking.XFrameOptionsMiddleware"}
    if request.param == "without it":
        removed |= {CSRF}
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if name not in removed]
    settings.CSRF_FAILURE_VIEW = global_settings.CSRF_FAILURE_VIEW


@pytest.mark.usefixtures("plain_project")
@for_each_address(MUTATIONS)
def test_a_form_without_a_token_is_refused_with_the_headers(
    address: Address, world: World, client_of: Callable[..., Client]
) -> None:
    answer = client_of("administrators", enforce_csrf_checks=True).post(address.path, address.form)
    assert answer.status_code == 403
    assert_protected(answer)
    assert "The form was too old or came from another site" in answer.content.decode()
    assert world.calls == []
    found = AuditEntry.objects.get()
    assert (found.outcome, found.actor_name, found.count) == (Outcome.DENIED, "administrators", 1)
    assert found.detail == "CSRF: CSRF cookie not set."


@pytest.mark.usefixtures("plain_project")
def test_a_form_from_another_site_is_refused_and_one_with_its_token_is_accepted(
    world: World, client_of: Callable[..., Client]
) -> None:
    client = client_of("operators", enforce_csrf_checks=True)
    client.get("/ops/tasks/task-1/")
    form = {"pool": "default", "csrfmiddlewaretoken": client.cookies["csrftoken"].value}
    answer = client.post("/ops/tasks/task-1/_retry", form, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert_protected(answer)
    assert world.calls == []
    assert client.post("/ops/tasks/task-1/_retry", form).status_code == 302
    assert world.calls != []


def test_a_refused_form_is_logged_as_django_logs_it(
    world: World, client_of: Callable[..., Client], caplog: pytest.LogCaptureFixture
) -> None:
    client_of("operators", enforce_csrf_checks=True).post("/ops/tasks/task-1/_retry", {"pool": "default"})
    said = [record.getMessage() for record in caplog.records if record.name == "django.security.csrf"]
    assert said == ["Forbidden (CSRF cookie not set.): /ops/tasks/task-1/_retry"]


def test_a_project_with_a_page_of_its_own_keeps_it_with_the_headers(
    world: World, settings: Any, client_of: Callable[..., Client]
) -> None:
    settings.CSRF_FAILURE_VIEW = f"{__name__}.own_page"
    answer = client_of("operators", enforce_csrf_checks=True).post("/ops/tasks/task-1/_retry", {"pool": "default"})
    assert (answer.status_code, answer.content) == (403, b"ours: CSRF cookie not set.")
    assert_protected(answer)


def test_a_form_that_is_too_large_is_refused_with_the_headers(
    world: World, settings: Any, client_of: Callable[..., Client]
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    client = client_of("operators", enforce_csrf_checks=True)
    client.get("/ops/tasks/task-1/")
    answer = client.post("/ops/tasks/task-1/_retry", {"pool": "x" * 200})
    assert answer.status_code == 400
    assert_protected(answer)


@for_each_address(MUTATIONS)
def test_a_denied_action_of_a_known_user_leaves_a_row(
    address: Address, world: World, client_of: Callable[..., Client]
) -> None:
    assert client_of("viewers").post(address.path, address.form).status_code == 403
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.outcome, entry.count) == ("viewers", "denied", 1)
    assert entry.verb == DENIED_VERBS.get(address.name, entry.verb)
    assert label(entry.verb) != entry.verb
    assert entry.detail.startswith("needs the permission ")
    assert (entry.address, entry.changed, entry.ids) == ("127.0.0.1", 0, [])


def test_the_row_names_what_was_to_be_changed(world: World, viewer: Client) -> None:
    for path in ("tasks/task-1/_delete", "lanes/default/slow/_pause", "workers/w1/_stop"):
        viewer.post(f"/ops/{path}")
    assert list(AuditEntry.objects.order_by("pk").values_list("verb", "target")) == [
        ("delete", "task-1"),
        ("pause", "default/slow"),
        ("stop", "w1"),
    ]


def test_what_may_not_be_undone_leaves_a_row_too(world: World, operator: Client) -> None:
    AuditEntry.objects.create(
        pk=1, actor_name="x", verb="delete", target="x", ids=[["default", "task-1"]], outcome="done",
        after={"default task-1": {"word": "OK", "state": "deleted"}},
    )  # fmt: skip
    assert operator.post("/ops/audit/1/_undo").status_code == 403
    assert AuditEntry.objects.get(outcome=Outcome.DENIED).verb == "undo"


def test_a_denied_action_has_no_undo(world: World, viewer: Client, administrator: Client) -> None:
    viewer.post("/ops/lanes/default/slow/_pause")
    viewer.post("/ops/tasks/task-1/_cancel")
    for entry in AuditEntry.objects.all():
        assert "_undo" not in administrator.get(f"/ops/audit/{entry.pk}/").content.decode()
        administrator.post(f"/ops/audit/{entry.pk}/_undo")
    assert world.calls == []
    assert AuditEntry.objects.count() == 2


def test_read_only_leaves_a_row_that_says_so(world: World, administrator: Client, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": True}
    assert administrator.post("/ops/tasks/task-1/_retry").status_code == 403
    assert AuditEntry.objects.get().detail == "READ_ONLY"


def test_who_is_not_known_and_who_only_looks_leaves_none(world: World, viewer: Client, client: Client) -> None:
    client.post("/ops/tasks/task-1/_retry")
    Client(enforce_csrf_checks=True).post("/ops/tasks/task-1/_retry")
    assert viewer.get("/ops/tasks/task-1/raw/").status_code == 403
    assert viewer.get("/ops/tasks/task-1/_retry").status_code == 405
    assert AuditEntry.objects.count() == 0


def test_one_row_a_day_counts_all_tries_of_one_action(
    world: World, viewer: Client, client_of: Callable[..., Client], administrator: Client
) -> None:
    for number in range(30):
        viewer.post(f"/ops/tasks/task-{number}/_retry")
    viewer.post("/ops/tasks/task-1/_delete")
    client_of("").post("/ops/tasks/task-1/_retry")
    rows = list(AuditEntry.objects.order_by("pk").values_list("actor_name", "verb", "target", "count"))
    assert rows == [
        ("viewers", "retry", "task-0", 30),
        ("viewers", "delete", "task-1", 1),
        ("nobody", "retry", "task-1", 1),
    ]
    page = administrator.get("/ops/audit/?outcome=denied").content.decode()
    assert "not permitted ×30" in page
    pk = AuditEntry.objects.get(verb="retry", actor_name="viewers").pk
    assert "in the first attempt" in page
    shown = administrator.get(f"/ops/audit/{pk}/").content.decode()
    assert "not permitted ×30" in shown
    assert "Nothing was changed. This row counts all attempts of this action within one day." in shown
    AuditEntry.objects.update(at=timezone.now() - timedelta(days=1, minutes=1))
    viewer.post("/ops/tasks/task-1/_retry")
    assert AuditEntry.objects.filter(verb="retry", actor_name="viewers").count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_database_that_takes_no_row_leaves_the_action_denied(
    world: World, viewer: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
        try:
            assert viewer.post("/ops/tasks/task-1/_retry").status_code == 403
        finally:
            cursor.execute("PRAGMA query_only = OFF")
    assert "The denied action task-retry of viewers is not in the audit log" in caplog.text
    assert world.calls == []


def test_the_target_of_a_row_fits_and_has_no_secret(world: World, viewer: Client) -> None:
    assert viewer.post(f"/ops/lanes/{'p' * 200}/{'l' * 200}/_pause").status_code == 403
    assert viewer.post("/ops/lanes/default/token=hunter2/_resume").status_code == 403
    long, secret = AuditEntry.objects.order_by("pk").values_list("target", flat=True)
    assert len(long) == 400
    assert "hunter2" not in secret


@pytest.mark.django_db(transaction=True)
def test_parallel_tries_are_all_counted_in_few_rows(world: World) -> None:
    user = User.objects.create_user("eve")
    user.groups.set([Group.objects.get_or_create(name="nothing")[0]])

    def post(number: int) -> int:
        client = Client()
        client.force_login(user)
        status = client.post("/ops/tasks/task-1/_retry").status_code
        connections.close_all()
        return status

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(post, range(40))) == {403}
    counts = list(AuditEntry.objects.values_list("count", flat=True))
    assert sum(counts) == 40
    assert len(counts) <= 8
