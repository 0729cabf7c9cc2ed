"""Tokens of the API: made, shown once, recognised, limited and revoked."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.test import Client

from console.models import AuditEntry
from queueops import control, inspect
from queueops.errors import BadOption
from queueops.errors.job_api import ApiAppMissing, UnknownApiToken
from queueops.kinds.jobs import api_tokens
from queueops.kinds.jobs.api import wrong_tokens
from queueops.kinds.jobs.api.models import ApiToken
from tests.jobs.api_client import GOOD, post, sent_by
from tests.support.for_each import for_each


def client_with(secret: str) -> Client:
    return Client(headers={"authorization": f"Bearer {secret}"})


def test_a_token_is_stored_as_its_digest_alone(api: Client) -> None:
    made = control.create_api_token("a b", ["read"], rate=2.5, body_limit=7, who="root")
    row = ApiToken.objects.get(name="a b")
    assert made.secret not in str(vars(row))
    assert (made.token.scopes, made.token.rate, made.token.body_limit) == (("read",), 2.5, 7)
    (shown,) = [token for token in inspect.api_tokens() if token.name == "a b"]
    assert shown == made.token
    assert made.secret not in str(shown)


@for_each(
    ("name", "scopes", "limits"),
    [
        ("", ["read"], {}), ("x" * 101, ["read"], {}), (" a", ["read"], {}), ("a", [], {}), ("a", ["root"], {}),
        ("a", ["read"], {"rate": 0}), ("a", ["read"], {"rate": True}), ("a", ["read"], {"body_limit": 0}),
        ("shop", ["read"], {}),
    ],
)  # fmt: skip
def test_a_wrong_token_is_refused(api: Client, name: str, scopes: list[str], limits: dict[str, Any]) -> None:
    with pytest.raises(BadOption):
        control.create_api_token(name, scopes, **limits)
    assert ApiToken.objects.count() == 3


def test_a_revoked_token_is_refused_and_its_name_is_free(api: Client) -> None:
    assert post(api, GOOD)[0] == 201
    assert control.revoke_api_token("shop", who="root").revoked_by == "root"
    assert post(api, GOOD)[0] == 401
    with pytest.raises(UnknownApiToken, match="'shop'"):
        control.revoke_api_token("shop")
    assert post(client_with(control.create_api_token("shop", ["submit"]).secret), GOOD)[0] == 201


def test_another_process_refuses_a_revoked_token_once_it_asks_again(
    api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert post(api, GOOD)[0] == 201
    ApiToken.objects.filter(name="shop").delete()
    assert post(api, GOOD)[0] == 201
    monkeypatch.setattr(api_tokens, "KEPT_S", -1)
    assert post(api, GOOD)[0] == 401


def test_wrong_tokens_of_an_address_do_not_ask_the_database_for_ever(
    api: Client, django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wrong_tokens, "MOST", 5)
    assert post(api, GOOD)[0] == 201
    with django_assert_max_num_queries(5):
        found = [post(client_with(f"wrong-{number}"), GOOD)[0] for number in range(9)]
    assert found == [401] * 5 + [429] * 4
    response = client_with("wrong").post("/api/v1/jobs", b"{}", content_type="application/json")
    assert 1 <= int(response["Retry-After"]) <= wrong_tokens.WITHIN_S
    assert post(api, GOOD)[0] == 201
    monkeypatch.setattr(api_tokens, "KEPT_S", -1)
    assert post(api, GOOD)[0] == 201  # a token that was known is looked up as before
    other = Client(REMOTE_ADDR="198.51.100.7", headers={"authorization": "Bearer wrong"})
    assert post(other, GOOD)[0] == 401
    monkeypatch.setattr(wrong_tokens, "WITHIN_S", 0)
    assert post(client_with("wrong"), GOOD)[0] == 401


def test_the_last_use_is_known(api: Client) -> None:
    assert inspect.api_tokens()[0].used_ms is None
    post(sent_by(api, "other"), GOOD)
    used = {token.name: token.used_ms for token in inspect.api_tokens()}
    assert used["other"]
    assert not used["viewer"]


def test_a_token_over_its_rate_waits(api: Client) -> None:
    client = client_with(control.create_api_token("slow", ["submit"], rate=0.01).secret)
    assert post(client, GOOD)[0] == 201
    response = client.post("/api/v1/jobs", json.dumps(GOOD), content_type="application/json")
    assert (response.status_code, response["Content-Type"]) == (429, "application/problem+json")
    assert 95 <= int(response["Retry-After"]) <= 100
    assert post(api, GOOD)[0] == 201


def test_the_starts_of_one_second_are_permitted_at_once(api: Client) -> None:
    client = client_with(control.create_api_token("burst", ["submit"], rate=3).secret)
    found = [post(client, GOOD)[0] for _ in range(12)]
    assert found[:3] == [201, 201, 201]
    assert 429 in found


def test_a_rate_that_is_damaged_in_the_store_is_an_error_of_the_request_alone(api: Client) -> None:
    from queueops.kinds.jobs.store import JobCalls
    from queueops.redis.broker import get_role

    made = control.create_api_token("odd", ["submit"], rate=0.01)
    calls = get_role(JobCalls)
    key = f"{calls.keys('default').prefix}:api:{made.token.id}"
    calls.ask("default", lambda client: client.set(key, "9" * 30))
    assert post(client_with(made.secret), GOOD)[0] == 429
    calls.ask("default", lambda client: client.set(key, "no number"))
    assert post(client_with(made.secret), GOOD)[0] == 201
    calls.ask("default", lambda client: client.delete(key))


def test_a_token_has_its_own_limit_of_the_body(api: Client) -> None:
    large = client_with(control.create_api_token("large", ["submit"], body_limit=9000).secret)
    small = client_with(control.create_api_token("small", ["submit"], body_limit=20).secret)
    assert post(large, GOOD | {"extra": "x" * 8000})[0] == 201
    assert post(small, GOOD)[1]["detail"] == "The body is larger than 20 bytes."


def test_a_body_over_the_limit_of_django_is_a_problem_too(api: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert post(api, GOOD | {"extra": "x" * 200})[0] == 413


def test_without_a_database_no_token_is_known(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    def fail(digest: str) -> None:
        raise OperationalError("no connection")

    monkeypatch.setattr(api_tokens, "_read", fail)
    status, problem = post(api, GOOD)
    assert (status, problem["detail"]) == (503, "The tokens cannot be read now.")


def test_without_the_app_the_error_says_what_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "is_installed", lambda name: False)
    with pytest.raises(ApiAppMissing, match=r"is not in INSTALLED_APPS\. Add it"):
        inspect.api_tokens()


def said(*words: str) -> str:
    out = StringIO()
    call_command("apitoken", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_tokens_are_made_listed_and_revoked_in_a_terminal(api: Client) -> None:
    secret = said("create", "cli", "--scope", "submit", "--scope", "read", "--rate", "50").strip()
    assert post(client_with(secret), GOOD)[0] == 201
    (line,) = [line for line in said("list").splitlines() if line.startswith("cli")]
    assert "submit,read  50/s" in line
    assert said("revoke", "cli") == "Revoked the token of cli.\n"
    listed = {token["name"]: token for token in json.loads(said("list", "--json"))}
    assert listed["cli"]["revoked_ms"]
    assert secret not in said("list") + said("list", "--json")
    with pytest.raises(CommandError, match="There is no valid API token"):
        said("revoke", "cli")
    with pytest.raises(CommandError, match="a name that no valid token has"):
        said("create", "shop")
    entries = [(entry.verb, entry.target, entry.outcome) for entry in AuditEntry.objects.order_by("pk")]
    assert entries == [
        ("create_token", "cli", "done"),
        ("revoke_token", "cli", "done"),
        ("revoke_token", "cli", "failed"),
        ("create_token", "shop", "failed"),
    ]
    assert secret not in str([vars(entry) for entry in AuditEntry.objects.all()])
