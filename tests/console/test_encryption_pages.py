"""Pages over an encrypted store: with the key as without encryption, and without it without an error."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import Client

from console.kinds.mapreduce.forms import ChunkForm
from queueops.kinds.workflows.kept_runs import kept_runs
from tests.console.test_secrets import TASKS, VALUE, pages
from tests.console.test_secrets import known as known
from tests.console.test_secrets import worked as worked
from tests.redis.test_encryption import encrypted as encrypted

pytestmark = pytest.mark.django_db
SHOWN = (
    "tasks/fails/",
    "tasks/fails/log/",
    "tasks/quits/",
    "tasks/succeeds/",
    "tasks/flow/run/",
    "mapreduce/counts/1/",
)


def test_pages_decrypt_for_those_who_may_see_arguments_and_say_so_without_a_key(
    encrypted: Any, request: pytest.FixtureRequest, operator: Client, viewer: Client
) -> None:
    request.getfixturevalue("worked")
    for path in (*SHOWN, "errors/", "mapreduce/counts/"):
        assert VALUE in operator.get(f"/ops/{path}").content.decode(), path
        assert VALUE not in viewer.get(f"/ops/{path}").content.decode(), path
    encrypted(Fernet.generate_key().decode())
    kept_runs.clear()
    form = operator.get("/ops/mapreduce/counts/1/edit/").context["form"]
    assert not ChunkForm({"data": form["data"].initial}).is_valid()
    shown = dict(pages(operator, 422))  # a backfill of what cannot be read
    shown |= {
        f"{id} {page}": operator.get(f"/ops/tasks/{id}/{page}/").content.decode()
        for id in TASKS
        for page in ("raw", "edit")
    }
    assert [path for path, page in shown.items() if "qe1:" in page or "u0071" in page] == []
    assert VALUE not in shown["tasks/succeeds/"] + shown["mapreduce/counts/1/"] + shown["tasks/fails/"]
    encrypted()
    for path in (*SHOWN, "errors/", "schedules/nightly/", "mapreduce/counts/", "tasks/handed/delivery/"):
        page = operator.get(f"/ops/{path}")
        assert page.status_code == 200, path
        assert "gAAAA" not in page.content.decode(), path
