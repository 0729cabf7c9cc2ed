"""The API of tasks: the lists and verbs of the console over HTTP, by scopes that no earlier token has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import Permission, User
from django.core.wsgi import get_wsgi_application
from django.test import Client
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from console.models import AuditEntry
from queueops import inspect
from queueops.control import create_api_token
from queueops.control.verbs import FREEING
from queueops.kinds.jobs.api import wrong_tokens
from queueops.kinds.jobs.api.authentication import ANYONE
from queueops.kinds.jobs.api.of_tasks.acting import UNSEEN
from queueops.kinds.jobs.api.of_tasks.shapes import OF_ALL
from queueops.kinds.jobs.api_tokens import OF_JOBS, Scope
from queueops.kinds.operations.control import VALUES
from tests.jobs.api_client import get, post
from tests.jobs.test_openapi import about_one_request, in_one_transaction
from tests.support.specimens import SICK, Specimens, specimens

pytestmark = pytest.mark.django_db
ALL = [scope for scope in Scope if scope not in OF_JOBS]
NUMBERS = count()
schemathesis.openapi.format("filter", st.just(""))
schemathesis.openapi.format("conditions", st.just("state:failed age>1h"))
READS = ("tasks", "lanes", "workers", "errors", "schedules", "runs")
VERBS: dict[str, tuple[Scope, dict[str, Any]]] = {
    "tasks": (Scope.PUSH, {"name": "shop.charge", "args": [4711], "pool": "default"}),
    "tasks/actions": (Scope.OPERATE, {"verb": "cancel", "ids": ["n"], "pool": SICK, "reason": "by hand"}),
    "tasks/operations": (Scope.VIEW, {"verb": "priority", "filter": "tag:red state:pending", "priority": 7}),
    "runs/actions": (Scope.OPERATE, {"verb": "suspend_runs", "ids": ["r"], "pool": SICK}),
    "lanes/actions": (Scope.CONFIGURE, {"verb": "set_lane", "lane": "narrow", "pool": SICK, "limit": 4}),
    "names/actions": (Scope.CONFIGURE, {"verb": "pause_name", "name": "tests.noop", "pool": SICK}),
    "workers/actions": (Scope.CONFIGURE, {"verb": "quiet", "id": "w1"}),
    "schedules/actions": (Scope.CONFIGURE, {"verb": "pause_schedule", "id": "hourly", "pool": SICK}),
}


@pytest.fixture
def desk(api: Client) -> Iterator[Specimens]:
    """A pool with something of everything."""
    with specimens() as made:
        yield made


@pytest.fixture
def project(settings: Any) -> Any:
    """The settings of the project, beside those of Hypothesis."""
    return settings


def client_with(*scopes: str) -> Client:
    secret = create_api_token(f"client {next(NUMBERS)}", list(scopes)).secret
    return Client(headers={"authorization": f"Bearer {secret}"})


def test_every_list_is_read_with_the_filter_of_its_page(desk: Specimens) -> None:
    client = client_with(*ALL)
    for name in READS:
        assert get(client, name)["rows"], name
        status = client.get(f"/api/v1/{name}?colour=red").status_code
        assert status == 422, name
    first = get(client, "tasks", limit=1, pool=SICK)
    (other,) = get(client, "tasks", limit=1, pool=SICK, after=first["next"])["rows"]
    assert other["id"] != first["rows"][0]["id"]
    assert [row["id"] for row in get(client, "tasks", tag="red", state="failed,pending")["rows"]] == ["n"]
    assert get(client, "tasks/n", pool=SICK)["lane"] == "narrow"
    assert client.get("/api/v1/tasks/no-such").json()["detail"] == "There is no task with this id."
    told = client.get("/api/v1/tasks/hourly")
    assert (told.status_code, told.json()["detail"]) == (404, "There is no task with this id. It is a schedule.")
    wrong = client.get("/api/v1/tasks?state=eroded")
    assert (wrong.status_code, "there is no state 'eroded'" in wrong.json()["detail"]) == (422, True)


def test_every_verb_needs_its_scope_is_done_and_audited_with_the_name_of_the_token(desk: Specimens) -> None:
    secret = create_api_token("deploy bot", ALL).secret
    client = Client(headers={"authorization": f"Bearer {secret}"})
    for path, (scope, body) in VERBS.items():
        lacking = client_with(*(other for other in Scope if other is not scope))
        assert post(lacking, body, path)[0] == 403, path
        assert not AuditEntry.objects.exists()
        status, answer = post(client, body, path)
        assert status == (201 if path == "tasks" else 200), answer
        entry = AuditEntry.objects.get()
        assert entry.actor_name == "deploy bot (API token)"
        outcome = "begun" if path == "tasks/operations" else "done"
        assert (entry.outcome, entry.verb) == (outcome, body.get("verb", "push"))
        entry.tasks.all().delete()
        AuditEntry.objects.all().delete()
    assert get(client, "tasks/n", pool=SICK)["state"] == "cancelled"
    destroying = {"verb": "delete", "ids": ["n"], "pool": SICK}
    assert post(client_with("operate"), destroying, "tasks/actions")[0] == 403
    (row,) = post(client, destroying, "tasks/actions")[1]["rows"]
    assert row["word"] == "OK"


def test_a_verb_on_all_that_match_a_filter_is_done_by_workers_and_bounded(desk: Specimens) -> None:
    assert set(OF_ALL) == VALUES.keys() - FREEING
    client = client_with("view", "operate")
    body = {"verb": "cancel", "filter": "state:pending tag:red", "reason": "by hand", "most": 1}
    status, answer = post(client, body, "tasks/operations")
    ((pool, id),) = ((each["pool"], each["id"]) for each in answer["operations"])
    assert (status, pool, answer["missing"]) == (200, SICK, [])
    found = inspect.operation(id, pool)
    assert found is not None
    assert (found.verb, found.count, found.filter) == ("cancel", 1, {"state": "pending", "tag": "red"})
    assert post(client, body | {"filter": "tag:no-such"}, "tasks/operations")[1]["operations"] == []
    for unfit in ("", "colour:red", "id:n", "text:red"):
        assert post(client, body | {"filter": unfit}, "tasks/operations")[0] == 422, unfit
    for wrong in ({"priority": 3}, {"verb": "release"}):
        assert post(client, body | wrong, "tasks/operations")[0] == 422, wrong
    assert post(client, {"verb": "delete", "filter": "state:failed"}, "tasks/operations")[0] == 403


def test_a_token_that_may_not_view_learns_neither_whether_tasks_match_nor_their_states(desk: Specimens) -> None:
    blind, seeing = client_with("operate", "destroy"), client_with("operate", "view")
    for filter in ("tag:red state:pending", "tag:no-such", "colour:red"):
        status, problem = post(blind, {"verb": "cancel", "filter": filter}, "tasks/operations")
        assert (status, "does not have the scope view" in problem["detail"]) == (403, True), filter
    assert post(client_with("view"), {"verb": "cancel", "filter": "tag:red"}, "tasks/operations")[0] == 403
    for path, verb, id in (("tasks/actions", "release", "n"), ("runs/actions", "retry_runs", "r")):
        ((told,), (seen,)) = (
            post(client, {"verb": verb, "ids": [id], "pool": SICK}, path)[1]["rows"] for client in (blind, seeing)
        )
        assert told == {"id": id, "word": "REFUSED", "state": "", "detail": UNSEEN}
        assert (seen["word"], seen["state"] != "", seen["detail"] not in ("", UNSEEN)) == ("REFUSED", True, True)
    cancel = {"verb": "cancel", "ids": ["n"], "pool": SICK}
    assert post(blind, cancel, "tasks/actions")[1]["rows"] == [{"id": "n", "word": "OK", "state": "", "detail": ""}]
    assert get(seeing, "tasks/n", pool=SICK)["state"] == "cancelled"


def test_the_scopes_of_jobs_reach_no_task_and_a_client_without_a_token_neither(desk: Specimens) -> None:
    client = client_with(*OF_JOBS)
    assert not set(ANYONE.scopes) & set(ALL)
    assert {client.get(f"/api/v1/{name}").status_code for name in (*READS, "tasks/n")} == {403}
    assert {post(client, body, path)[0] for path, (_, body) in VERBS.items()} == {403}
    assert Client().get("/api/v1/tasks").status_code == 401


def test_arguments_are_concealed_without_their_scope(desk: Specimens) -> None:
    pusher = client_with("push")
    body = {"name": "shop.charge", "kwargs": {"order": "4711", "password": "hunter2"}, "pool": "default"}
    id = post(pusher, body, "tasks")[1]["id"]
    for scopes, seen in ((["view"], False), (["view", "see_arguments"], True)):
        shown = str(get(client_with(*scopes), f"tasks/{id}"))
        assert ("4711" in shown, "hunter2" in shown) == (seen, False)
    refused = client_with("view", "operate").get("/api/v1/tasks?contains=4711")
    assert refused.status_code == 422


def test_a_repeated_push_with_a_key_makes_one_task(desk: Specimens) -> None:
    client, body = client_with("push", "view"), {"name": "shop.charge", "pool": "default"}
    first, again = (post(client, body, "tasks", Idempotency_Key="order-7") for _ in range(2))
    assert (first[0], again[0], first[1]) == (201, 200, again[1])
    assert len(get(client, "tasks", name="shop.charge")["rows"]) == 1


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("tasks/actions", {"verb": "postpone", "ids": ["n"]}, 422),
        ("tasks/actions", {"verb": "retry", "ids": ["n"], "seconds": 3}, 422),
        ("tasks/actions", {"verb": "explode", "ids": ["n"]}, 422),
        ("tasks/actions", {"verb": "cancel", "ids": ["n", "no id"], "pool": SICK}, 422),
        ("lanes/actions", {"verb": "pause", "lane": "no-such", "pool": SICK}, 404),
        ("lanes/actions", {"verb": "pause", "lane": "narrow", "pool": SICK, "limit": 3}, 422),
        ("workers/actions", {"verb": "stop", "id": "no-such"}, 404),
        ("schedules/actions", {"verb": "run_schedule", "id": "no-such"}, 404),
        ("names/actions", {"verb": "pause_name", "name": "no.such"}, 404),
    ],
)
def test_what_cannot_be_done_is_a_problem(desk: Specimens, path: str, body: dict[str, Any], status: int) -> None:
    found, answer = post(client_with(*ALL), body, path)
    assert (found, bool(answer["detail"])) == (status, True)


def test_read_only_permits_reading_alone(desk: Specimens, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": True}
    client = client_with(*ALL)
    assert client.get("/api/v1/tasks").status_code == 200
    assert {post(client, body, path)[0] for path, (_, body) in VERBS.items()} == {403}


def test_a_user_gives_a_token_only_scopes_that_are_permissions_of_the_user(db: None, namespace: str) -> None:
    user = User.objects.create_user("ada")
    user.user_permissions.set(Permission.objects.filter(codename__in=("view", "configure")))
    client = Client()
    client.force_login(user)
    page = client.get("/ops/api-tokens/").content.decode()
    assert ('value="configure"' in page, 'value="destroy"' in page) == (True, False)
    refused = client.post("/ops/api-tokens/_create", {"name": "shop", "scopes": ["view", "destroy"]})
    assert refused.status_code == 422
    assert client.post("/ops/api-tokens/_create", {"name": "shop", "scopes": ["view"]}).status_code == 200


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
def test_every_operation_keeps_its_description(
    api: Client, desk: Specimens, mode: GenerationMode, request: Any
) -> None:
    project = request.getfixturevalue("settings")
    project.QUEUEOPS = project.QUEUEOPS | {"JOBS": {"API_BODY_LIMIT": 2_000_000}}
    secret = create_api_token("all", ALL).secret
    document = about_one_request(api.get("/api/v1/openapi.json").json())
    schema = schemathesis.openapi.from_dict(document)
    schema.app = get_wsgi_application()
    names = [
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
        if "operations" in operation.get("tags", ())
    ]
    assert len(names) == len(READS) + 1 + len(VERBS)
    for name in names:
        strategy = schema.find_operation_by_id(name).as_strategy(generation_mode=mode)

        @bounds(
            max_examples=5,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=strategy)
        def ask(case: Any) -> None:
            wrong_tokens.forget()
            case.call_and_validate(headers={"Authorization": f"Bearer {secret}"})

        with in_one_transaction():
            ask()
