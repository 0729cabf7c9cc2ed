"""The README and the guides of `docs/guides/`: their code does what they say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core import mail
from django.test import RequestFactory

from queueops import inspect
from queueops.testing import WorkflowEnvironment, eager, run_worker
from tests.jobs.servers import LocalServer, serving
from tests.repository.examples import executed
from tests.support.mail import use_mail
from tests.support.topology import free_ports

pytestmark = pytest.mark.usefixtures("own_tasks", "store", "queueops")


@pytest.fixture
def receiver() -> Iterator[LocalServer]:
    """The other system: it takes each request."""
    take = lambda exchange: exchange.answer(204)  # noqa: E731
    with serving({"/render": take, "/done": take}) as server:
        yield server


def test_the_first_lines_of_the_readme_do_what_they_say() -> None:
    with eager():
        names = executed("../README.md", without="urlpatterns")
    assert names["handle"].id == "welcome:42"


@pytest.mark.django_db(transaction=True)
def test_a_mail_waits_for_its_server_and_goes_out_once(settings: Any) -> None:
    names = executed("guides/mail.md")
    use_mail(settings, "smtp", port=free_ports(1)[0])
    handle = names["sign_up"]("ada", "ada@example.com")
    assert handle.id == names["send_welcome"].push(names["get_user_model"]().objects.get().pk).id
    run_worker()
    assert handle.state == "restart"
    use_mail(settings, "locmem")
    handle.run_now()
    run_worker()
    assert handle.state == "succeeded"
    assert [(sent.subject, sent.to) for sent in mail.outbox] == [("Welcome", ["ada@example.com"])]


@pytest.mark.django_db
def test_an_import_writes_each_row_once(tmp_path: Path) -> None:
    file = tmp_path / "users.csv"
    rows = [f"user{number},user{number}@example.com" for number in range(2500)]
    file.write_text("\n".join(["username,email", *rows]))
    names = executed("guides/import.md", without="ImportUsers.push")
    for _ in range(2):
        handle = names["ImportUsers"].push(str(file))
        run_worker()
        assert handle.result(timeout=0) == {"rows": 2500, "bad parts": 0}
    assert handle.status().chunks["done"] == 3
    assert names["get_user_model"]().objects.count() == 2500


def test_a_process_of_days_is_reminded_paid_and_undone() -> None:
    names = executed("guides/days.md", without="start_on_commit")
    tests = [name for name in names if name.startswith("test_")]
    assert len(tests) == 3
    for name in tests:
        names[name]()
    run = names["trial"].start("ada")
    run_worker()
    names["trial"].handle("trial:ada").signal("paid", "yearly")
    run_worker()
    assert run.result(timeout=0) == "yearly"


def test_a_run_asks_another_system_and_is_called_back(settings: Any, receiver: LocalServer) -> None:
    settings.OWN_URL, settings.RENDER_URL, settings.RENDER_TOKEN = "https://own", receiver.url("/render"), "secret"
    names = executed("guides/callbacks.md")
    run = names["video"].start("7")
    run_worker()
    asked = json.loads(receiver.asked[0].body)
    assert asked == {"id": "7", "reply_to": "https://own/videos/7/done"}

    def called_back(token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        told = RequestFactory().post("/", '{"url": "a.mp4"}', content_type="application/json", headers=headers)
        return names["video_done"](told, "7").status_code

    assert called_back("wrong") == 401
    assert called_back("secret") == 204
    run_worker()
    assert run.result(timeout=0) == "a.mp4"
    assert called_back("secret") == 410


def test_a_request_that_is_refused_is_sent_again() -> None:
    names = executed("guides/callbacks.md")
    env, tries = WorkflowEnvironment(), iter([httpx.ConnectError("refused"), None])

    def once_refused(number: str) -> None:
        if error := next(tries):
            raise error

    env.mock(names["request_video"], once_refused)
    run = env.start(names["video"], "7")
    run.signal("rendered", "a.mp4")
    assert run.result() == "a.mp4"


def test_a_job_of_another_system_calls_it_back(settings: Any, receiver: LocalServer) -> None:
    names = executed("guides/callbacks.md")
    written = names["QUEUEOPS"]["JOBS"]
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": written | {"PRIVATE_NETWORKS": ["127.0.0.0/8"], "PORTS": None}}
    job = names["order_thumbnail"]("https://example.com/a.jpg", receiver.url("/done"))
    run_worker()
    assert [row.state for row in inspect.callbacks().rows] == ["succeeded"]
    (asked,) = receiver.asked
    body = json.loads(asked.body)
    assert (body["success"], body["job_id"], body["error"]) == (True, job.id, "")
    assert body["result"] == {"url": "https://example.com/a.jpg", "width": 300}
    assert asked.headers["webhook-signature"]
