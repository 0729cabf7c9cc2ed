"""Task page: the state in one word, a line or a diagram of its states; the tab Raw has what is rarely needed."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from console.diagram.strip import Part
from console.pages.task import _returns
from queueops import current, task
from queueops.testing import run_worker

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("namespace")]


@task()
def measure() -> None:
    current().progress(1, 1)


def shown(client: Client, id: str, tab: str = "") -> str:
    return client.get(f"/ops/tasks/{id}/{tab}").content.decode()


def test_a_task_that_ran_once_has_a_line_of_states_and_no_full_bar(administrator: Client) -> None:
    handle = measure.push()
    run_worker()
    page = shown(administrator, handle.id)
    line = re.search(r'<ol class="stays">.*?</ol>', page, re.DOTALL)
    assert line is not None
    assert re.findall(r"</svg>(\w+)</span>", line[0]) == ["pending", "running", "succeeded"]
    assert 'title="locked: a worker runs it"' in line[0]
    assert 'class="machine' not in page
    assert "<progress" not in page
    assert "<progress" not in administrator.get("/ops/tasks/").content.decode()
    assert re.search(r'<a href="/ops/workers/[^"]+"><code>', page)
    assert [word in page for word in ("Fence", "Generation")] == [False, False]
    assert [word in shown(administrator, handle.id, "raw/") for word in ("Fence", "Generation")] == [True, True]


def test_states_are_a_diagram_if_one_of_them_came_twice() -> None:
    def of(*states: str) -> list[Part]:
        return [Part(state, 0.0, 1.0, 1, "") for state in states]

    assert not _returns(of("pending", "locked", "succeeded"))
    assert _returns(of("pending", "locked", "restart", "locked", "failed"))
    assert _returns(of("waiting", "pending", "mapping", "aggregating", "succeeded"))
