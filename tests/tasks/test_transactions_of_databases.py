"""A push within the transactions of several databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction

from tests.support import tasks_for_tests as tasks

NAMES = ("first", "second")


@pytest.fixture
def databases(tmp_path: Path, django_db_blocker: Any) -> Iterator[None]:
    """Two databases of the project."""
    with django_db_blocker.unblock():
        for name in NAMES:
            connections.databases[name] = connections.databases["default"] | {"NAME": str(tmp_path / name)}
        yield
        for name in NAMES:
            connections[name].close()
            del connections[name]
            del connections.databases[name]


@pytest.mark.usefixtures("namespace", "databases")
@pytest.mark.parametrize(("outer", "inner"), [NAMES, NAMES[::-1]])
def test_a_push_waits_for_the_commits_of_all_of_them(settings: Any, outer: str, inner: str) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "on_commit"}
    with transaction.atomic(using=outer):
        with transaction.atomic(using=inner):
            handle = tasks.add.push(1)
        assert handle.status() is None
    assert handle.state == "pending"


@pytest.mark.usefixtures("namespace", "databases")
@pytest.mark.parametrize("failing", NAMES)
def test_a_rollback_of_any_of_them_is_the_end_of_a_push(settings: Any, failing: str) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "on_commit"}
    with transaction.atomic(using="first"), transaction.atomic(using="second"):
        handle = tasks.add.push(1)
        transaction.set_rollback(True, using=failing)
    assert handle.status() is None


@pytest.mark.usefixtures("namespace", "databases")
def test_a_push_on_commit_waits_for_them_too(settings: Any) -> None:
    settings.QUEUEOPS = settings.QUEUEOPS | {"TRANSACTIONS": "on_commit"}
    with transaction.atomic(using="first"):
        handle = tasks.add.push(1)
        assert handle.status() is None
    assert handle.state == "pending"
