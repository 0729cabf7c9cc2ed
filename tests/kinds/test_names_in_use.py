"""Names of kinds of other packages that are in use already: refused with the owners and with what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from console.apps import check_kinds as check_console
from console.ui.kind_names import PLACES
from console.ui.kind_pages import kind_pages, verb_of_kind
from queueops.checks import check_kinds, check_roles
from queueops.management.queue import options
from queueops.management.queue.kind_commands import commands_of_kinds
from queueops.model import kinds
from tests.kinds.test_registration import GOOD, bring, with_role  # noqa: F401  a fixture

Bring = Callable[..., None]
ROOT = Path(__file__).resolve().parents[2]
PAGES = """
from django.template import Library
from console.access.permissions import Verb
from console.ui.kind_pages import KindPages, Piece, Remedy, Route, Tab, VerbWords
tags = Library()
tags.filter("told_of", lambda value: value)
def route(name, pattern="brought/"):
    return Route(pattern=pattern, view=print, name=name, permission=Verb.VIEW)
PAGES = KindPages({})
"""
COMMANDS = """
from queueops.management.queue.kind_commands import KindCommand
COMMANDS = (KindCommand(name={!r}, run=print, text="brings", add_options=print),)
"""


def with_pages(bring: Bring, *pages: str) -> None:  # noqa: F811
    """Bring the kind with these pages."""
    kind = GOOD.replace("KIND =", '    console = "brought_kind.console:PAGES"\nKIND =')
    bring(kind, **{"console.py": PAGES.format(", ".join(pages))})


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ('pieces={"overveiw": print}', "no page has the place 'overveiw' of its pieces. Did you mean 'overview'? The"),
        ('pieces={"xyz": print}', "no page has the place 'xyz' of its pieces. The places are overview, overview.out,"),
        ('verbs={"edit_chunks": VerbWords(label="Edit")}', "the kind mapreduce has the verb 'edit_chunks' already."),
        ('verbs={"retry": VerbWords(label="Retry")}', "the console has the verb 'retry' already. Rename it"),
        ('routes=(route("workflows"),)', "the kind workflows has the page 'workflows' already."),
        ('routes=(route("lane"),)', "the console has the page 'lane' already."),
        ('routes=(route("a", "callbacks/"),)', "the kind jobs has the URL 'callbacks/' already."),
        ('routes=(route("a"), route("a", "b/"))', "it has the page 'a' twice. Rename one of them."),
        ('tabs=(Tab(name="why", label="Why?", read=print),)', "the console has the page 'task-why' already."),
        ('tabs=(Tab(name="delivery", label="A", read=print),)', "the kind jobs has the page 'task-delivery' already."),
        ('remedies={"close_circuit": Remedy("a", "b", print)}', "the kind jobs has the remedy 'close_circuit' already"),
        ('words={"callback": None}', "the kind jobs has the record with own words 'callback' already."),
        ('navigation=(("a", "l", "x", "A"),)', "the console has the key of the navigation 'l' already."),
        ('navigation=(("a", "g", "x", "A"),)', "the kind jobs has the key of the navigation 'g' already."),
        ("tags=tags", "the kind schedules has the template filter 'told_of' already."),
    ],
)
def test_a_name_or_a_place_that_does_not_fit_is_refused_in_the_console(
    bring: Bring,  # noqa: F811
    caplog: pytest.LogCaptureFixture,
    pages: str,
    message: str,
) -> None:
    before = kind_pages()
    with_pages(bring, pages, 'facts={"brought": "Brought"}')
    (error,) = check_console()
    assert error.id == "queueops_console.E004"
    assert f"The pages of the kind brought are not shown: {message}" in error.msg
    assert kind_pages() == before
    assert error.msg in caplog.messages
    assert check_kinds() == check_roles() == []


def test_names_that_are_free_are_taken(bring: Bring) -> None:  # noqa: F811
    before = kind_pages()
    with_pages(bring, 'pieces={"lanes": print}', 'verbs={"bring": VerbWords(label="Bring")}', 'routes=(route("a"),)')
    assert check_console() == []
    assert kind_pages()[:-1] == before
    found = verb_of_kind("bring")
    assert found is not None
    assert found.label == "Bring"


def test_manage_py_check_names_the_owners(bring: Bring, tmp_path: Path) -> None:  # noqa: F811
    with_pages(bring, 'routes=(route("workflows"),)')
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "django", "check", "--settings", "tests.settings"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "(queueops_console.E004) The pages of the kind brought are not shown: the kind workflows has" in done.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("retry", "manage.py queue has the subcommand 'retry' already. Rename it in one of them"),
        ("runs", "the kind workflows has the subcommand 'runs' already. Rename it in one of them"),
    ],
)
def test_a_subcommand_that_is_in_use_is_refused(bring: Bring, name: str, message: str) -> None:  # noqa: F811
    bring(
        with_role("cli", "brought_kind.cli", "NAME"),
        **{"cli.py": COMMANDS.format(name).replace("COMMANDS =", "NAME =")},
    )
    (error,) = check_roles()
    assert error.id == "queueops.E006"
    assert f"The kind brought cannot be registered: {message}" in error.msg


def test_a_subcommand_that_is_free_is_taken(bring: Bring) -> None:  # noqa: F811
    bring(
        with_role("cli", "brought_kind.cli", "NAME"),
        **{"cli.py": COMMANDS.format("bring").replace("COMMANDS =", "NAME =")},
    )
    assert check_roles() == []
    assert commands_of_kinds(options.ALL)[-1].name == "bring"


@pytest.mark.parametrize(
    ("role", "code", "what"),
    [
        ("examines", "NAME = {'%s': print}", "examines"),
        (
            "details",
            "from queueops.inspect.kind_details import KindDetails\n"
            "class Details(KindDetails): entered = {'%s': 'pending'}\nNAME = Details()",
            "entered",
        ),
    ],
)
def test_a_word_that_is_in_use_is_refused(bring: Bring, role: str, code: str, what: str) -> None:  # noqa: F811
    brought = kinds.brought(kinds.registered(), "examines" if role == "examines" else "details")
    owner, word = next((kind.name, word) for kind, each in brought for word in getattr(each, what, each))
    bring(with_role(role, f"brought_kind.{role}", "NAME"), **{f"{role}.py": code % word})
    (error,) = check_roles()
    assert f"the kinds {owner} and brought both have {word} among their {what}" in error.msg


def test_the_places_are_those_of_the_pages_and_of_the_docs() -> None:
    docs = (ROOT / "docs/kinds.md").read_text()
    table = docs[docs.index("| place | gets | is |") :].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert sorted(place for row in rows for place in re.findall(r"`([^`]+)`", row)) == sorted(PLACES)
    used = set()
    for folder, files, pattern in (
        ("templates", "*.html", r'{% pieces "([^"]+)"'),
        ("console", "*.py", r'pieces_at\("([^"]+)"'),
    ):
        for path in (ROOT / folder).rglob(files):
            used |= set(re.findall(pattern, path.read_text()))
    assert used == set(PLACES)
