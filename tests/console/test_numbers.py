"""Numbers: one form on all pages, in sentences of the engine as in tables."""

from __future__ import annotations

import re

from django.test import Client

from queueops.redis.broker import get_broker
from tests.kernel.desk import Desk

MANY = 1_234
OTHER_FORMS = re.compile(r">\s*1234\b|\b1[\u202f\u00a0 ]234\b")


def test_a_number_has_the_same_separators_in_alarms_and_tables(namespace: str, administrator: Client) -> None:
    desk = Desk(get_broker())
    desk.push(*(f"task-{number}" for number in range(MANY)), lane="slow")
    desk.broker.draw("default", "watchdog", 60_000)
    for page in (
        "",
        "_status",
        "lanes/",
        "lanes/_rows",
        "lanes/default/slow/",
        "pools/default/",
        "tasks/",
        "tasks/_rows",
    ):
        text = administrator.get(f"/ops/{page}").content.decode()
        assert "1,234" in text, page
        assert OTHER_FORMS.findall(text) == [], page
    page = administrator.get("/ops/")
    told = [alarm.text for alarm in page.context["snapshot"].alarms if "1,234" in alarm.text]
    assert told
    assert all(text in page.content.decode() for text in told)
