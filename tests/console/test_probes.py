"""The probes: what a load balancer or Kubernetes asks, without a login."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse


def test_the_process_is_alive_without_database_and_store(client: Client, settings: Any) -> None:
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}
    response = client.get(reverse("console:healthz"))  # the test has no database
    assert (response.status_code, response.content) == (200, b"ok\n")


def test_the_process_is_ready_while_the_store_answers(client: Client, namespace: str) -> None:
    response = client.get(reverse("console:readyz"))
    assert (response.status_code, response.content) == (200, b"ok\n")


def test_the_process_is_not_ready_without_the_store_and_tells_no_name(
    client: Client, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.QUEUEOPS = {"URL": "redis://127.0.0.1:1"}
    response = client.get(reverse("console:readyz"))
    assert (response.status_code, response.content) == (503, b"the store does not answer\n")
    assert "The store does not answer a probe" in caplog.text
