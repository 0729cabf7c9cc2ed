"""Each page and each action of the console on the server of this run: no answer is an error of the store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from queueops import inspect
from tests.console.walk import MUTATIONS, PAGES, Address
from tests.support.specimens import NAME, SICK, Shelf, Specimens, specimens

pytestmark = pytest.mark.django_db
IDS = {
    "/workflows/task-1": "/workflows/r",
    "/schedules/task-1": "/schedules/hourly",
    "/mapreduce/count-1/6": "/mapreduce/m/3",
    "count-1": "m",
    "demo.task": NAME,
    "host:1": "w1",
    "/default/": f"/{SICK}/",
    "default": SICK,
    "slow": "narrow",
    "f00": "f1",
}
"""Examples of the walk, and what is there."""
CONFIRMS = {"confirmed", "typed", "reason"}
FAILED = ("retry", "rerun", "edit-save", "keep", "delete")
"""Verbs of ended tasks. The others act on one that waits."""


@pytest.fixture
def desk(namespace: str) -> Iterator[Specimens]:
    """A pool with something of everything."""
    with specimens() as desk:
        yield desk


def real(address: Address) -> tuple[str, dict[str, Any]]:
    """The path and the form of an address, of things that are there."""
    verb = address.name.removeprefix("tasks-").removeprefix("task-")
    ids = IDS | {"task-1": "f" if verb in FAILED else "n"}

    def told(text: str) -> str:
        for example, there in ids.items():
            text = text.replace(example, there)
        return text

    form = {name: told(value) if isinstance(value, str) else value for name, value in address.form.items()}
    return told(address.path), form | {"chunk": "3"}


def test_an_action_of_the_console_is_answered(desk: Specimens, administrator: Client) -> None:
    shelf = Shelf(desk.client)
    for address in MUTATIONS:
        shelf.put_back()
        path, form = real(address)
        for given in ({name: form[name] for name in form.keys() - CONFIRMS}, form):  # the first one is asked back
            answer = administrator.post(path, given)
            assert answer.status_code < 500, (path, answer.content)
        assert administrator.get("/ops/").status_code == 200, path
        assert inspect.snapshot().broken == (), path


def test_every_page_is_answered(desk: Specimens, administrator: Client) -> None:
    missing = {"audit-entry", "audit-live", "find", "registry-push"}  # no audit, no such id, no code of the name
    for address in PAGES:
        path, _ = real(address)
        answer = administrator.get(f"{path}{'&' if '?' in path else '?'}pool={SICK}")
        assert answer.status_code in (200, 302) or address.name in missing, (path, answer.content)
