"""Two valid tokens never have one name, on MySQL too, which has no constraints with a condition."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections

from queueops.errors import BadOption
from queueops.kinds.jobs.api_tokens import api_tokens, create_api_token, revoke_api_token
from tests.support import mysql, postgresql

DATABASE, APP, BOTH = "trial", "queueops_jobs_api", 2


class ToTrial:
    """Routes each query of the tokens to the database of the test."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return DATABASE if model._meta.app_label == APP else None

    db_for_write = db_for_read


@pytest.fixture(params=[mysql, postgresql], ids=["mysql", "postgresql"])
def database(
    request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any
) -> Iterator[str]:
    with request.param.server() as address, django_db_blocker.unblock():
        made = connections.configure_settings({DEFAULT_DB_ALIAS: address})
        monkeypatch.setitem(connections.settings, DATABASE, made[DEFAULT_DB_ALIAS])
        settings.DATABASE_ROUTERS = [ToTrial()]
        yield request.param.__name__
        connections[DATABASE].close()
        del connections[DATABASE]


def migrate(target: str) -> None:
    call_command("migrate", APP, target, database=DATABASE, verbosity=0)


def outcome_of(turn: Barrier, name: str) -> str:
    turn.wait(60)
    try:
        return create_api_token(name, ["read"]).token.name
    except BadOption as refused:
        return type(refused).__name__
    finally:
        connections[DATABASE].close()


def insert(*names: str) -> None:
    """Rows as the first release wrote them."""
    with connections[DATABASE].cursor() as cursor:
        for number, name in enumerate(names):
            cursor.execute(
                "INSERT INTO queueops_jobs_api_apitoken (name, digest, scopes, created_at, created_by, revoked_by)"
                f" VALUES ('{name}', 'digest {number}', '[]', '2026-01-01 00:00:00', '', '')"
            )


def test_one_valid_token_has_a_name_and_tokens_from_before_stay_valid(database: str) -> None:
    migrate("0001")
    earlier = ["shop", "shop"] if database.endswith("mysql") else ["shop"]
    insert(*earlier)
    migrate("0002")
    turn = Barrier(BOTH)
    with ThreadPoolExecutor(BOTH) as pool:
        for number in range(10):
            attempts = [pool.submit(outcome_of, turn, f"n{number}") for _ in range(BOTH)]
            assert {each.result() for each in attempts} == {f"n{number}", "BadOption"}
    with pytest.raises(BadOption):
        create_api_token("shop", ["read"])
    assert [token.name for token in api_tokens() if token.name == "shop"] == earlier
    for _ in earlier:
        revoke_api_token("shop")
    create_api_token("shop", ["read"])
