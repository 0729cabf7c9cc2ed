"""The conformance suite passes on the Redis store and on the example, and notices faults of a store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replace_struct

from queueops import conf
from queueops.conf import Settings
from queueops.model.contracts import LeaseRef, Push, Pushed, Settlement
from queueops.redis.broker import RedisBroker
from queueops.testing.conformance import StoreConformance
from tests.stores.sqlite_store import SqliteStore, _read


class TestRedisStore(StoreConformance):
    """The store that is used without the setting STORE."""

    @pytest.fixture
    def server(self, namespace: str) -> None:
        """The server of the tests, empty."""

    def make_store(self, settings: Settings, directory: Path) -> RedisBroker:
        """On that server."""
        return RedisBroker(replace(settings, url=conf.current().url))


class TestSqliteStore(StoreConformance):
    """The example."""

    make: type[SqliteStore] = SqliteStore

    def make_store(self, settings: Settings, directory: Path) -> SqliteStore:
        """In a file of the test's own."""
        return self.make(replace(settings, url=f"{directory}/store.sqlite"))


class Unordered(SqliteStore):
    """Claims the youngest task first."""

    def _ready(self, *of: Any) -> Any:
        return super()._ready(*of)[::-1]


class Unfenced(SqliteStore):
    """Takes the outcome of a lease that is lost."""

    def _settle(self, db: Any, pool: str, end: Settlement, now: int) -> str:
        record = _read(db, pool, end.id)
        return super()._settle(db, pool, end if record is None else replace_struct(end, fence=record.fence), now)


class HalfDone(SqliteStore):
    """Creates tasks before it refuses the push."""

    def create(self, pushes: Sequence[Push], under: LeaseRef | None) -> list[Pushed]:
        pushed = super().create(pushes[:1], None)
        return pushed + super().create(pushes[1:], under)


class Forgetful(SqliteStore):
    """Takes back the leases that a live process holds."""

    def recover(
        self, pool: str, worker: str, running: Mapping[str, Settlement], keep: Collection[tuple[str, int]] = ()
    ) -> int:
        return super().recover(pool, worker, running)


class Mixed(SqliteStore):
    """Does not look at the namespace."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(replace(settings, namespace="one"))


FAULTS = {
    "test_tasks_are_claimed_by_priority_and_then_in_the_order_of_their_pushes": Unordered,
    "test_an_outcome_is_stored_once_and_by_the_current_lease": Unfenced,
    "test_a_push_under_a_lost_lease_creates_nothing": HalfDone,
    "test_the_leases_of_a_lost_worker_are_taken_back": Forgetful,
}


def test_the_suite_notices_a_store_that_breaks_a_promise(tmp_path: Path) -> None:
    """Not ordered, not fenced, not atomic, and one that takes back too much."""
    for name, make in FAULTS.items():
        (tmp_path / make.__name__).mkdir()
        suite = TestSqliteStore()
        suite.make = make
        suite.open(tmp_path / make.__name__)
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            getattr(suite, name)()
        suite.store.close()
    suite.make = Mixed
    suite.open(tmp_path)
    with pytest.raises(AssertionError):
        suite.test_stores_of_two_namespaces_share_nothing(tmp_path)
    suite.store.close()
