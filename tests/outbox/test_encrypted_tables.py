"""Rotation of the tables on each database: its JSON comes back as another text on each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connections
from django.db.models import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from console.models import AuditEntry
from queueops import control
from queueops.contrib.once.models import DoneTask
from queueops.contrib.outbox.models import OutboxRow
from tests.outbox.conftest import BOX, box

VALUES = {"args": 'Secret "quoted" \\ é\n', "more": [1, {"b": None, "a": 2.5}]}


@pytest.mark.parametrize("vendor", ["postgresql", "mysql"])
def test_rotation_reads_the_tables_of_each_database(
    vendor: str, app: Any, settings: Any, tmp_path: Path, django_db_blocker: Any
) -> None:
    old, new = (Fernet.generate_key().decode() for _ in range(2))

    def use(*keys: str | None) -> None:
        settings.QUEUEOPS = settings.QUEUEOPS | {"ENCRYPTION": list(keys)}

    def write() -> None:
        audit.create(verb="edit", target="t", before=VALUES)

    with django_db_blocker.unblock(), box(vendor, tmp_path):
        with connections[BOX].schema_editor() as editor:
            for model in (ContentType, Permission, Group, User, AuditEntry, DoneTask):
                editor.create_model(model)
        audit = AuditEntry._base_manager.using(BOX)
        use()
        write()
        OutboxRow.objects.using(BOX).create(name="n", body='{"a":1}', created=timezone.now())
        DoneTask.objects.using(BOX).create(key="k", result="[1]", done=timezone.now())
        use(old)
        write()
        use(new, old)
        counts = list(control.reencrypt_tables())
        told = sum(counts, start=type(counts[0])())
        assert (told["old"], told["clear"], told["changed"]) == (1, 3, 4)
        stored = audit.annotate(text=Cast("before", TextField())).values_list("text", flat=True)
        assert not [text for text in stored if "Secret" in text]
        use(new)
        assert [each.before for each in audit.all()] == [VALUES] * 2
        counts = list(control.reencrypt_tables())
        told = sum(counts, start=type(counts[0])())
        assert (told["current"], told["changed"]) == (4, 0)
        use(None, new)
        assert [each.before for each in audit.all()] == [VALUES] * 2
        counts = list(control.reencrypt_tables())
        told = sum(counts, start=type(counts[0])())
        assert (told["old"], told["clear"], told["changed"]) == (4, 0, 4)
        use()
        assert [each.before for each in audit.all()] == [VALUES] * 2
        assert OutboxRow.objects.using(BOX).get().body == '{"a":1}'
        assert DoneTask.objects.using(BOX).get().result == "[1]"
