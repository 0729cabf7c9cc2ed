"""Numbers and cursors of the HTTP API: none is an error of the server, and attempts are counted in two ways."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from queueops import control, inspect
from queueops.errors import BadOption
from queueops.jobs import Job
from queueops.testing import run_worker
from tests.jobs.api_client import GOOD, get, post
from tests.jobs.conftest import Register
from tests.jobs.test_api import nothing_is_stored
from tests.support.for_each import for_each


@for_each("name", ["older_than", "newer_than", "limit"])
@for_each("value", ["1.7976931348623155e308", "-1", "nan", "inf", "1e400", "9" * 4400, "\u0661e", "", " "])
def test_a_number_that_no_filter_can_have_is_refused(api: Client, name: str, value: str) -> None:
    answer = api.get("/api/v1/jobs", {name: value})
    assert (answer.status_code, [each["field"] for each in answer.json()["errors"]]) == (422, [name])


@pytest.mark.parametrize("after", ["x", "e30x", "é", "A" * 20_001, "eyJkZWZhdWx0IjpbIngiLCIxZTk5OSIsIiJdfQ"])
def test_a_cursor_that_no_page_gave_is_refused(api: Client, after: str) -> None:
    for path in ("jobs", "aggregations"):
        answer = api.get(f"/api/v1/{path}", {"after": after})
        assert (answer.status_code, [each["field"] for each in answer.json()["errors"]]) == (422, ["after"])


@for_each("number", ["1e400", "-1e400", "9" * 4400, "1e308", "7.5", "true"])
@for_each("field", ["aggr_limit", "priority", "max_retries", "rate", "delay", "download_timeout"])
def test_a_number_that_no_field_can_have_is_refused(api: Client, field: str, number: str) -> None:
    if number == "7.5" and field in ("rate", "delay", "download_timeout"):
        return
    body = json.dumps(GOOD)[:-1] + f', "{field}": {number}}}'
    status, _ = post(api, body.encode())
    assert status in (400, 422)
    assert nothing_is_stored()


def test_a_whole_number_may_be_written_with_a_fraction_of_zero(api: Client) -> None:
    assert post(api, GOOD | {"aggr_limit": 78.0, "priority": 3.0, "max_retries": 1.0})[0] == 201
    assert (inspect.aggregation("shop").limit, inspect.jobs().rows[0].retries) == (78, 1)


@pytest.mark.parametrize("value", [-1, 1e300, float("nan")])
def test_an_age_that_cannot_be_is_refused_in_python(namespace: str, value: float) -> None:
    for name in ("older_than", "newer_than"):
        with pytest.raises(BadOption, match=name):
            inspect.jobs(**{name: value})


def test_started_and_failed_attempts_are_both_told(api: Client, handler: Register) -> None:
    def work(job: Job) -> None:
        if job.attempt == 1:
            raise OSError("not yet")

    handler(work)
    id = post(api, {"aggr_id": "a", "handler": "work", "max_retries": 3})[1]["id"]
    told = [get(api, f"jobs/{id}")]
    for _ in range(2):
        run_worker()
        told.append(get(api, f"jobs/{id}"))
        control.run_now([id])
    numbers = [(each["started_attempts"], each["failed_attempts"], each["attempt"], each["error"]) for each in told]
    assert numbers == [(0, 0, 0, ""), (1, 1, 1, "not yet"), (2, 1, 1, "not yet")]
    (row,) = get(api, "jobs")["jobs"]
    assert (row["started_attempts"], row["failed_attempts"], row["attempt"]) == (2, 1, 1)
