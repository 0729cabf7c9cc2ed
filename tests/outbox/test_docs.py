"""The code of the page `docs/outbox.md` does what it says."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from queueops.contrib.once.models import DoneTask
from queueops.contrib.outbox.models import OutboxRow
from queueops.tasks import registry
from queueops.testing import run_worker
from tests.repository.examples import executed


@pytest.mark.django_db(transaction=True)
def test_a_sign_up_pushes_with_its_transaction_and_a_grant_has_its_effects_once(
    app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_handlers", dict(registry._handlers))
    monkeypatch.setattr(registry, "_places", dict(registry._places))
    names = executed("outbox.md", without="INSTALLED_APPS")
    with transaction.atomic():
        lost = names["sign_up"]("grace")
        transaction.set_rollback(True)
    handle = names["sign_up"]("ada")
    assert (lost.status(), handle.state) == (None, "pending")
    user = names["get_user_model"]().objects.get()
    for _ in range(2):
        granted = names["grant"].using(id="grant-1").push(user.pk, "readers")
        run_worker()
        assert granted.result(timeout=0) == Group.objects.get(name="readers").pk
    assert handle.result(timeout=0) == "ada"
    assert (DoneTask.objects.count(), OutboxRow.objects.count()) == (1, 0)
