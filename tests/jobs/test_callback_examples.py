"""The example receiver of `docs/jobs.md` verifies what a worker sends with the settings of that page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from queueops import inspect, jobs
from queueops.testing import run_worker
from tests.jobs.conftest import Register
from tests.jobs.servers import serving

PAGE = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def example(word: str) -> dict[str, Any]:
    """What the example with this word defines."""
    (text,) = (block for block in BLOCKS if word in block)
    names: dict[str, Any] = {}
    exec(compile(text, "jobs.md", "exec"), names)
    return names


def test_the_example_receiver_verifies_a_callback(
    handler: Register, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    written = example("CALLBACK_SECRET = ")
    settings.CALLBACK_SECRET, given = written["CALLBACK_SECRET"], written["QUEUEOPS"]["JOBS"]
    view = example("def job_ended")["job_ended"]
    handler(lambda job: {"width": 300})
    with serving({"/done": lambda exchange: exchange.answer(204)}) as server:
        own = given | {"PORTS": [*given["PORTS"][:2], server.port]}  # 8000 may be in use
        settings.QUEUEOPS = settings.QUEUEOPS | {"JOBS": own}
        job = jobs.submit(aggregation="shop", handler="work", callback_url=server.url("/done"))
        run_worker()
        (asked,) = server.asked
    assert [row.state for row in inspect.callbacks().rows] == ["succeeded"]

    def answered(body: bytes) -> HttpResponse:
        headers = {name: value for name, value in asked.headers.items() if name.lower().startswith("webhook-")}
        return view(RequestFactory().post("/done", body, content_type="application/json", headers=headers))

    assert answered(asked.body).status_code == 204
    assert capsys.readouterr().out == f"{asked.headers['webhook-id']} {job.id} True {{'width': 300}}\n"
    assert answered(asked.body + b" ").status_code == 401
