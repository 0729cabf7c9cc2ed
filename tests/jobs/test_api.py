"""The HTTP API: who may hand in jobs, what is refused and why, and what a client reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from queueops import control, inspect
from queueops.testing import run_worker
from tests.jobs.api_client import GOOD, post, sent_by
from tests.jobs.conftest import LOCAL
from tests.jobs.servers import serving
from tests.support.for_each import for_each


def nothing_is_stored() -> bool:
    return inspect.aggregations().rows == ()


def test_a_job_is_handed_in_and_read(api: Client) -> None:
    status, made = post(api, GOOD)
    assert status == 201
    shown = api.get(f"/api/v1/jobs/{made['id']}").json()
    assert (shown["aggr_id"], shown["url"], shown["state"]) == ("shop", GOOD["url"], "pending")
    assert (shown["error"], shown["result"], shown["attempt"], shown["retries"]) == ("", None, 0, 2)
    found = inspect.aggregation("shop")
    assert found is not None
    assert found.limit == 3


def test_a_job_that_has_ended_shows_its_error_and_its_result(api: Client, settings: Any, tmp_path: Any) -> None:
    own = settings.QUEUEOPS["JOBS"] | LOCAL | {"PARTIAL_DIRECTORY": str(tmp_path / "partial")}
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    settings.MEDIA_ROOT = str(tmp_path)
    with serving({"/a": lambda exchange: exchange.answer(200, b"abc")}) as files:
        made = [post(api, {"aggr_id": "a", "url": files.url(path)})[1]["id"] for path in ("/a", "/none?token=abc")]
        run_worker()
    good, bad = (api.get(f"/api/v1/jobs/{id}").json() for id in made)
    assert (good["state"], good["result"]["size"], good["result"]["mime_type"]) == ("succeeded", 3, "text/plain")
    assert bad["state"] == "failed"
    assert bad["error"] == "HTTP 404: The download failed (status). The answer has the status 404."
    listed = {row["id"]: row["error"] for row in api.get("/api/v1/jobs").json()["jobs"]}
    assert listed == {bad["id"]: bad["error"], good["id"]: ""}, "lists tell the same as the job itself"
    assert bad["url"].endswith("/none?token=***")


def test_an_idempotency_key_makes_one_job_for_each_client(api: Client) -> None:
    first = post(api, GOOD, Idempotency_Key="order 7")
    again = post(api, GOOD, Idempotency_Key="order 7")
    assert (first[0], again[0]) == (201, 200)
    assert first[1] == again[1]
    assert post(api, GOOD, Idempotency_Key="order 8")[1] != first[1]
    assert post(sent_by(api, "other"), GOOD, Idempotency_Key="order 7")[0] == 201
    assert post(api, GOOD, Idempotency_Key="x" * 201)[0] == 422


def reused(answer: tuple[int, Any]) -> bool:
    """Whether a request was refused because its key was used for another one."""
    status, problem = answer
    return (status, [each["field"] for each in problem.get("errors", [])]) == (422, ["Idempotency-Key"])


def test_an_idempotency_key_with_another_body_is_refused(api: Client) -> None:
    first = post(api, GOOD, Idempotency_Key="order 7")
    refused = post(api, GOOD | {"extra": "other"}, Idempotency_Key="order 7")
    assert reused(refused)
    assert refused[1]["detail"].startswith("The header Idempotency-Key was used before with another body")
    written = json.dumps(dict(reversed(GOOD.items())), indent=3).encode()
    assert post(api, written, Idempotency_Key="order 7") == (200, first[1])
    assert [row.id for row in inspect.jobs().rows] == [first[1]["id"]]


@pytest.mark.parametrize(
    "other",
    [[GOOD | {"extra": "x"}, GOOD], [GOOD, GOOD | {"extra": "x"}], [GOOD], [GOOD, GOOD, GOOD | {"aggr_id": "new"}]],
)
def test_many_jobs_with_a_key_of_other_jobs_are_refused_and_none_is_stored(api: Client, other: list[Any]) -> None:
    first = post(api, {"jobs": [GOOD, GOOD]}, "jobs/bulk", Idempotency_Key="order 7")
    assert reused(post(api, {"jobs": other}, "jobs/bulk", Idempotency_Key="order 7"))
    assert {row.id for row in inspect.jobs().rows} == set(first[1]["ids"])
    assert inspect.aggregation("new") is None


def test_a_key_is_free_again_when_its_job_is_gone(api: Client) -> None:
    first = post(api, GOOD, Idempotency_Key="order 7")
    control.cancel([first[1]["id"]])
    control.delete([first[1]["id"]])
    assert post(api, GOOD | {"extra": "other"}, Idempotency_Key="order 7")[0] == 201


WRONG = [
    ("aggr_id", None), ("aggr_id", ""), ("aggr_id", "x" * 201), ("aggr_id", 7), ("aggr_limit", 0), ("aggr_limit", "3"),
    ("aggr_limit", True), ("aggr_limit", 10**12), ("aggr_proxy", "socks5://a.example"), ("aggr_proxy", None),
    ("url", "foo"), ("url", 7), ("url", "http://127.0.0.1/"), ("callback_url", "http://10.0.0.1/"),
    ("callback_error_url", "ftp://a.example/"), ("extra", {}), ("subpath", "../a"), ("mime_type", "image/["),
    ("mime_type", "image"),
    ("extract_image_size", 1), ("download_timeout", 0), ("download_timeout", "4"), ("request_headers", []),
    ("request_headers", {"X": "a\r\nb"}), ("max_retries", -1), ("max_retries", 1.5), ("expiresAt", "2030-01-01"),
    ("callback_type", "http"), ("callback_dst", "https://a.example/"), ("delay", "1"), ("rate", 1e999),
    ("download_timeout", True), ("priority", 101), ("handler", "a b"), ("options", {}),
    *((name, "http://a/\ud800") for name in ("url", "aggr_id", "aggr_proxy", "callback_url", "extra", "subpath")),
]  # fmt: skip


@for_each(("field", "value"), WRONG)
def test_a_wrong_field_is_named_and_nothing_is_stored(api: Client, field: str, value: Any) -> None:
    for path, body, place in (
        ("jobs", GOOD | {field: value}, ""),
        ("jobs/bulk", {"jobs": [GOOD, GOOD | {field: value}]}, "jobs.1."),
    ):
        status, problem = post(api, body, path)
        assert status == 422
        assert all(each["reason"] for each in problem["errors"])
        assert {each["field"] for each in problem["errors"]} == {f"{place}{field}"}
    assert nothing_is_stored()


@pytest.mark.parametrize("field", ["aggr_id", "url"])
def test_a_field_that_is_missing_is_named(api: Client, field: str) -> None:
    status, problem = post(api, {name: value for name, value in GOOD.items() if name != field})
    assert (status, [each["field"] for each in problem["errors"]]) == (422, [field])
    assert nothing_is_stored()


def test_the_reason_has_the_name_of_the_field(api: Client) -> None:
    for field, value in (("aggr_limit", 10**12), ("max_retries", 10**12)):
        _, problem = post(api, GOOD | {field: value})
        assert problem["detail"].startswith(f"The option {field} is 1000000000000, ")


def test_many_jobs_are_handed_in_together(api: Client) -> None:
    status, made = post(api, {"jobs": [GOOD, GOOD | {"aggr_id": "b"}]}, "jobs/bulk")
    assert status == 201
    assert [api.get(f"/api/v1/jobs/{id}").json()["aggr_id"] for id in made["ids"]] == ["shop", "b"]
    assert post(api, {"jobs": []}, "jobs/bulk")[0] == 422


def test_many_jobs_with_an_idempotency_key_are_made_once(api: Client) -> None:
    many = {"jobs": [GOOD, GOOD | {"aggr_id": "b"}]}
    first, again = (post(api, many, "jobs/bulk", Idempotency_Key="order 7") for _ in range(2))
    assert (first[0], again[0]) == (201, 200)
    assert first[1] == again[1]
    assert len(set(first[1]["ids"])) == 2
    assert post(api, many, "jobs/bulk", Idempotency_Key="order 8")[0] == 201
    assert post(sent_by(api, "other"), many, "jobs/bulk", Idempotency_Key="order 7")[0] == 201
    assert post(api, GOOD, Idempotency_Key="order 7")[0] == 201
    assert post(api, many, "jobs/bulk", Idempotency_Key="x" * 201)[0] == 422


def test_of_a_thousand_jobs_none_is_made_if_the_last_aggregation_is_drained(api: Client, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": {}}
    post(api, GOOD | {"aggr_id": "full"})
    control.drain_aggregation("full")
    brief = {"url": GOOD["url"]}
    many = [brief | {"aggr_id": "shop"} for _ in range(999)]
    status, problem = post(api, {"jobs": [*many, brief | {"aggr_id": "full"}]}, "jobs/bulk")
    assert (status, inspect.aggregation("shop")) == (409, None), problem
    assert len(post(api, {"jobs": many}, "jobs/bulk")[1]["ids"]) == 999


@for_each("body", [b"", b"{", b"[]", b'"x"', b"\xff", b"null"])
def test_a_body_that_is_no_object_is_refused(api: Client, body: bytes) -> None:
    status, problem = post(api, body)
    assert status == 400 or (status, [each["field"] for each in problem["errors"]]) == (422, ["body"])
    assert nothing_is_stored()


def test_a_body_that_is_too_long_is_not_read(api: Client) -> None:
    status, problem = post(api, GOOD | {"extra": "x" * 5000})
    assert (status, problem["detail"]) == (413, "The body is larger than 5,000 bytes.")
    assert nothing_is_stored()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic all", "all"])
def test_without_a_known_token_nothing_is_told(api: Client, header: str) -> None:
    assert post(api, GOOD, Authorization=header)[0] == 401
    response = api.get("/api/v1/jobs/x", headers={"authorization": header})
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
    assert nothing_is_stored()


def test_a_token_does_what_its_scopes_permit(api: Client) -> None:
    viewer, other = sent_by(api, "viewer"), sent_by(api, "other")
    status, problem = post(viewer, GOOD)
    assert (status, problem["detail"]) == (403, "The token viewer does not have the scope submit.")
    assert viewer.get("/api/v1/jobs/x").status_code == 404
    assert other.get("/api/v1/jobs/x").status_code == 403
    assert nothing_is_stored()


def test_read_only_refuses_jobs_and_permits_reading(api: Client, settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"READ_ONLY": True}
    assert post(api, GOOD)[0] == 403
    assert api.get("/api/v1/jobs/x").status_code == 404


def test_what_is_no_job_is_not_shown(api: Client) -> None:
    from tests.support.tasks_for_tests import add

    assert api.get(f"/api/v1/jobs/{add.push(1).id}").status_code == 404
    assert api.get("/api/v1/jobs/%2e%2e").status_code == 404


@pytest.mark.parametrize(("method", "path"), [("get", "none"), ("post", "none/x/"), ("get", ""), ("put", "a/b")])
def test_an_unknown_path_is_a_problem(api: Client, method: str, path: str) -> None:
    response = getattr(api, method)(f"/api/v1/{path}")
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")
    assert response.json()["detail"] == "There is no such path."


@pytest.mark.parametrize(("method", "path"), [("delete", "jobs"), ("post", "jobs/x"), ("get", "jobs/x/cancel")])
def test_a_method_that_a_path_does_not_have_is_a_problem(api: Client, method: str, path: str) -> None:
    response = getattr(api, method)(f"/api/v1/{path}")
    assert (response.status_code, response["Content-Type"]) == (405, "application/problem+json")
    assert response["Allow"]


def test_an_unexpected_error_is_a_problem_that_tells_no_more(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr(inspect, "task", fail)
    with pytest.raises(RuntimeError):  # Django's signal tells the test, and a collector of errors
        api.get("/api/v1/jobs/x")
    api.raise_request_exception = False
    response = api.get("/api/v1/jobs/x")
    assert (response.status_code, response["Content-Type"]) == (500, "application/problem+json")
    assert "secret" not in response.content.decode()


def test_a_job_of_another_handler_has_its_options(api: Client) -> None:
    given = {"aggr_id": "a", "handler": "resize", "options": {"width": 300}, "rate": 2.5, "delay": 3600, "priority": 7}
    status, made = post(api, given)
    assert status == 201
    found = inspect.task(made["id"])
    assert (found.name, found.state, found.priority) == ("resize", "postponed", 7)
    assert '"width":300' in found.args_json.replace(" ", "")
    assert inspect.aggregation("a").rate == 2.5


@for_each(
    ("given", "field"),
    [
        ({"handler": "x", "mime_type": "image/*"}, "mime_type"), ({"handler": "x", "aggr_proxy": ""}, "aggr_proxy"),
        ({"options": {}, "url": GOOD["url"]}, "options"), ({"handler": "a b"}, "handler"), ({"handler": ""}, "handler"),
        ({"handler": "resize", "options": []}, "options"), ({"handler": "resize", "rate": 0}, "rate"),
        ({"handler": "resize", "delay": -1}, "delay"), ({"handler": "resize", "priority": 101}, "priority"),
        ({"handler": "resize", "priority": 1.5}, "priority"), ({"handler": "resize", "delay": True}, "delay"),
        ({"handler": "resize", "options": {"a": ["\ud800"]}}, "options"), ({"handler": "x", "url": "\ud800"}, "url"),
    ],
)  # fmt: skip
def test_a_wrong_field_of_another_handler_is_named(api: Client, given: dict[str, Any], field: str) -> None:
    for path, body, place in (
        ("jobs", {"aggr_id": "a"} | given, ""),
        ("jobs/bulk", {"jobs": [GOOD, {"aggr_id": "a"} | given]}, "jobs.1."),
    ):
        status, problem = post(api, body, path)
        assert status == 422, problem
        assert all(f"{each['field']}.".startswith(f"{place}{field}.") for each in problem["errors"]), problem
    assert nothing_is_stored()


def test_ids_with_a_slash_and_with_a_line_break_are_in_paths(api: Client) -> None:
    from queueops import jobs

    jobs.submit(aggregation="a\nb/c", handler="work", id="orders/7")
    assert api.get("/api/v1/aggregations/a%0Ab%2Fc").json()["aggr_id"] == "a\nb/c"
    for id in ("orders/7", "orders%2F7"):
        assert api.get(f"/api/v1/jobs/{id}").json()["id"] == "orders/7"
        assert api.post(f"/api/v1/jobs/{id}/callback/retry").status_code == 409
    assert api.post("/api/v1/jobs/orders/7/cancel").json()["state"] == "cancelled"
    assert api.post("/api/v1/jobs/orders/7/retry").json()["state"] == "pending"


def test_the_api_describes_itself(api: Client) -> None:
    described = api.get("/api/v1/openapi.json").json()
    assert set(described["paths"]) == {
        f"/api/v1/{path}"
        for path in (
            "jobs", "jobs/bulk", "jobs/{id}", "jobs/{id}/cancel", "jobs/{id}/retry", "jobs/{id}/callback/retry",
            "aggregations", "aggregations/{aggr_id}", "health", "ready", "statistics",
            "tasks", "tasks/{id}", "tasks/operations", "lanes", "runs", "workers", "errors", "schedules",
            *(f"{what}/actions" for what in ("tasks", "runs", "lanes", "names", "workers", "schedules")),
        )
    }  # fmt: skip


def test_the_description_has_errors_and_the_idempotency_key(api: Client) -> None:
    described = api.get("/api/v1/openapi.json").json()
    problem = described["components"]["schemas"]["Problem"]["properties"]
    _, answer = post(api, {})
    assert {*answer, *answer["errors"][0]} == {*problem, *problem["errors"]["items"]["properties"]}
    with_key = []
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            problems = {code: each for code, each in operation["responses"].items() if code[0] != "2"}
            for each in problems.values():
                assert each["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")
            assert ("401" in problems) == (operation["operationId"] not in ("health", "ready"))
            assert {"503", "default"} <= set(problems)
            assert operation["operationId"].isidentifier()
            assert len(operation["operationId"]) < 20
            if any(each["name"] == "Idempotency-Key" for each in operation["parameters"]):
                with_key.append((method, path))
    assert described["servers"][0]["url"] == "/"
    assert with_key == [("post", f"/api/v1/{path}") for path in ("jobs", "jobs/bulk", "tasks")]
    assert described["components"]["schemas"]["NewJob"]["properties"]["extra"].keys() == {"default", "title", "type"}


def test_each_operation_has_a_summary_of_some_words(api: Client) -> None:
    described = api.get("/api/v1/openapi.json").json()
    summaries = [each["summary"] for operations in described["paths"].values() for each in operations.values()]
    assert len(set(summaries)) == len(summaries) == 29
    assert [text for text in summaries if not 3 <= len(text.split()) <= 8] == []


@pytest.mark.parametrize(
    ("state", "said"),
    [("mapping", "no job has the state 'mapping'"), ("faild", "no job has the state 'faild'; did you mean 'failed'?")],
)
def test_a_state_that_no_job_has_is_refused(api: Client, state: str, said: str) -> None:
    answer = api.get(f"/api/v1/jobs?state={state}")
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"]) == (422, "state")
    assert said in error["reason"]
