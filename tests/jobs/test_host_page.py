"""The callbacks to one host: their counts, and the button that pauses the host."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from queueops import inspect, jobs
from tests.console.conftest import administrator, client_of, viewer  # noqa: F401  fixtures
from tests.jobs.conftest import LOCAL, Register
from tests.jobs.servers import LocalServer
from tests.jobs.test_callbacks import target  # noqa: F401  a fixture
from tests.jobs.test_console import submitted

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]


def test_the_page_of_a_host_counts_its_own_callbacks_and_pauses_it(
    target: LocalServer,  # noqa: F811
    handler: Register,
    administrator: Client,  # noqa: F811
    viewer: Client,  # noqa: F811
    settings: Any,
) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": LOCAL}
    handler(lambda job: None)
    jobs.submit(aggregation="shop 8", handler="work", callback_url=f"http://localhost:{target.port}/done")
    submitted(target, "/done")
    host = f"127.0.0.1:{target.port}"
    lane = inspect.destination(host).lane
    address = f"/ops/callbacks/?to={host}"
    page = viewer.get(address).content.decode()
    counts = re.findall(r"<b>(\d+)</b>", page.split('aria-label="By state"')[1].split("</nav>")[0])
    assert sum(map(int, counts)) == 1
    assert "_pause" not in page
    assert f'action="/ops/lanes/default/{lane}/_pause"' in administrator.get(address).content.decode()
    administrator.post(f"/ops/lanes/default/{lane}/_pause", {"next": address})
    assert "Resume this host" in administrator.get(address).content.decode()
