"""The API keeps what its OpenAPI document says: requests that Schemathesis makes of it, bounded in number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import Client
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounds
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from schemathesis.generation import GenerationMode

from queueops.kinds.jobs.api import wrong_tokens
from tests.jobs.api_client import post

pytestmark = pytest.mark.django_db
OPERATIONS = (
    "submit_job", "submit_jobs", "list_jobs", "read_job", "cancel_job", "retry_job", "retry_callback",
    "list_aggregations", "read_aggregation", "change_aggregation", "delete_aggregation",
    "health", "ready", "statistics",
)  # fmt: skip
ENDS = ("type", "dst")
OF_THE_PROJECT = {"s3_bucket", "s3_region", *(f"callback{error}_{end}" for error in ("", "_error") for end in ENDS)}
"""Fields whose values depend on the settings of the project."""
WITHOUT_INPUT = ("health", "ready")
schemathesis.openapi.format("uri", st.sampled_from(["https://93.184.215.14/a", "http://a.example:80/?b=c"]))
schemathesis.openapi.format("cursor", st.just(""))


def about_one_request(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the fields of the project, and without the header by which requests depend on each other."""
    job = document["components"]["schemas"]["NewJob"]
    job["properties"] = {name: value for name, value in job["properties"].items() if name not in OF_THE_PROJECT}
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["parameters"] = [each for each in operation["parameters"] if each["in"] != "header"]
    return document


@pytest.fixture
def project(settings: Any) -> Any:
    """The settings of the project, beside those of Hypothesis."""
    return settings


@contextmanager
def in_one_transaction() -> Iterator[None]:
    """Requests are in the transaction of the test: none closes its connection. Django's client connects the signals."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_keeps_its_description(api: Client, project: Any, name: str, mode: GenerationMode) -> None:
    if mode is GenerationMode.NEGATIVE and name in WITHOUT_INPUT:
        return
    project.QUEUEOPS = project.QUEUEOPS | {"JOBS": {"API_BODY_LIMIT": 2_000_000}}
    schema = schemathesis.openapi.from_dict(about_one_request(api.get("/api/v1/openapi.json").json()))
    schema.app = get_wsgi_application()
    operation = schema.find_operation_by_id(name)
    headers = {"Authorization": f"Bearer {api.secrets['shop']}"}  # type: ignore[attr-defined]

    @bounds(
        max_examples=10,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        wrong_tokens.forget()
        case.call_and_validate(headers=headers)

    with in_one_transaction():
        ask()


def test_an_empty_url_is_described_as_it_is_taken(api: Client) -> None:
    document = api.get("/api/v1/openapi.json").json()
    described = Draft202012Validator(document | {"$ref": "#/components/schemas/NewJob"})
    for job, taken in (({"aggr_id": "a", "handler": "work", "url": ""}, True), ({"aggr_id": "a", "url": ""}, False)):
        assert described.is_valid(job) is taken
        assert (post(api, job)[0] == 201) is taken
