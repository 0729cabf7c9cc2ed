"""The console's fixtures: a stand-in for the engine, a user of each group, and the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from queueops.redis.broker import get_broker
from tests.console.browsing import Open, browsing, serving
from tests.console.permission_table import GROUPS
from tests.console.standin import World
from tests.support.chunkwork import ChunkWork


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A small system in the engine's place."""
    made = World()
    made.install(monkeypatch)
    return made


@pytest.fixture
def work(namespace: str) -> ChunkWork:
    """30 chunks: 2 failed, 1 backs off, 2 run, 15 are done."""
    made = ChunkWork(get_broker(), xr=3)
    made.map([{"path": f"{number}.txt", "token": "hunter2"} for number in range(30)])
    claimed = made.claim(20)
    made.fail(claimed[:2])
    made.fail(claimed[2:3], delay_ms=3_600_000)
    made.done(claimed[5:])
    return made


@pytest.fixture(autouse=True)
def unshared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each live update reads the store: a test changes it and looks in the same second."""
    for page in ("overview", "tasks", "history"):
        monkeypatch.setattr(f"console.pages.{page}.READING_AGE_S", 0.0)


@pytest.fixture(autouse=True)
def collected(settings: Any) -> None:
    """WhiteNoise warns of a directory of static files that is not there."""
    Path(settings.STATIC_ROOT).mkdir(exist_ok=True)


class Visitors:
    """Makes browsers in which a member of a group is logged in; without a group, a user without permissions."""

    def __init__(self) -> None:
        self._cookies: dict[str, dict[str, Any]] = {}

    def __call__(self, group: str = "", **options: Any) -> Client:
        client = Client(**options)
        if group in self._cookies:
            client.cookies.update(self._cookies[group])
            return client
        user, _ = User.objects.get_or_create(username=group or "nobody")
        user.groups.set(Group.objects.filter(name=group))
        client.force_login(user)
        return client

    def stay_logged_in(self) -> None:
        """Log in once for many browsers: for a test that takes back what it did after each of them."""
        for group in () if self._cookies else ("", *GROUPS):
            self._cookies[group] = self(group).cookies


@pytest.fixture
def client_of(db: None) -> Visitors:
    """A browser of a member of any group."""
    return Visitors()


@pytest.fixture
def viewer(client_of: Callable[..., Client]) -> Client:
    """May look, and not at arguments."""
    return client_of("viewers")


@pytest.fixture
def operator(client_of: Callable[..., Client]) -> Client:
    """May act on tasks."""
    return client_of("operators")


@pytest.fixture
def administrator(client_of: Callable[..., Client]) -> Client:
    """May everything."""
    return client_of("administrators")


@pytest.fixture
def site(db: None, world: World) -> Iterator[str]:
    """The console, served."""
    with serving() as url:
        yield url


@pytest.fixture
def open_page(site: str) -> Iterator[Open]:
    """Opens pages of the console in a real browser."""
    with browsing(site) as opened:
        yield opened
