"""Rows of the outbox with encryption: nothing in clear, rotated, and kept while their key is missing."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection, transaction
from django.utils import timezone

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


def test_a_row_that_changes_while_its_table_is_rotated_is_left_to_the_next_walk(app: Any, settings: Any) -> None:
    OutboxRow.objects.create(name="n", body='{"a":1}', created=timezone.now())
    settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": [Fernet.generate_key().decode()]}
    bodies = ['{"b":2}']

    def change_first(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE") and bodies:
            OutboxRow.objects.update(body=bodies.pop())
        return execute(sql, *rest)

    with connection.execute_wrapper(change_first):
        (count,) = control.reencrypt_tables()
    assert (count["clear"], count["changed"], OutboxRow.objects.get().body) == (1, 0, '{"b":2}')
