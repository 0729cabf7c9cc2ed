"""What a job may not reach or store is refused by the worker, and the reason stands on the job."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from queueops import inspect, jobs
from queueops.errors.job_network import AddressRefused, HeaderRefused
from queueops.kinds.jobs.http.net_guard import public_addresses
from queueops.kinds.jobs.settings import of_jobs
from queueops.testing import run_worker
from tests.jobs.conftest import Names
from tests.jobs.servers import Exchange, LocalServer, serving
from tests.jobs.test_download import bomb, dripping

GB10 = 10 * 1024**3


def redirect(to: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(302, b"", Location=to)


def endless(exchange: Exchange) -> None:
    """A body without a declared length that does not end."""
    exchange.send_response(200)
    exchange.send_header("Connection", "close")
    exchange.end_headers()
    while not exchange.local.over.is_set():
        exchange.wfile.write(b"x" * 65_536)


def declared(exchange: Exchange) -> None:
    """A body of 10 GB, as its header says."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", str(GB10))
    exchange.end_headers()


@pytest.fixture
def source(namespace: str, settings: Any, tmp_path: Path) -> Iterator[LocalServer]:
    """A server at 127.0.0.1 alone may be reached, under any name: each other address is refused."""
    own = {
        "PRIVATE_NETWORKS": ["127.0.0.1/32"],
        "PORTS": None,
        "MAX_SIZE": 1_000_000,
        "PARTIAL_DIRECTORY": str(tmp_path / "partial"),
    }
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
    settings.MEDIA_ROOT = str(tmp_path / "media")
    with serving({}) as server:
        yield server


def told(job: Any) -> tuple[str, str]:
    """The state of a job after all its attempts, and its error."""
    run_worker()
    found = inspect.task(job.id)
    assert found.error is not None
    return found.state, found.error.message


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        (
            redirect("http://127.0.0.2/"),
            "(refused). The url http://127.0.0.2/ is refused: 127.0.0.2 is loopback, and not",
        ),
        (redirect("http://169.254.169.254/x"), "(refused). The url http://169.254.169.254/x is refused: 169.254"),
        (redirect("http://2130706434/"), "a number that may stand for another address"),
        (redirect("http://[::ffff:127.0.0.2]/"), "is loopback"),
        (redirect("file:///etc/passwd"), "it must begin with http:// or https://"),
        (declared, "(size). The file is larger than 1,000,000 bytes."),
        (endless, "(size). The file is larger than 1,000,000 bytes."),
        (lambda exchange: exchange.answer(200, bomb(), Content_Encoding="gzip"), "(size). The file is larger than"),
        (
            lambda exchange: exchange.answer(200, gzip.compress(bomb()), Content_Encoding="gzip, gzip"),
            "(encoding). The encoding 'gzip, gzip' of the body is not supported.",
        ),
    ],
    ids=[
        *("redirect to loopback", "redirect to metadata", "redirect to a number", "redirect to v6-mapped"),
        *("redirect to a file", "10 GB declared", "endless", "gzip bomb", "gzip bomb within gzip"),
    ],
)
def test_an_answer_that_is_refused_ends_the_job_with_the_reason(
    source: LocalServer, tmp_path: Path, route: Callable[[Exchange], None], reason: str
) -> None:
    source.routes["/file"] = route
    job = jobs.submit(aggregation="a", url=source.url("/file"))
    state, error = told(job)
    assert state == "failed"
    assert reason in error
    assert not (tmp_path / "media").exists()
    assert len(source.asked) == 1
    assert reason in inspect.jobs(state="failed").rows[0].error


def test_a_body_that_drips_for_ever_ends_each_attempt_with_the_reason(source: LocalServer) -> None:
    source.routes["/file"] = dripping
    job = jobs.submit(aggregation="a", url=source.url("/file"), options={"download_timeout": 0.5}, retries=0)
    state, error = told(job)
    assert (state, error) == ("failed", "The download failed (timeout). It took longer than 0.5 s.")


def test_a_name_that_leads_within_after_the_job_was_handed_in_is_refused(source: LocalServer, names: Names) -> None:
    names("rebinding.example", "8.8.8.8", "10.0.0.9")
    assert public_addresses("rebinding.example", 80, "url", of_jobs())  # the first look-up: a public address
    state, error = told(jobs.submit(aggregation="a", url=f"http://rebinding.example:{source.port}/file"))
    assert (state, "10.0.0.9" in error, "is private" in error) == ("failed", True, True)
    assert source.asked == []


@pytest.mark.parametrize("address", ["10.0.0.9", "::ffff:10.0.0.9", "64:ff9b::a00:9", "8.8.8.8 192.168.0.1"])
def test_a_name_with_an_address_that_is_not_public_is_refused(source: LocalServer, names: Names, address: str) -> None:
    names("within.example", address)
    state, error = told(jobs.submit(aggregation="a", url=f"http://within.example:{source.port}/file"))
    assert (state, "(refused)" in error) == ("failed", True)
    assert source.asked == []


@pytest.mark.parametrize(
    ("given", "error", "reason"),
    [
        ({"url": "http://2130706433/"}, AddressRefused, "a number that may stand for another address"),
        ({"url": "http://[::ffff:10.0.0.1]/"}, AddressRefused, "is private"),
        ({"url": "http://93.184.215.14/\r\nHost: x"}, AddressRefused, "a control character"),
        ({"options": {"request_headers": {"X": "a\r\nHost: b"}}}, HeaderRefused, "a line break"),
        (
            {"options": {"request_headers": {"X\r\nY": "a"}}},
            HeaderRefused,
            "characters that a name of a header cannot have",
        ),
        ({"options": {"proxy": "http://10.0.0.1:3128"}}, AddressRefused, "10.0.0.1 is private"),
    ],
)
def test_what_is_wrong_in_itself_is_refused_when_the_job_is_handed_in(
    source: LocalServer, given: dict[str, Any], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error) as refused:
        jobs.submit(aggregation="a", **({"url": "http://93.184.215.14/"} | given))
    assert reason in str(refused.value)
    assert inspect.aggregations().rows == ()
