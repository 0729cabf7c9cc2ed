"""The doctor in a project whose console has a database of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from tests.commands.test_doctor import Told


class ToOps:
    """Sends the console's tables to a database of their own."""

    def db_for_write(self, model: Any, **_: Any) -> str | None:
        return "ops" if model._meta.app_label == "queueops_console" else None

    db_for_read = db_for_write


@pytest.mark.usefixtures("namespace")
def test_a_database_of_its_own_needs_no_table_of_other_apps_and_one_that_is_away_is_told(
    settings: Any, tmp_path: Path, django_db_blocker: Any
) -> None:
    path = tmp_path / "ops.sqlite3"
    own = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}
    settings.DATABASE_ROUTERS = [ToOps()]
    with django_db_blocker.unblock():
        connections.settings["ops"] = connections.settings["default"] | own
        try:
            call_command("migrate", "queueops_console", database="ops", verbosity=0)
            assert [each for each in Told().findings if "'ops'" in each["seen"]] == []
            connections["ops"].close()
            path.unlink()
            path.mkdir()
            remedy = "Start it, or correct DATABASES in the settings."
            assert Told().of("database", "does not answer") == ("fail", remedy)
        finally:
            connections["ops"].close()
            del connections["ops"], connections.settings["ops"]
