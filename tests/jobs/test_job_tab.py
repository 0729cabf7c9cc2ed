"""The tab of a job shows what came of it; questions and lists tell what operators need to know."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from queueops import control, inspect, jobs
from queueops.testing import run_worker
from tests.console.conftest import administrator, client_of, collected, operator, viewer  # noqa: F401  fixtures
from tests.jobs.test_file_deletion import Files, files  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db


def test_the_tab_shows_code_size_path_and_file_of_a_download(files: Files, operator: Client, viewer: Client) -> None:  # noqa: F811
    files.set(DOWNLOAD_URL="https://files.example/jobs")
    job = files.download()
    outcome = inspect.job_story(inspect.task(job.id)).outcome
    assert (outcome.response_code, outcome.size, outcome.path) == (200, 7, files.path(job))
    page = operator.get(f"/ops/tasks/{job.id}/delivery/").content.decode()
    link = f'href="https://files.example/jobs/{outcome.path}"'
    for said in ("<dd>200</dd>", "7\u202fB", "text/plain", f">{outcome.path}</code>", link, 'aria-label="Result"'):
        assert said in page, said
    seen = viewer.get(f"/ops/tasks/{job.id}/delivery/").content.decode()
    assert "<dd>200</dd>" in seen
    assert link not in seen
    control.delete_file(outcome.path)
    run_worker()
    page = operator.get(f"/ops/tasks/{job.id}/delivery/").content.decode()
    assert link not in page
    assert "deleted" in page


def test_each_text_of_the_tab_has_a_heading(files: Files, operator: Client) -> None:  # noqa: F811
    job = files.download(callback_url=files.server.url("/told"))
    page = operator.get(f"/ops/tasks/{job.id}/delivery/").content.decode()
    assert re.findall(r'<h3>(\w+)</h3><pre class="body" tabindex="0" role="region"', page) == [
        "Result",
        "Arguments",
        "Body",
    ]
    assert page.count('<pre class="body"') == 3
    (arguments,) = re.findall(r'aria-label="Named arguments">([^<]+)<', page)
    assert json.loads(html.unescape(arguments))["url"] == files.server.url("/a.txt"), "no empty positional arguments"


def test_the_tab_shows_the_code_of_a_failure(files: Files, viewer: Client) -> None:  # noqa: F811
    job = jobs.submit(aggregation="a", url=files.server.url("/gone"))
    run_worker()
    assert "<dd>404</dd>" in viewer.get(f"/ops/tasks/{job.id}/delivery/").content.decode()


def test_the_question_before_a_delete_says_that_no_callback_is_sent(files: Files, administrator: Client) -> None:  # noqa: F811
    job = jobs.submit(aggregation="a", url=files.server.url("/a.txt"), callback_url=files.server.url("/told"))
    page = administrator.post(f"/ops/tasks/{job.id}/_discard", {"pool": "default"}).content.decode()
    assert "A job that is discarded sends no callback." in page
    page = administrator.post(f"{reverse('console:tasks-all-delete')}?kind=job").content.decode()
    assert "A job that is deleted sends no callback." in page


def test_a_viewer_sees_the_rate_of_an_aggregation(files: Files, viewer: Client) -> None:  # noqa: F811
    jobs.submit(aggregation="a", url=files.server.url("/a.txt"), limit=3, rate=2.5)
    assert "3 at once, 2.5 starts/s" in viewer.get("/ops/aggregations/").content.decode()
