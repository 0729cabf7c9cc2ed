"""Rows of the outbox with encryption: nothing in clear, rotated, and kept while their key is missing."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import transaction

from queueops import control
from queueops.contrib.outbox.models import OutboxRow
from queueops.redis.broker import close_brokers
from queueops.testing import run_worker
from tests.support.tasks_for_tests import add

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_row_whose_key_is_missing_is_kept_with_the_reason_until_the_key_is_back(app: Any, settings: Any) -> None:
    old, new, other = (Fernet.generate_key().decode() for _ in range(3))

    def use(*keys: str | None) -> None:
        close_brokers()
        settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": list(keys)}

    use(old)
    with transaction.atomic():
        handle = add.push(4711)
        assert "4711" not in OutboxRow.objects.get().body
        use(new, old)
        (count,) = control.reencrypt_tables()
        assert (count["old"], count["changed"]) == (1, 1)
        use(other)
    app.relay()
    row = OutboxRow.objects.get()
    assert (row.dead, "lacks its key" in row.error, "4711" in row.error) == (True, True, False)
    use(new)
    control.retry_outbox([row.pk])
    use(None, new)
    assert app.relay() == 1
    run_worker()
    assert handle.result(timeout=30) == 4712
