"""Errored chunks are postponed in the console."""

from __future__ import annotations

import pytest
from django.test import Client

from console.models import AuditEntry, Outcome
from queueops import inspect
from tests.console.test_mapreduce import PAGE, entry, html
from tests.support.chunkwork import ChunkWork

pytestmark = pytest.mark.django_db


def due(number: int) -> int:
    found = inspect.chunk("count", number)
    assert found is not None
    assert found.due_ms is not None
    return found.due_ms


def test_errored_chunks_are_postponed_from_the_list_and_from_their_own_page(work: ChunkWork, operator: Client) -> None:
    (number,) = (row.number for row in inspect.chunks("count", state="errored").rows)
    page = html(operator, f"{PAGE}?state=errored")
    assert f'formaction="{PAGE}_postpone"' in page
    assert '<select class="form-select form-select-sm" name="delay"' in page
    assert f'formaction="{PAGE}_postpone"' not in html(operator, f"{PAGE}?state=failed")
    assert f'action="{PAGE}_postpone"' in html(operator, f"{PAGE}{number}/")
    before = due(number)
    answer = operator.post(f"{PAGE}_postpone", {"chunk": str(number), "delay": "86400", "next": PAGE}, follow=True)
    assert "Postpone: 1 chunk." in answer.content.decode()
    assert due(number) > before + 80_000_000
    assert (entry().verb, entry().changed, entry().after["seconds"]) == ("postpone_chunks", 1, "86400.0")
    assert "Postpone chunks" in html(operator, "/ops/tasks/count/audit/")


def test_many_chunks_are_postponed_once_that_is_confirmed(work: ChunkWork, operator: Client) -> None:
    form = {"chunk": [str(number) for number in range(30)], "delay": "3600", "next": PAGE}
    asked = operator.post(f"{PAGE}_postpone", form)
    assert asked.status_code == 200
    assert '<input type="hidden" name="delay" value="3600">' in asked.content.decode()
    assert not AuditEntry.objects.exists()
    operator.post(f"{PAGE}_postpone", form | {"confirmed": "30"})
    assert (entry().outcome, entry().changed) == (Outcome.PARTLY, 1)


@pytest.mark.parametrize("delay", [{}, {"delay": "soon"}, {"delay": "7"}, {"until": "2001-01-01T00:00"}])
def test_a_postpone_that_does_not_say_for_how_long_is_refused(
    delay: dict[str, str], work: ChunkWork, operator: Client
) -> None:
    assert operator.post(f"{PAGE}_postpone", {"chunk": "1"} | delay).status_code == 400
    assert not AuditEntry.objects.exists()
