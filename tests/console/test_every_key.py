"""Garbage under every kind of key: every page and every command answers, and shows the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pytest
from django.test import Client

from queueops import inspect
from tests.support.monitoring import commands_of
from tests.support.specimens import SICK, TYPES, VALUES, Shelf, Specimens, specimens
from tests.support.terminal import ask

pytestmark = pytest.mark.django_db
LISTS = (
    *("", "tasks/", f"tasks/?pool={SICK}&state=pending", "tasks/?name=tests.noop", "tasks/?tag=red", "errors/"),
    *("lanes/", "workers/", "registry/", "mapreduce/", "schedules/", "commands/", "commands/?place=dead"),
)
DETAILS = (
    *(f"tasks/l/{tab}?pool={SICK}" for tab in ("", "attempts/", "log/", "why/")),
    *(f"{page}/?pool={SICK}" for page in ("tasks/n", "tasks/g", "tasks/i", "mapreduce/m", "mapreduce/m/0")),
    *("errors/f1/", f"schedules/hourly/?pool={SICK}", f"lanes/{SICK}/default/", "registry/tests.noop/", "workers/w1/"),
)
"""Pages about one thing: they may say that it is not there, or that it cannot be read."""
PAGES = (*LISTS, *DETAILS)
FIRST = ("", "tasks/", "status", "list")
QUESTIONS = (["status"], ["list"], ["why", "l"], ["fsck"])
UNNAMED = ("task:<id>", "task:<id>#<number>", "command:<id>")
"""Of these fsck names the task, the chunk or the command."""


HEAD = "the status head"


def reads(desk: Specimens, administrator: Client) -> dict[str, str]:
    """What each page, each command, and the status head of all pages ask of the store where all is well."""
    calls: dict[str, Callable[[], object]] = {HEAD: partial(inspect.status, 0.0)}  # the pages share its answer
    calls |= {words[0]: partial(ask, *words) for words in QUESTIONS}
    calls |= {page: partial(administrator.get, f"/ops/{page}") for page in PAGES}
    return commands_of(desk, calls)


@pytest.mark.parametrize("kinds", [list(TYPES)[number::2] for number in range(2)], ids=range(2))
def test_every_page_and_question_is_answered_and_shows_the_rest(
    kinds: list[str], namespace: str, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not read a key answers as ever, whatever stands there: it is left out, but for the first pages.

    All pages have the same head: with the first key of the head all are asked, with the others those that read it too.
    """
    monkeypatch.setattr("console.actions.operations.READING_AGE_S", 0.0)
    offences: list[str] = []
    with specimens() as desk:
        monkeypatch.setattr("console.ui.render.STATUS_AGE_S", float("inf"))
        shelf, asked = Shelf(desk.client), reads(desk, administrator)
        monkeypatch.setattr("console.ui.render.STATUS_AGE_S", 0.0)
        of_head = [kind for kind in kinds if desk.name(kind) in asked[HEAD]]
        assert of_head
        for kind in kinds:
            shelf.put_back()
            name = desk.name(kind)
            readers = {*FIRST, *(what for what in asked if name in asked[what] or kind == of_head[0])} - {HEAD}
            wrong = next(value for value in sorted(VALUES) if value != TYPES[kind])
            for value in (wrong, TYPES[kind]):
                key = desk.spoil(kind, value)
                offences += [f"{kind} as {value}: {said}" for said in failing(readers, administrator, key)]
                if value == wrong and kind not in UNNAMED and key not in ask("fsck"):
                    offences.append(f"{kind} as {value}: fsck does not name it")
    assert offences == []


def failing(readers: Iterable[str], administrator: Client, key: str) -> Iterator[str]:
    """The pages and commands that give no answer."""
    for name in readers:
        if name not in PAGES:
            words = next(words for words in QUESTIONS if words[0] == name)
            if not ask(*words):
                yield f"manage.py queue {name} says nothing"
            continue
        answer = administrator.get(f"/ops/{name}")
        shown = answer.content.decode()
        named = answer.status_code == 404 or (answer.status_code == 503 and key in shown)
        if answer.status_code != 200 and not (named and name in DETAILS):
            yield f"/ops/{name} is answered by {answer.status_code}"
        if name == "tasks/" and ">w<" not in shown:
            yield "/ops/tasks/ does not show the rest"
