"""Jobs in eager mode run within their submission, so that a test of a project needs no store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queueops import TaskFailed, jobs
from queueops.errors import UnknownTask
from queueops.errors.jobs import FingerprintDiffers
from queueops.jobs import Job
from queueops.testing import eager
from tests.jobs.conftest import Register


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    with eager():
        yield


def test_a_job_runs_within_its_submission(handler: Register) -> None:
    handler(lambda job: {"url": job.url, "width": job.options["width"]})
    pushed = jobs.submit(aggregation="shop", handler="work", url="https://a.example", options={"width": 3}, rate=1)
    assert pushed.result() == {"url": "https://a.example", "width": 3}


def test_no_callback_is_sent(handler: Register) -> None:
    seen: list[Job] = []
    handler(lambda job: seen.append(job))
    pushed = jobs.submit(aggregation="shop", handler="work", callback_url="https://shop.example/done")
    assert (pushed.state, len(seen)) == ("succeeded", 1)


def test_a_job_that_fails_has_its_attempts(handler: Register) -> None:
    seen: list[int] = []

    def work(job: Job) -> None:
        seen.append(job.attempt)
        raise OSError("no")

    handler(work)
    with pytest.raises(TaskFailed, match="no"):
        jobs.submit(aggregation="shop", handler="work", retries=1).result()
    assert seen == [1, 2]


def test_an_id_creates_one_job(handler: Register) -> None:
    seen: list[Job] = []
    handler(lambda job: seen.append(job))
    words = [jobs.submit(aggregation="shop", handler="work", id="a", fingerprint="1").word for _ in range(2)]
    assert (words, len(seen)) == (["OK", "EXISTS"], 1)
    with pytest.raises(FingerprintDiffers):
        jobs.submit(aggregation="shop", handler="work", id="a", fingerprint="2")


def test_a_handler_without_code_is_refused(handler: Register) -> None:
    handler(lambda job: None)
    with pytest.raises(UnknownTask, match="did you mean 'work'"):
        jobs.submit(aggregation="shop", handler="wrok")


def test_a_download_fails_with_what_to_use(namespace: str) -> None:
    with pytest.raises(TaskFailed, match=r"A download does not work in eager\(\) .* Use namespace\(\)"):
        jobs.submit(aggregation="shop", url="https://93.184.215.14/a.jpg", retries=0).result()
