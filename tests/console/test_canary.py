"""A retry of many: ten of them first, whose ends are seen before the others are retried."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from queueops.model.contracts import Outcome
from tests.console.test_mass import desk, fail, states  # noqa: F401
from tests.kernel.desk import Desk

pytestmark = pytest.mark.django_db
ADDRESS = "/ops/tasks/_all_retry?error=f1"


def test_ten_are_retried_first_and_their_ends_are_seen_before_the_rest(desk: Desk, operator: Client) -> None:  # noqa: F811
    ids = [f"t{number}" for number in range(12)]
    fail(desk, *ids)
    question = operator.post(ADDRESS).content.decode()
    assert "Retry 10 first, and see how they end" in question
    answer = operator.post(ADDRESS, {"confirmed": ["12", "10"]})
    address = answer.headers["Location"]
    assert address.startswith("/ops/audit/")
    left = {id for id, state in zip(ids, states(*ids), strict=True) if state == "failed"}
    assert (len(left), states(*ids).count("pending")) == (2, 10)
    for lease, outcome in zip(desk.claim(10), [Outcome.SUCCESS] * 9 + [Outcome.ERROR], strict=True):
        desk.settle(lease, outcome, b"{}", delay_ms=-1)
    page = operator.get(address).content.decode()
    assert "data-live" in page
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert len(re.findall("succeeded", rows)) >= 9
    (rest,) = re.findall(r'href="([^"]+)">See what still matches', page)
    assert set(re.findall(r"/ops/tasks/(t\d+)/", operator.get(html.unescape(rest)).content.decode())) == left
    operator.post(ADDRESS, {"confirmed": "2"})
    assert states(*ids).count("failed") == 1


def test_a_few_are_retried_at_once(desk: Desk, operator: Client) -> None:  # noqa: F811
    fail(desk, "a", "b")
    assert "first, and see" not in operator.post(ADDRESS).content.decode()
