"""Garbage under every kind of key: every page and every command answers, and shows the rest."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from tests.support.specimens import SICK, TYPES, VALUES, Specimens, specimens

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
QUESTIONS = (["status"], ["list"], ["why", "l"], ["fsck"])


@pytest.fixture
def desk(namespace: str) -> Iterator[Specimens]:
    """A pool with an example of every kind of key, beside one that is well."""
    with specimens() as desk:
        yield desk


def ask(*words: str) -> str:
    """What a command prints; with the status of a check that found something, too."""
    out = StringIO()
    try:
        call_command("queue", *words, stdout=out, stderr=StringIO())
    except SystemExit:  # the check has found something
        return out.getvalue()
    return out.getvalue()


@pytest.mark.parametrize("kind", TYPES)
def test_every_page_and_question_is_answered_and_shows_the_rest(
    desk: Specimens, administrator: Client, kind: str
) -> None:
    wrong = next(value for value in sorted(VALUES) if value != TYPES[kind])
    for value in (wrong, TYPES[kind]):
        key = desk.spoil(kind, value)
        for page in (*LISTS, *DETAILS):
            answer = administrator.get(f"/ops/{page}")
            shown = answer.content.decode()
            named = answer.status_code == 404 or (answer.status_code == 503 and key in shown)
            assert answer.status_code == 200 or (named and page in DETAILS), (page, value, answer.status_code)
            if page == "tasks/":
                assert ">w<" in shown
        said = {words[0]: ask(*words) for words in QUESTIONS}
        assert all(said.values()), value
        if value == wrong:
            assert key in said["fsck"] or kind in ("task:<id>", "task:<id>#<number>", "command:<id>")
