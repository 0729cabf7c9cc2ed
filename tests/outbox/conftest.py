"""An outbox, and databases that have one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from queueops.contrib.outbox.database_outbox import DatabaseOutbox
from queueops.contrib.outbox.models import OutboxRow, RelayTurn
from queueops.tasks import outbox
from tests.support import mysql, postgresql

BOX = "box"
"""A database beside the default one."""


@pytest.fixture
def app(namespace: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> DatabaseOutbox:
    """The app in place, and the setting that uses it."""
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "outbox"}
    monkeypatch.setenv("QUEUEOPS_TESTS_OUTBOX", "1")
    found = DatabaseOutbox()
    monkeypatch.setattr(outbox, "_installed", found)
    return found


@contextmanager
def box(vendor: str, directory: Path) -> Iterator[None]:
    """A database of this kind with the tables of the outbox, under the name `box`."""
    servers: dict[str, Any] = {"postgresql": postgresql.server, "mysql": mysql.server}
    usual = connections.databases["default"] | {"OPTIONS": {}}
    file = connections.databases["default"] | {"NAME": str(directory / "box")}
    with servers[vendor]() if vendor in servers else nullcontext(file) as found:
        connections.databases[BOX] = usual | found
        try:
            with connections[BOX].schema_editor() as editor:
                for model in (OutboxRow, RelayTurn):
                    editor.create_model(model)
            with connections[BOX].cursor() as cursor:
                cursor.execute("CREATE TABLE truth (id VARCHAR(100))")
            yield
        finally:
            connections[BOX].close()
            del connections[BOX]
            del connections.databases[BOX]
