"""An action on all that match, of very many parts: whether it can be taken back is found out from a few of them."""

from __future__ import annotations

import pytest

from console.actions import undo
from console.models import AuditEntry, Outcome

pytestmark = pytest.mark.django_db


def cancel_of(count: int, **facts: object) -> AuditEntry:
    """A cancel of so many parts, each of one task that waited for its turn: nothing brings it back."""
    common: dict[str, object] = {"actor_name": "a", "verb": "cancel", "target": "x", "outcome": Outcome.DONE}
    whole = AuditEntry.objects.create(filter={"state": "waiting"}, **common)
    row: dict[str, object] = {"before": {"default a": {"state": "waiting", "parent": "c"}}, "changed": 1}
    row["after"] = {"default a": {"word": "OK", "state": "cancelled", "detail": ""}}
    for _ in range(count):
        AuditEntry.objects.create(part_of=whole, ids=[["default", "a"]], **common | row | facts)
    return whole


@pytest.mark.parametrize(("count", "is_open"), [(19, False), (20, False), (21, True)])
def test_it_costs_no_more_with_more_of_them(count: int, is_open: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, judged, steps = cancel_of(count), [], undo.steps
    monkeypatch.setattr(undo, "steps", lambda part: judged.append(part.pk) or steps(part))
    assert undo.is_open(whole) is is_open  # of very many it may be
    assert len(judged) <= 20


@pytest.mark.parametrize("facts", [{"changed": 0}, {"outcome": Outcome.REFUSED}])
def test_parts_that_changed_nothing_are_not_read(facts: dict[str, object]) -> None:
    assert list(undo.open_parts(cancel_of(2, **facts))) == []
